"""What the papers' diagrams of examples show: schedules as boxes, and partitions over time."""

import numpy as np

from bfenv.analysis.backfills import head_promises
from bfenv.analysis.placement import place
from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import now
from bfenv.core.events import advance, new_cluster
from bfenv.core.jobs import Trace
from bfenv.core.policy import pass_of
from bfenv.core.schedule import Schedule

Box = list[str | int]  # label, start, end, lowest processor, processors
EXAMINED_AT = 25  # seconds, chapter 3 of Shmueli 2003


def boxes(schedule: Schedule) -> tuple[list[Box], list[Box]]:
    """Return a box for each job as it ran, and one for each as its estimate has it."""
    estimate = schedule.trace.jobs.estimate
    ran: list[Box] = []
    planned: list[Box] = []
    for run in place(schedule):
        for first, last in run.spans:
            label = str(run.job + 1)
            ran.append([label, run.start, run.end, first, last - first])
            end = run.start + int(estimate[run.job])
            planned.append(["", run.start, end, first, last - first])
    return ran, planned


def examined_boxes(schedule: Schedule) -> tuple[list[Box], list[Box]]:
    """Return the jobs that run at EXAMINED_AT, and the reservation of the head of the queue.

    Job 0 of the example runs, and jobs 1 to 5 wait: rj 1 and wj 1 to 5 of the thesis.
    """
    ran, _ = boxes(schedule)
    for box in ran:
        number = int(box[0]) - 1
        box[0] = f"wj {number}" if number else "rj 1"
    started = [box for box in ran if int(box[1]) <= EXAMINED_AT]
    return started, [box for box in ran if box[0] == "wj 1"]


def started_at_examination(schedule: Schedule) -> str:
    """Return which of the waiting jobs start at EXAMINED_AT, like "wj 2, wj 3"."""
    jobs = np.flatnonzero(schedule.start == EXAMINED_AT)
    return ", ".join(f"wj {job}" for job in jobs)


def head_promise(job: int, schedule: Schedule) -> float:
    """Return the start (s) that a job could expect, by estimates, when it became the head."""
    return float(head_promises(schedule)[job])


def partition_sizes(p: int, trace: Trace) -> tuple[list[float], list[int]]:
    """Return the times (s) at which multiple queues decide, and the processors of partition p.

    The scheduler is that of Lawson and Smirni 2002, without trials.
    """
    policy = find_policy("multiqueue(speculation=0)")
    cluster, jobs, truth = new_cluster(trace)
    memory = policy.memory(jobs, trace.processors, np.random.default_rng(0))
    decide = pass_of(policy, cluster, jobs, memory)
    times, sizes = [0.0], [int(memory.partitions.owned[p])]
    while advance(cluster, jobs, truth):
        decide()
        times.append(float(now(cluster)))
        sizes.append(int(memory.partitions.owned[p]))
    return times, sizes
