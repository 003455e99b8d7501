"""EASY over queues in any order: the algebra most backfilling policies come from.

Order of the queue x order of the backfill x reservations x lookahead x predictor. With all of
them at their defaults it makes the schedules of `bfenv.baselines.easy`, more slowly.
"""

import inspect
import math
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.predictor import Predictor, believed, check_predictor, new_predictor, predict
from bfenv.baselines.priorities import (
    FCFS,
    ORDERS,
    Order,
    Ranking,
    find_order,
    new_ranking,
    rank,
    score,
)
from bfenv.core.cluster import advance, free, now, start, started, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import Profile, fits, new_profile, place, rebuild, reserve, shadow


class Memory(NamedTuple):
    """What the policies of `easy` keep: their options, and what saves work in the next pass."""

    queue: Ranking
    backfill: Ranking  # the queue's own, unless the backfill has another order
    predictor: Predictor
    profile: Profile  # for any number of reservations other than one
    two_orders: np.ndarray  # (1,) bool: `backfill` is not `queue`; only its line is used
    lookahead: np.ndarray  # (1,) int64 jobs, the head included
    reservations: np.ndarray  # (1,) int64 jobs
    shadow_intervals: np.ndarray  # (1,) int64; -1 for no deadlines


@kernel
def decide(cluster, jobs, memory):
    """Start jobs in the queue's order until one, the head, must wait; then backfill behind it."""
    predict(memory.predictor, cluster, jobs)
    if memory.shadow_intervals[0] >= 0:
        _set_deadlines(cluster, jobs, memory)
    if not _any_fits(cluster, jobs, memory, FOREVER, 0):
        return
    line = waiting(cluster)
    count = len(line)
    if memory.queue.code[0] != FCFS or memory.queue.dynamic[0] or len(started(cluster)) > 0:
        count = rank(memory.queue, cluster, jobs)
        line = memory.queue.line
    place = 0
    while place < count and jobs.size[line[place]] <= free(cluster):
        start(cluster, jobs, line[place])
        place += 1
    last = min(count, place + memory.lookahead[0])
    if place + 1 < last and free(cluster) > 0:
        _backfill(cluster, jobs, memory, line[place:last])


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


@kernel
def _set_deadlines(cluster, jobs, memory):
    """Give the jobs that have arrived their deadlines, so many shadow intervals after arrival."""
    deadline = memory.queue.deadline
    queue = waiting(cluster)
    place = len(queue)
    while place > 0 and deadline[queue[place - 1]] == FOREVER:
        place -= 1
        job = queue[place]
        shadow_time, _ = shadow(believed(cluster, memory.predictor), jobs, job)
        shadow_interval = shadow_time - jobs.submit[job]
        deadline[job] = jobs.submit[job] + memory.shadow_intervals[0] * shadow_interval


@kernel
def _backfill(cluster, jobs, memory, queue):
    """Backfill from the part of the queue in sight, behind its first job, the head."""
    machine = believed(cluster, memory.predictor)
    shadow_time, extra_nodes = FOREVER, 0
    if memory.reservations[0] != 0:
        shadow_time, extra_nodes = shadow(machine, jobs, queue[0])
    planned = memory.reservations[0] > 1 or memory.reservations[0] < 0
    if planned:
        if not _any_fits(cluster, jobs, memory, shadow_time, extra_nodes):
            return
        rebuild(memory.profile, machine, jobs)
        _make_reservations(cluster, jobs, memory, queue)
    if not memory.two_orders[0]:
        for job in queue:
            if _fits(cluster, jobs, memory, job, shadow_time, extra_nodes):
                extra_nodes -= _try(cluster, jobs, memory, job, planned, shadow_time)
        return
    line = memory.backfill.line
    count = _choose(cluster, jobs, memory, queue, shadow_time, extra_nodes)
    while count > 0:
        extra_nodes -= _try(cluster, jobs, memory, line[count - 1], planned, shadow_time)
        count = _choose(cluster, jobs, memory, line[: count - 1], shadow_time, extra_nodes)


@kernel
def _fits(cluster, jobs, memory, job, shadow_time, extra_nodes):
    """Whether a waiting job could start without delaying the head: EASY's two conditions."""
    return (
        jobs.size[job] <= free(cluster)
        and cluster.start[job] < 0
        and (
            now(cluster) + memory.queue.duration[job] <= shadow_time
            or jobs.size[job] <= extra_nodes
        )
    )


@kernel
def _any_fits(cluster, jobs, memory, shadow_time, extra_nodes):
    """Whether any job could; if none, no order matters."""
    if free(cluster) > 0:
        for job in waiting(cluster):
            if _fits(cluster, jobs, memory, job, shadow_time, extra_nodes):
                return True
    return False


