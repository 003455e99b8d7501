"""Passes of a policy around outages to come, and around jobs that wait for others to end.

The policy decides as always. In each pass it sees only the waiting jobs that, taken alone, end in
time or leave the outage enough processors. If the jobs that it starts together leave too few, the
first that is too many is hidden as well, the starts are undone, and it decides again.

A job that depends on another one is hidden until that has ended and its think time is over.

Some policies keep a plan from one pass to the next. The plan is wrong if other jobs are hidden than
in the last pass, or if starts were undone. The pass numbers then have a gap. To the policy, the gap
looks like a pass of another policy, so it makes a new plan.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import bfenv.core.cluster as c
from bfenv.core.cluster import Cluster, now, retract, started, waiting, wake_at
from bfenv.core.dependencies import Dependencies, dependencies_of
from bfenv.core.errors import WorkloadError
from bfenv.core.events import STOP, Truth, advance
from bfenv.core.jobs import ESTIMATE, FOREVER, SUBMIT, Jobs, Trace
from bfenv.core.kernel import kernel
from bfenv.core.outages import (
    find_room,
    first_to_come,
    has_room,
    outages_of,
    start_outages,
    take_room,
)
from bfenv.core.passes import run_here, run_passes
from bfenv.core.policy import Policy

MET, WAITING = range(2)  # outages that a waiting job could meet, jobs that wait: Detour.counts
# What makes a number of a set of jobs; squares of numbers below the first are below 2**62.
PRIME, LARGE_PRIME, FACTOR = 2**31 - 1, 2**61 - 1, 1_812_433_253


class Detour(NamedTuple):
    """What a pass around outages works with; only valid within it."""

    counts: np.ndarray  # (2,) int64: MET, WAITING
    room: np.ndarray  # (k,) int64 processors that jobs may hold when each outage to come begins
    left: np.ndarray  # (k,) int64, of these, what is left beside the jobs started in the pass
    queue: np.ndarray  # (n,) int64 jobs, all that wait
    hidden: np.ndarray  # (n,) bool, of these, what the policy does not see
    before: np.ndarray  # (n,) int64 jobs that must end before each one; -1 for none
    think: np.ndarray  # (n,) int64 seconds from that end on


def new_detour(jobs: Jobs, outages: range, dependencies: Dependencies | None = None) -> Detour:
    """Allocate what passes around outages, and around jobs that wait for others, work with."""
    count = len(jobs.submit)
    before, think = np.full(count, -1), np.zeros(count, dtype=np.int64)
    if dependencies is not None:
        before[: len(dependencies.before)] = dependencies.before
        think[: len(dependencies.think)] = dependencies.think
    return Detour(
        counts=np.zeros(2, dtype=np.int64),
        room=np.empty(len(outages), dtype=np.int64),
        left=np.empty(len(outages), dtype=np.int64),
        queue=np.empty(len(jobs.submit), dtype=np.int64),
        hidden=np.empty(len(jobs.submit), dtype=np.bool_),
        before=before,
        think=think,
    )


def around_outages(policy: Policy, trace: Trace, event_order: str = "standard") -> Policy:
    """Return the policy for the outages of a trace, and for jobs that wait for others to end.

    The returned policy makes its passes around the outages, and records the jobs of the trace. If
    the trace has neither outages nor such jobs, the policy itself is returned.

    Raises WorkloadError if there are some, and the event order is not the standard one.
    """
    outages, dependencies = outages_of(trace), dependencies_of(trace)
    for feature, count in (("outages", outages), ("dependencies", dependencies)):
        if count and event_order != "standard":
            raise WorkloadError(f"{trace.name}: {feature} need the standard event order")
    if not outages and dependencies is None:
        return policy

    def run(cluster: Cluster, jobs: Jobs, truth: Truth, memory: Any) -> None:
        run_around(policy, cluster, jobs, truth, memory, outages, dependencies=dependencies)

    def records(memory: Any) -> dict[str, np.ndarray]:
        columns = policy.records(memory).items() if policy.records is not None else ()
        return {name: np.asarray(values)[: len(trace)] for name, values in columns}

    return replace(policy, run=run, records=records)


def run_around(
    policy: Policy,
    cluster: Cluster,
    jobs: Jobs,
    truth: Truth,
    memory: Any,
    outages: range,
    *,
    dependencies: Dependencies | None = None,
    in_thread: bool = True,
) -> None:
    """Run all passes of a policy around outages, up to the horizon of the machine.

    Compiled policies run by themselves while no waiting job could meet the next outage.

    * `policy`, `memory`: the scheduler.
    * `cluster`, `truth`: the machine, on which the outages have been announced.
    * `jobs`: the requests.
    * `outages`: the numbers of the outages, see `with_outages`.
    * `dependencies`: which jobs wait for others; None for none.
    * `in_thread`: whether compiled policies run in another thread, such that Ctrl-C ends them; see
      `run_passes`.
    """
    detour = new_detour(jobs, outages, dependencies)
    coming, last = outages.start, outages.stop  # the first outage that has not begun
    is_clear = dependencies is None  # no waiting job can meet it
    while True:
        coming = first_to_come(cluster, coming, last)
        if is_clear and policy.run is not None:
            # It rests on jobs to come, so the policy must not find it in the machine.
            truth.event_count[STOP] = _horizon(cluster, jobs, truth, coming, last)
            run = run_passes if in_thread else run_here
            run(policy, cluster, jobs, truth, memory)
            truth.event_count[STOP] = FOREVER
        if not advance(cluster, jobs, truth):
            return
        if coming < last and jobs.submit[coming] == now(cluster):
            coming = start_outages(cluster, jobs, truth, coming, last)
        clear = decide_around(policy, cluster, jobs, memory, coming, last, detour)
        is_clear = clear and dependencies is None


def decide_around(
    policy: Policy,
    cluster: Cluster,
    jobs: Jobs,
    memory: Any,
    coming: int,
    last: int,
    detour: Detour,
) -> bool:
    """Make one scheduling pass in which no job is started that would meet an outage.

    Return whether no waiting job could have met one.
    """
    _hide(cluster, jobs, coming, last, detour)
    policy.decide(cluster, jobs, memory)
    if detour.counts[WAITING] == 0:
        return True
    while _hide_too_many(cluster, jobs, coming, detour):
        policy.decide(cluster, jobs, memory)
    return False


@kernel
def _horizon(cluster, jobs, truth, coming, last):
    """Return the instant before which no waiting job could meet an outage, in seconds.

    Jobs that come until then count. It may be in the past.
    """
    if coming == last:
        return FOREVER
    longest = 0
    for job in waiting(cluster):
        if cluster.start[job] < 0:
            longest = max(longest, jobs.estimate[job])
    for job in cluster.running[: cluster.state[c.RUNNING]]:
        if cluster.trial_start[job] == cluster.start[job]:  # on trial, and soon back in the queue
            longest = max(longest, jobs.estimate[job])
    begin = jobs.submit[coming]
    for job in range(cluster.state[c.NEXT_JOB], cluster.state[c.LAST_JOB]):
        submit, estimate = truth.requests[SUBMIT, job], truth.requests[ESTIMATE, job]
        if submit >= begin - longest:
            break
        if submit + estimate > begin:
            return submit
        longest = max(longest, estimate)
    return begin - longest


@kernel
def _hide(cluster, jobs, coming, last, detour):
    """Hide the waiting jobs that alone leave an outage too little, or that wait for another job.

    If no waiting job could meet an outage or wait for a job, WAITING is 0, and nothing is hidden.
    """
    met = find_room(cluster, jobs, coming, last, detour.room)
    size, waits = 0, False
    for job in waiting(cluster):
        end = now(cluster) + jobs.estimate[job]
        waits_for_job = _waits_for_job(cluster, detour, job)
        waits = waits or waits_for_job
        detour.queue[size] = job
        detour.hidden[size] = waits_for_job or not has_room(
            jobs, coming, met, detour.room, jobs.size[job], end
        )
        size += 1
    if met == 0 and not waits:
        size = 0
    detour.counts[MET] = met
    detour.counts[WAITING] = size
    waited, hidden = _number_of_hidden(cluster, jobs, detour)
    if waited != cluster.state[c.HIDDEN]:
        cluster.state[c.PASSES] += 1
    cluster.state[c.HIDDEN] = hidden
    if size > 0:
        _show(cluster, detour)


@kernel
def _waits_for_job(cluster, detour, job):
    """Tell whether a job has to wait for another one, or for the end of its think time."""
    before = detour.before[job]
    if before < 0:
        return False
    if cluster.end[before] < 0:
        return True
    eligible = cluster.end[before] + detour.think[job]
    if eligible > now(cluster):
        wake_at(cluster, eligible)
        return True
    return False


@kernel
def _number_of_hidden(cluster, jobs, detour):
    """Return a number of the set of hidden jobs that waited before, and one of all; 0 for none.

    Two different sets have the same number with a chance of one in 2**61.
    """
    waited, hidden = 0, 0
    for i in range(detour.counts[WAITING]):
        if detour.hidden[i]:
            job = detour.queue[i]
            residue = (job + 1) * FACTOR % PRIME
            hidden = (hidden + residue * residue) % LARGE_PRIME
            if jobs.submit[job] < now(cluster):
                waited = hidden
    return waited, hidden


@kernel
def _hide_too_many(cluster, jobs, coming, detour):
    """Put all jobs back into the queue, and tell if one was started that is too many.

    The first such job is hidden, the starts of this pass are undone, and another pass begins.
    """
    for i in range(detour.counts[WAITING]):
        cluster.queue[cluster.state[c.QUEUE_BEGIN] + i] = detour.queue[i]
        if detour.hidden[i]:
            cluster.start[detour.queue[i]] = -1
    cluster.state[c.QUEUE_END] = cluster.state[c.QUEUE_BEGIN] + detour.counts[WAITING]
    too_many = _first_too_many(cluster, jobs, coming, detour)
    if too_many < 0:
        return False
    place = np.searchsorted(detour.queue[: detour.counts[WAITING]], too_many)
    detour.hidden[place] = True
    retract(cluster, jobs)
    cluster.state[c.FINISHED] = 0  # the policy has learned of these already
    cluster.state[c.PASSES] += 2
    _, cluster.state[c.HIDDEN] = _number_of_hidden(cluster, jobs, detour)
    _show(cluster, detour)
    return True


@kernel
def _show(cluster, detour):
    """Leave in the queue what the policy may see."""
    state = cluster.state
    state[c.QUEUE_END] = state[c.QUEUE_BEGIN]
    for i in range(detour.counts[WAITING]):
        job = detour.queue[i]
        if detour.hidden[i]:
            cluster.start[job] = FOREVER  # policies that keep a list of their own drop it
        else:
            cluster.queue[state[c.QUEUE_END]] = job
            state[c.QUEUE_END] += 1


@kernel
def _first_too_many(cluster, jobs, coming, detour):
    """Return the first job started in this pass for which there is no room; -1 if there is none."""
    met = detour.counts[MET]
    for i in range(met):
        detour.left[i] = detour.room[i]
    for job in started(cluster):
        size, end = jobs.size[job], cluster.kill_time[job]
        if not has_room(jobs, coming, met, detour.left, size, end):
            return job
        take_room(jobs, coming, met, detour.left, size, end)
    return -1
