"""Multiple-queue backfilling with priorities, reservations and speculative execution.

Lawson and Smirni 2002, Figure 2 and sections 2.1 and 2.2. Jobs wait in one queue per class of
estimates, each queue with a partition of the machine and with a pivot, its first job, which is
promised a start. The line numbers in the comments are those of Figure 2. Choices made where the
paper is silent or at odds with itself:

* Lines 7a and 7b, as printed, look at the pivot of the job's own partition alone. A pivot of
  another partition could then be delayed without end, although section 2.1 promises that a job as
  large as the machine does not starve: on the CTC log the longest wait becomes 1886 h, and the
  mean slowdown 23.2, worse than the 21.5 of a single queue, against Figure 3. Here no start under
  line 7 delays any pivot. It follows that partitions decide whose processors a job runs on, and
  not whether it starts: lines 7a to 7c together say that there is room beside all pivots.
* Processors move only for a start, and only as many as the partition lacks: from the partition
  with the most idle ones (of two, the one with the smaller estimates), then from the next. What
  an equal division of the machine leaves over belongs to the first partitions.
* A promised start is kept. It moves to an earlier time at the pivot's turn in a pass (line 3), and
  is lost when an earlier job comes back from its trial, or one of higher priority arrives, and is
  the pivot from then on.
* A trial is planned like a pivot: the earliest possible time is the earliest that delays no pivot
  and no trial of equal or higher priority. It is promised, kept, and not delayed by others. Trials
  and pivots are called claims here. In each pass the trials of one priority are planned before the
  queued jobs of that priority.
* A claim ignores those of lower priority. Such a one that is in the way loses its promised start;
  it gets another at its turn, which is later in the same pass.
* A job with a requested start is in no queue and has no trial. On arrival it is promised the
  earliest time, from the requested one on, with room for its whole estimate beside the running
  jobs and the reservations before it (section 2.2). Claims in its way are planned anew. It starts
  at the promised time, whatever ends early; promised later than requested, it counts as missed.
* An estimate of 1000 s exactly is of partition 2 by equation (1) and not tried by section 2.1.

Figure 3 prints a smaller mean slowdown than with a single queue for all jobs and for each class of
jobs, but for the long ones of SDSC. Of the twelve signs for the KTH, CTC and SDSC-SP2 logs ten come
out so: not those of KTH's middle class (44.8 against 41.5) and of CTC's long one (17.1 against
14.1). With promises made anew in each pass no gain is left (KTH: 76.0, and 75.2 with one queue);
with trials that delay pivots KTH's middle class gains, but the jobs of CTC as a whole lose.
"""

from functools import partial
from itertools import pairwise

from bfenv.baselines.multiqueue.pivots import (
    QUEUED,
    UNTRIED,
    leave,
    level_below,
    new_memory,
    plan,
    records,
    stage,
    start_job,
    update,
)
from bfenv.core.cluster import advance, free, now, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import fits, reserve

BOUNDS = (1000, 10_000)  # seconds, equation (1)
TRIAL = 180  # seconds, section 2.1
LONG = 1000  # seconds, section 2.1


@kernel
def decide(cluster, jobs, memory):
    """One pass of Figure 2: jobs of high priority in order of arrival, then those of low."""
    first, first_trial = update(cluster, jobs, memory)
    level = level_below(cluster, memory, memory.levels[0])
    while level >= 0:
        _consider_trials(cluster, jobs, memory, level, first_trial)
        for job in waiting(cluster)[first:]:
            # one too large to start now matters as a pivot only
            if (
                (jobs.size[job] <= free(cluster) or _is_pivot(memory, job))
                and memory.urgency[job] == level
                and stage(cluster, memory, job) == QUEUED
            ):
                _consider(cluster, jobs, memory, job)
        level = level_below(cluster, memory, level)
    leave(cluster, memory)


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


@kernel
def _consider_trials(cluster, jobs, memory, level, first):
    """Plan the trials of one priority, and start those whose time has come."""
    kept = first
    for job in memory.untried[first : memory.state[UNTRIED]]:
        if memory.urgency[job] == level:
            plan(cluster, jobs, memory, job)
            if memory.planned[job] == now(cluster):
                start_job(cluster, jobs, memory, job)
                continue
        memory.untried[kept] = job
        kept += 1
    memory.state[UNTRIED] = kept


@kernel
def _is_pivot(memory, job):
    """Whether a queued job is the pivot of its partition, or would become it."""
    return memory.pivot[memory.partition[job]] in (job, -1)


@kernel
def _consider(cluster, jobs, memory, job):
    """The loop of Figure 2 for one queued job."""
    p = memory.partition[job]  # line 1
    if memory.pivot[p] < 0:  # line 2
        memory.pivot[p] = job
    if job == memory.pivot[p]:  # line 6
        plan(cluster, jobs, memory, job)  # line 3
        if memory.planned[job] == now(cluster):  # line 6a
            start_job(cluster, jobs, memory, job)
            memory.pivot[p] = -1
    elif _has_room_now(cluster, jobs, memory, job):  # lines 4, 5, 7
        reserve(memory.profile, jobs.size[job], now(cluster), now(cluster) + jobs.estimate[job])
        start_job(cluster, jobs, memory, job)


@kernel
def _has_room_now(cluster, jobs, memory, job):
    """Lines 7a to 7c: enough idle processors, and no claim or reservation delayed."""
    return jobs.size[job] <= free(cluster) and fits(
        memory.profile, jobs.size[job], jobs.estimate[job], now(cluster)
    )


def with_queues(
    plain: str, bounds: tuple[int, ...], speculation: int, suspect: int, **fields: str
) -> Policy:
    """Figure 2 with one queue more than bounds; `plain` names the published policy.

    Raises PolicyError when speculation or suspect is no whole number of seconds.
    """
    for option, value in {"speculation": speculation, "suspect": suspect}.items():
        if type(value) is not int or value < 0:
            raise PolicyError(f"{plain}: {option} is a number of seconds, not {value!r}")
    options = {"bounds": bounds, "speculation": speculation, "suspect": suspect}
    published = {"bounds": bounds and BOUNDS, "speculation": TRIAL, "suspect": LONG}
    changed = [f"{o}={value}" for o, value in options.items() if value != published[o]]
    return Policy(
        name=f"{plain}({', '.join(changed)})" if changed else plain,
        decide=decide,
        run=run,
        memory=partial(new_memory, **options),
        records=records,
        stateful=True,
        trials=speculation > 0,
        requested_starts=True,
        **fields,
    )


def multiqueue(
    bounds: tuple[int, ...] = BOUNDS, speculation: int = TRIAL, suspect: int = LONG
) -> Policy:
    """Multiple-queue backfilling.

    `bounds`: estimates (s) at which the next queue begins, ascending; `speculation`: length (s) of
    a trial, 0 for none; `suspect`: jobs with estimates above it (s) are tried first.

    Raises PolicyError on an option out of range.
    """
    tidy = isinstance(bounds, tuple) and all(type(bound) is int for bound in bounds)
    if not tidy or not bounds or any(a >= b for a, b in pairwise((0, *bounds))):
        raise PolicyError(f"multiqueue: bounds are ascending positive integers, not {bounds!r}")
    return with_queues(
        "multiqueue",
        bounds,
        speculation,
        suspect,
        summary="a queue and a pivot for each class of estimates, after a trial of long jobs",
        source="Lawson and Smirni 2002, Figure 2",
    )


MULTIQUEUE = multiqueue()