@kernel
def _choose(cluster, jobs, memory, candidates, shadow_time, extra_nodes):
    """Put those that could start into the line of the backfill; how many they are.

    The one to be tried next stands last. Who is left out need not be looked at again in this pass,
    as there is ever less room.
    """
    if free(cluster) == 0:
        return 0
    line, time = memory.backfill.line, now(cluster)
    count, best, best_score = 0, -1, math.inf
    for job in candidates:
        if _fits(cluster, jobs, memory, job, shadow_time, extra_nodes):
            value = score(memory.backfill, jobs, job, time)
            if best < 0 or value < best_score or (value == best_score and job < line[best]):
                best, best_score = count, value
            line[count] = job
            count += 1
    if count > 0:
        line[best], line[count - 1] = line[count - 1], line[best]
    return count


@kernel
def _try(cluster, jobs, memory, job, planned, shadow_time):
    """Start a job if the profile permits; how many of the extra nodes it takes."""
    size, duration, time = jobs.size[job], memory.queue.duration[job], now(cluster)
    if planned:
        if not fits(memory.profile, size, duration, time):
            return 0
        reserve(memory.profile, size, time, time + duration)
    start(cluster, jobs, job)
    return 0 if time + duration <= shadow_time else size


@kernel
def _make_reservations(cluster, jobs, memory, queue):
    """One by one in the queue's order a job starts if it can, else it reserves its anchor point."""
    profile, duration = memory.profile, memory.queue.duration
    left = memory.reservations[0]
    for job in queue:
        if left == 0 or free(cluster) == 0:
            break
        begin = place(profile, jobs.size[job], duration[job], now(cluster))
        if begin == now(cluster):
            start(cluster, jobs, job)
        else:
            left -= 1


def new_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    *,
    order: str,
    backfill: str,
    reservations: int,
    lookahead: int,
    predictor: str | None,
    weight: float | None,
    shadow_intervals: int,
) -> Memory:
    """The memory for these options of `easy`, with numbers in place of "all" and None."""
    count = len(jobs.submit)
    beliefs = new_predictor(predictor, jobs, processors)
    queue = new_ranking(order, jobs, generator, weight)._replace(duration=beliefs.duration)
    in_backfill = queue
    two_orders = backfill != order or shadow_intervals >= 0
    if two_orders:
        in_backfill = new_ranking(backfill, jobs, generator, weight)
        in_backfill = in_backfill._replace(duration=beliefs.duration)
        if ORDERS[order].stochastic and ORDERS[backfill].stochastic:
            in_backfill = in_backfill._replace(number=queue.number)  # one number for each job
    if shadow_intervals >= 0:
        queue = queue._replace(deadline=np.full(count, FOREVER), dynamic=np.array([True]))
    planned = count if reservations < 0 else min(count, reservations)
    return Memory(
        queue,
        in_backfill,
        beliefs,
        new_profile(min(count, processors), planned),
        two_orders=np.array([two_orders]),
        lookahead=np.array([min(count, lookahead)]),
        reservations=np.array([reservations]),
        shadow_intervals=np.array([shadow_intervals]),
    )


def easy(
    order: str = "fcfs",
    backfill: str | None = None,
    reservations: int | str = 1,
    lookahead: int | None = None,
    predictor: str | None = None,
    weight: float | None = None,
    shadow_intervals: int | None = None,
) -> Policy:
    """EASY backfilling with its parts to choose; the orders are names in
    `bfenv.baselines.priorities.ORDERS`.

    Jobs start in `order` until one, the head, does not fit. Going on in that order, a job starts
    if there is room for it beside the reservations made so far, else it is given a reservation, at
    its anchor point, until so many `reservations` are made: 1 in EASY, RESERVATIONDEPTH in Maui,
    "all" for everybody (planned afresh in each pass), 0 to start whatever fits. The remaining jobs
    are then tried in the order of the `backfill` (None: the same) and start where there is room.

    `lookahead`: how many jobs, from the head on, are looked at in a pass; None for all.
    `predictor`: predictions in place of estimates, see `bfenv.baselines.predictor`; None for
    estimates. `weight`: of a second's delay in the aged orders, in 1/s; None for the order's own.
    `shadow_intervals`: a job that waits past its deadline, so many shadow intervals after its
    arrival, comes before all others in the queue (not in the backfill), the earliest deadline
    first. A job's shadow interval lasts from its arrival to the shadow time that it would have had
    then, had it been the head; it is 0 for a job that fits. Zotkin, Keleher and Perkovic 2000,
    section 5, do not spell out the guarantee nor how it is enforced. With this reading the
    slowdowns for KTH and exact estimates are 49.9, 43.4 and 46.4 with 1, 2 and 3 intervals, where
    their Table 8 has 49.40, 41.72 and 46.77; readings with conservative guarantees are far off.

    Raises PolicyError for an option out of its range.
    """
    chosen = find_order(order), find_order(backfill or order, "backfill")
    check_predictor(predictor)
    if weight is not None and not _is_weight(weight, chosen):
        raise PolicyError(f"weight is a positive number, for an aged order, not {weight!r}")
    memory = partial(
        new_memory,
        order=order,
        backfill=backfill or order,
        reservations=-1 if reservations == "all" else _whole("reservations", reservations, 0),
        lookahead=FOREVER if lookahead is None else _whole("lookahead", lookahead, 1),
        predictor=predictor,
        weight=weight,
        shadow_intervals=(
            -1 if shadow_intervals is None else _whole("shadow_intervals", shadow_intervals, 0)
        ),
    )
    options = {
        "order": order,
        "backfill": backfill,
        "reservations": reservations,
        "lookahead": lookahead,
        "predictor": predictor,
        "weight": weight,
        "shadow_intervals": shadow_intervals,
    }
    return Policy(
        name=_expression(easy, options),
        decide=decide,
        run=run,
        memory=memory,
        summary=f"EASY, {chosen[0].meaning} first"
        + (f", backfilling {chosen[1].meaning} first" if chosen[0] != chosen[1] else ""),
        source=chosen[0].source,
        stochastic=chosen[0].stochastic or chosen[1].stochastic,
        stateful=predictor is not None or shadow_intervals is not None,
    )


