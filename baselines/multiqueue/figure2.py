"""Multiple-queue backfilling with priorities, reservations and speculative execution.

Lawson and Smirni 2002, Figure 2 and sections 2.1 and 2.2. Jobs wait in one queue per class of
estimates, each queue with a partition of the machine and with a pivot, its first job, which is
promised a start (pivot start time). Comments have the line numbers of Figure 2. Choices
made where the paper is silent or at odds with itself:

* Lines 7a and 7b, as printed, look at the pivot of the job's own partition alone. A pivot of
  another partition could then be delayed without end, although section 2.1 promises that a job as
  large as the machine does not starve. Here no start under line 7 delays any pivot. It follows that
  partitions decide whose processors a job runs on, and not whether it starts: lines 7a to 7c
  together say that there is room beside all pivots, so idle_p (line 4) and extra_p (line 5) of all
  partitions are read off one profile.
* Processors are reassigned only for a start, and only as many as the partition lacks: from the
  partition with the most idle ones (of two, the one with the smaller estimates), then from the
  next. What an equal division of the machine leaves over belongs to the first partitions.
* A promised start is kept. It moves to an earlier time at the pivot's turn in a pass (line 3). It
  is lost when an earlier job comes back from its trial, or a job of higher priority arrives, which
  is the pivot from then on.
* A trial, the speculative execution of a job, is planned like a pivot: the earliest possible time
  is the earliest that delays no pivot and no trial of equal or higher priority. It is promised,
  kept, and not delayed by others. In each pass the trials of one priority are planned before the
  queued jobs of that priority.
* A promise ignores those of lower priority. Such a one that is in the way is lost; its job gets
  another at its turn, which is later in the same pass.
* A job with a requested start is in no queue and has no trial. On arrival it is promised the
  earliest time, from the requested one on, with room for its whole estimate beside the running
  jobs and the reservations before it (section 2.2). Pivots and trials in its way are promised other
  starts. It starts at the promised time, whatever ends early; promised later than requested, it
  counts as missed.
* In another order than that of arrival, the pivot of a queue is its first job in each pass, and a
  pivot that another job passes loses its promise. Trials stay in order of arrival.
* An estimate of 1000 s exactly is of partition 2 by equation (1) and not tried by section 2.1.

docs/reproductions/lawson-smirni2002.md has the numbers of this reading and of others beside what
the paper says of its figures.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import bfenv.baselines.multiqueue.memory as at
from bfenv.baselines.multiqueue.changes import promise, remember, take, update
from bfenv.baselines.policy_names import expression
from bfenv.baselines.queue_order import find_order_or_expression, order_by_expression
from bfenv.baselines.reservations import NONE
from bfenv.core.arguments import check_integer, check_number
from bfenv.core.cluster import free, now, start, try_start, waiting
from bfenv.core.durations import in_seconds
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import fits
from bfenv.knowledge.priorities import FCFS

BOUNDS = (1000, 10_000)  # seconds, equation (1)
TRIAL = 180  # seconds, section 2.1
LONG = 1000  # seconds, section 2.1
MOST_PARTITIONS = 1000


@kernel
def decide(cluster, jobs, memory):
    """One pass of Figure 2: jobs of high priority in order of arrival, then those of low."""
    first_job, first_trial = update(cluster, jobs, memory)
    consider_from(cluster, jobs, memory, first_job, first_trial)
    remember(cluster, memory)


@kernel
def consider_from(cluster, jobs, memory, first_job, first_trial):
    """Consider the trials and the queued jobs from these positions on, by priority."""
    if memory.any_requested[0]:
        for job in waiting(cluster):  # section 2.2: start those whose reservation has come
            if jobs.requested_start[job] > 0 and memory.reserved_start[job] == now(cluster):
                _start(cluster, jobs, memory, job)
    priority = at.next_priority(cluster, jobs, memory, FOREVER)
    while priority > at.NO_PRIORITY:
        _execute_speculatively(cluster, jobs, memory, priority, first_trial)
        for job in at.queue_in_order(cluster, memory)[first_job:]:
            # one too large to start now matters as a pivot only
            if (
                (jobs.size[job] <= free(cluster) or _is_pivot(jobs, memory, job))
                and jobs.priority[job] == priority
                and at.stage_of(cluster, memory, job) == at.QUEUED
            ):
                _consider(cluster, jobs, memory, job)
        priority = at.next_priority(cluster, jobs, memory, priority)


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


@kernel
def _execute_speculatively(cluster, jobs, memory, priority, first):
    """Promise starts to the trials of one priority, and start those whose time has come."""
    kept = first
    for job in memory.untried[first : memory.state[at.UNTRIED]]:
        is_next = jobs.priority[job] == priority
        if is_next and promise(cluster, jobs, memory, job) == now(cluster):
            _start(cluster, jobs, memory, job)
        else:
            memory.untried[kept] = job
            kept += 1
    memory.state[at.UNTRIED] = kept


@kernel
def _is_pivot(jobs, memory, job):
    """Return whether a queued job is the pivot of its queue, or would become it."""
    return memory.pivot[at.queue_of(memory.partitions, jobs, job)] in (job, NONE)


@kernel
def _consider(cluster, jobs, memory, job):
    """The loop of Figure 2 for one queued job."""
    p = at.queue_of(memory.partitions, jobs, job)  # line 1
    if memory.pivot[p] == NONE:  # line 2
        memory.pivot[p] = job
    if job == memory.pivot[p]:  # line 6
        pivot_start_time = promise(cluster, jobs, memory, job)  # line 3
        if pivot_start_time == now(cluster):  # line 6a
            _start(cluster, jobs, memory, job)
            memory.pivot[p] = NONE
    elif _delays_no_pivot(cluster, jobs, memory, job):  # lines 7a to 7c
        profile, time = memory.promises.profile, now(cluster)
        take(profile, jobs.size[job], time, time + jobs.estimate[job])
        _start(cluster, jobs, memory, job)


@kernel
def _delays_no_pivot(cluster, jobs, memory, job):
    """Lines 4, 5 and 7: return whether idle and extra processors of any partition are enough."""
    return jobs.size[job] <= free(cluster) and fits(
        memory.promises.profile, jobs.size[job], jobs.estimate[job], now(cluster)
    )


@kernel
def _start(cluster, jobs, memory, job):
    """Lines 6a.I-II and 7c.I-II: start a job, or its trial, on processors of its partition."""
    if at.stage_of(cluster, memory, job) == at.TO_BE_TRIED:
        try_start(cluster, jobs, job, memory.trial_length[0])
    else:
        start(cluster, jobs, job)
    memory.promises.planned_start[job] = NONE
    at.reassign_processors(memory.partitions, cluster, jobs, job)


def with_queues(
    family: Callable[..., Policy],
    options: Mapping[str, Any],
    *,
    bounds: tuple[int, ...],
    shares: tuple[float, ...] | None = None,
    summary: str,
    source: str,
) -> Policy:
    """Make a policy of Figure 2 with one queue more than `bounds`, of a family's options.

    `shares` are the initial partitions; None for equal ones, one for each queue.

    Raises PolicyError if `speculation` or `tried_above` is not a duration >= 0 in whole seconds,
    `order` is no order or `restartable` no expression.
    """
    lengths: dict[str, Any] = {
        name: check_integer(
            name, in_seconds(name, options[name], PolicyError), 0, error=PolicyError
        )
        for name in ("speculation", "tried_above")
    }
    order, restartable = find_order_or_expression(options["order"]), None
    if options["restartable"] is not None:
        restartable = order_by_expression(options["restartable"], "restartable")
    memory = partial(
        at.new_memory,
        bounds=bounds,
        shares=shares,
        order=None if order.code == FCFS else order,
        restartable=restartable,
        **lengths,
    )
    return Policy(
        name=expression(family, {**options, **lengths}),
        decide=decide,
        run=run,
        memory=memory,
        records=at.records,
        summary=summary,
        source=source,
        stochastic=order.stochastic or (restartable is not None and restartable.stochastic),
        stateful=True,
        trials=lengths["speculation"] > 0,
        requested_starts=True,
    )


def multiqueue(
    bounds: tuple[int | str, ...] = BOUNDS,
    speculation: int | str = TRIAL,
    tried_above: int | str = LONG,
    partitions: int | tuple[float, ...] | None = None,
    order: str = "fcfs",
    restartable: str | None = None,
) -> Policy:
    """Make a policy of multiple-queue backfilling.

    Args:
        bounds: Estimates at which the next queue begins, ascending, in seconds or like "2h".
        speculation: Length of a trial, in seconds or like "3min"; 0 for no trials.
        tried_above: Jobs with estimates above it, in seconds or like "12min", are tried first.
        partitions: Number of partitions, of equal size at first; or their initial sizes, as in
            (2, 1, 1) for half the machine and two quarters. With fewer partitions than queues,
            neighbouring queues share one; with more, the last ones lend their processors. None for
            one for each queue.
        order: The order of the jobs of a queue that have one priority: a name of
            `bfenv.knowledge.priorities.ORDERS`, or an expression as `easy` takes it.
        restartable: Which of the restartable jobs are tried: an expression that is above 0 as such
            a job arrives, such as "priority > 0", or "random < 0.5" for half of them. None for all.
            Which jobs are restartable, for which users must ask (note 4 of the paper), is a column
            of the workload, see `bfenv.make_trace` and the option `restartable_share`.

    Raises:
        PolicyError: If an option is out of its range.
    """
    limits: Any = bounds
    if isinstance(bounds, tuple):
        limits = tuple(in_seconds("bounds", bound, PolicyError) for bound in bounds)
    ascending = isinstance(limits, tuple) and all(type(limit) is int for limit in limits)
    if not ascending or not limits or any(a >= b for a, b in pairwise((0, *limits))):
        raise PolicyError(f"bounds must be a tuple of ascending integers > 0, got {bounds!r}")
    options = {
        "bounds": limits,
        "speculation": speculation,
        "tried_above": tried_above,
        "partitions": partitions,
        "order": order,
        "restartable": restartable,
    }
    return with_queues(
        multiqueue,
        options,
        bounds=limits,
        shares=None if partitions is None else _shares(partitions),
        summary="a queue and a pivot for each class of estimates, after a trial of long jobs",
        source="Lawson and Smirni 2002, Figure 2",
    )


def _shares(partitions: int | tuple[float, ...]) -> tuple[float, ...]:
    """Return the shares of the machine that the partitions have at first."""
    if isinstance(partitions, tuple) and partitions:
        shares = tuple(check_number("partitions", s, 0, error=PolicyError) for s in partitions)
        if sum(shares) == 0:
            raise PolicyError(f"partitions must not all be empty, got {partitions}")
        return shares
    return (1,) * check_integer("partitions", partitions, 1, MOST_PARTITIONS, error=PolicyError)


MULTIQUEUE = multiqueue()
POLICIES = (MULTIQUEUE,)
FAMILIES = (multiqueue,)