def queue(order: str = "fcfs", predictor: str | None = None, weight: float | None = None) -> Policy:
    """Jobs start strictly in `order`: while the first does not fit, nobody starts.

    The options are those of `easy`, of which this is the case without backfilling.

    Zotkin, Keleher and Perkovic 2000 print for SortFCFS on KTH with exact estimates a slowdown of
    36.55 (Table 6) and a wait of 14,260 s (Table 7); `sjf` has 44.1 and 12,760 s, or 46.2 and
    12,200 s where runtimes are clipped to the log's estimates. No reading of the policy explains
    it: with other tie rules, one start per pass, a head that stays or jobs that start on arrival
    either the slowdown or the wait is further off. The log does: plain FCFS, which leaves nothing
    to read, is off as well (7511 for 8800.23, 390 ks for 459 ks) until runtimes are 0.75 % longer,
    and on runtimes longer by 0 to 1 % the slowdown of `sjf` goes from 28.5 to 56.4.
    """
    policy = easy(order, lookahead=1, predictor=predictor, weight=weight)
    options = {"order": order, "predictor": predictor, "weight": weight}
    summary = f"{ORDERS[order].meaning} first, no backfilling"
    return replace(policy, name=_expression(queue, options), summary=summary)


def _is_weight(weight: Any, orders: tuple[Order, ...]) -> bool:
    number = isinstance(weight, int | float) and 0 < weight < math.inf
    return number and any(order.weight for order in orders)


def _whole(option: str, value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise PolicyError(f"{option} is a whole number from {least}, not {value!r}")
    return value


def _expression(family: Any, options: dict[str, Any]) -> str:
    """The text from which `find_policy` makes the same policy, defaults left out."""
    defaults = inspect.signature(family).parameters
    given = [f"{key}={value}" for key, value in options.items() if value != defaults[key].default]
    return f"{family.__name__}({', '.join(given)})"


# The published ones -------------------------------------------------------------------------

_PLAIN = "sjf lpt sqf lqf saf lxf wfp3 unicef f1 f2 f3 f4".split()
_ZOTKIN = "Zotkin, Keleher and Perkovic 2000, section "
_TSAFRIR = "Tsafrir, Etsion and Feitelson 2007"
_SOURCES = {
    "sjf": _ZOTKIN + "5, Tables 6 and 7 (SortFCFS); Shmueli 2003, chapter 2 (SPT)",
    "easy-sjf": _ZOTKIN + "5, Tables 6 and 7 (SortBF)",
}


def _published(name: str, policy: Policy, source: str = "", summary: str = "") -> Policy:
    source = source or _SOURCES.get(name, policy.source)
    return replace(policy, name=name, source=source, summary=summary or policy.summary)


POLICIES = (
    *(_published(order, queue(order)) for order in _PLAIN),
    *(_published(f"easy-{order}", easy(order)) for order in (*_PLAIN, "aged-sjf", "aged-random")),
    *(
        _published(
            f"easy-sjf-shadow{intervals}",
            easy("sjf", shadow_intervals=intervals),
            source=_ZOTKIN + "5, Table 8",
            summary=f"EASY, shortest estimate first, none {intervals} shadow intervals late",
        )
        for intervals in (1, 2, 3)
    ),
    _published("easy-sjbf", easy(backfill="sjf"), _TSAFRIR + " (SJBF)"),
    _published(
        "easy++",
        easy(backfill="sjf", predictor="recent"),
        _TSAFRIR,
        "EASY by predicted runtimes, backfilling the shortest prediction first",
    ),
)
