"""The best schedule that full knowledge finds: the best of some simple ones, then local search.

The simple ones are list placement and EASY backfilling with true runtimes in several orders. The
list places jobs one by one at their anchor points, by true runtimes, in the order of runtime x
area (Smith's rule, for jobs whose cost grows by 1 / runtime). A move of the local search takes a
few jobs out of the schedule that compete for the same time, and puts them back in another order.
It is kept if the cost does not rise, or rises by less than a random amount that shrinks from move
to move (simulated annealing).
"""

from collections.abc import Iterator

import numpy as np

from bfenv.baselines import simulate
from bfenv.core.arguments import check_integer, check_number
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import FOREVER, Trace
from bfenv.core.kernel import kernel
from bfenv.core.profile import Profile, anchor_point, new_profile, release, reserve
from bfenv.core.schedule import Schedule
from bfenv.workloads.requests import with_estimates
from bfenv_judge.bounds.certificate import COSTS, Costs, cost, cost_of_starts, job_costs

BLOCK = 3_000  # jobs that a local search looks at; larger profiles are slow
CALL = 1_000  # moves, or jobs placed, in one call of a kernel: Python hears Ctrl-C between calls
HEAT = 2.0  # mean costs of a job by which a first move may raise the total cost, on average
LARGEST_MOVE = 24  # jobs
ORDERS = (  # of EASY, ascending
    "estimate",
    "size * estimate",
    "-(wait + estimate) / max(estimate, 10) / size",
)
FIRST = "1e15"  # beyond all values of ORDERS
OLD = (0.6, 0.8, 0.95)  # shares of the longest wait allowed: jobs that waited this long come first
NEARBY = 4  # times the jobs of a move: how far away, in order of start, its jobs may be


def offline_schedule(
    trace: Trace,
    metric: str = COSTS[0],
    *,
    longest_wait: float | None = None,
    moves: int = 100,
    seed: int = 0,
) -> Schedule:
    """Return a schedule with a low metric, made with knowledge of all jobs and their runtimes.

    * `trace`: the jobs, with their true runtimes.
    * `metric`: as in `job_costs`.
    * `longest_wait`: seconds that no job may wait longer than; None for no limit.
    * `moves`: moves of the local search per job.
    * `seed`: of the moves. The same seed gives the same schedule.

    Raises BfenvError if no schedule within the longest wait was found, or an argument is out of
    range.
    """
    check_integer("moves", moves, 0)
    costs = job_costs(trace, metric)
    limit = FOREVER
    if longest_wait is not None:
        limit = int(check_number("longest_wait", longest_wait, 0))
    start = _first_starts(trace, costs, limit)
    generator = np.random.default_rng(seed)
    stride = max(BLOCK // 2, 1)
    for first in range(0, max(len(trace) - stride, 1), stride):
        order = np.argsort(start, kind="stable")
        _improve_block(trace, costs, start, order[first : first + BLOCK], limit, moves, generator)
    none = np.full(len(trace), -1, dtype=np.int64)
    name = "offline" if longest_wait is None else f"offline(longest_wait={limit})"
    return Schedule(trace, name, seed, start, start + trace.runtime, none, none.copy()).check()


def _first_starts(trace: Trace, costs: Costs, limit: int) -> np.ndarray:
    """Return (n,) starts within the limit, from which the local search begins."""
    submit = trace.jobs.submit
    starts = [start for start in _backfilled(trace, limit) if (start - submit).max() <= limit]
    try:
        starts.append(_place_list(trace, costs, limit))
    except BfenvError:
        if not starts:
            raise
    return min(starts, key=lambda start: float(cost_of_starts(costs, start).sum()))


def _backfilled(trace: Trace, limit: int) -> Iterator[np.ndarray]:
    """Yield the (n,) starts of EASY that knows the runtimes, in each of ORDERS.

    With a limit, jobs that have waited long come first, the oldest first. EASY does not plan for
    requested start times, so there is nothing for traces that have some.
    """
    if trace.jobs.requested_start.any():
        return
    orders: tuple[str, ...] = ORDERS
    if limit < FOREVER:
        olds = [f"(wait >= {int(share * limit)})" for share in OLD]  # they come first
        orders = tuple(
            f"({order}) * (1 - {old}) - {FIRST} * {old}" for order in ORDERS for old in olds
        )
    exact_trace = with_estimates(trace, "exact")
    for order in orders:
        yield simulate(exact_trace, f"easy(order={order!r})").start


def _empty_machine(trace: Trace, begin: int) -> Profile:
    """Return the profile of the machine from `begin` (s) on, with its outages and without jobs."""
    profile = new_profile(1, len(trace) + len(trace.outages) + 1)
    profile.time[0], profile.free[0], profile.steps[0] = begin, trace.processors, 1
    for outage in trace.outages:
        if outage.end > begin:
            reserve(profile, outage.processors, max(outage.begin, begin), outage.end)
    return profile


def _place_list(trace: Trace, costs: Costs, limit: int) -> np.ndarray:
    """Return (n,) starts within the limit, from which a local search may begin.

    With a limit, submission order comes first: the search makes more of it than of an order in
    which jobs were moved to the front until none was late.
    """
    runtime, jobs = trace.runtime, trace.jobs
    submitted = np.arange(len(trace))
    order = np.argsort(runtime.astype(np.float64) * jobs.size / costs.slope, kind="stable")
    start = np.empty(len(trace), dtype=np.int64)
    late = np.zeros(len(trace), dtype=np.bool_)
    for attempt in range(len(trace) + 2):
        moved = submitted if limit < FOREVER and attempt == 0 else submitted[late]
        remaining_jobs = order[~np.isin(order, moved)]
        profile, whole = _empty_machine(trace, 0), np.concatenate([moved, remaining_jobs])
        for first in range(0, len(whole), CALL):
            part = whole[first : first + CALL]
            _place(profile, part, costs.release, jobs.size, runtime, start)
        too_late = start - jobs.submit > limit
        if not too_late.any():
            return start
        if attempt > 0 and not (too_late & ~late).any():
            break
        late |= too_late & (attempt > 0)
    raise BfenvError(f"{trace.name}: no schedule found in which no job waits over {limit} s")


def _improve_block(
    trace: Trace,
    costs: Costs,
    start: np.ndarray,
    members: np.ndarray,
    limit: int,
    moves: int,
    generator: np.random.Generator,
) -> None:
    """Search among the jobs `members` (m,) alone, between the first and the last of their times.

    Behind the last job of the trace there is time without end.
    """
    size, runtime = trace.jobs.size, trace.runtime
    begin = int(costs.release[members].min())
    end = int((start + runtime)[members].max())
    if start[members].max() == start.max():
        end = FOREVER // 2
    profile = _empty_machine(trace, begin)
    busy = np.flatnonzero((start < end) & (start + runtime > begin))
    _occupy(profile, busy, size, np.maximum(start, begin), np.minimum(start + runtime, end))
    latest = np.minimum(end - runtime, trace.jobs.submit + min(limit, FOREVER // 2))
    heat = HEAT * float(cost_of_starts(costs, start)[members].mean())
    moved, before = np.empty(LARGEST_MOVE, dtype=np.int64), np.empty(LARGEST_MOVE, dtype=np.int64)
    key, total = np.empty(LARGEST_MOVE), moves * len(members)
    for first in range(0, total, CALL):
        _search(
            profile,
            costs,
            size,
            runtime,
            members,
            start,
            latest,
            first,
            min(first + CALL, total),
            total,
            heat,
            moved,
            before,
            key,
            generator,
        )


@kernel
def _place(profile: Profile, order, earliest, size, runtime, start):
    for job in order:
        start[job] = anchor_point(profile, size[job], runtime[job], earliest[job])
        reserve(profile, size[job], start[job], start[job] + runtime[job])


@kernel
def _occupy(profile: Profile, jobs, size, begin, end):
    for job in jobs:
        reserve(profile, size[job], begin[job], end[job])


@kernel
def _search(
    profile,
    costs,
    size,
    runtime,
    members,
    start,
    latest,
    first,
    last,
    moves,
    heat,
    moved,
    before,
    key,
    generator,
):
    """Make the moves `first` to `last` - 1 of all `moves`.

    `members` (m,) is in order of start, and `latest` (n,) the last start allowed.
    """
    for move in range(first, last):
        count = _choose(costs, runtime, members, start, moved, generator)
        cost_before = 0.0
        for i in range(count):
            job = moved[i]
            before[i] = start[job]
            cost_before += cost(costs, job, start[job])
            release(profile, size[job], start[job], start[job] + runtime[job])
        _shuffle(size, runtime, costs, moved, before, key, count, generator)
        placed, spent = 0, 0.0
        allowed = cost_before - heat * (1 - move / moves) ** 2 * np.log(1 - generator.random())
        while placed < count:
            job = moved[placed]
            t = anchor_point(profile, size[job], runtime[job], costs.release[job])
            spent += cost(costs, job, t)
            if t > latest[job] or spent > allowed:
                break
            reserve(profile, size[job], t, t + runtime[job])
            start[job] = t
            placed += 1
        if placed < count:  # take the placed jobs out again, and put all back where they were
            for job in moved[:placed]:
                release(profile, size[job], start[job], start[job] + runtime[job])
            for i in range(count):
                job = moved[i]
                start[job] = before[i]
                reserve(profile, size[job], start[job], start[job] + runtime[job])


@kernel
def _choose(costs, runtime, members, start, moved, generator):
    """Write jobs to `moved` and return their number: one that waits, and jobs it competes with."""
    centre = int(generator.random() * len(members))
    for _ in range(50):
        if start[members[centre]] > costs.kink[members[centre]]:
            break
        centre = int(generator.random() * len(members))
    moved[0] = members[centre]
    begin = costs.release[moved[0]]
    end = start[moved[0]] + runtime[moved[0]]
    most = 2 + int(generator.random() ** 3 * (LARGEST_MOVE - 1))  # small moves succeed more often
    first = max(0, centre - NEARBY * most)
    last = min(len(members), centre + NEARBY * most)
    count = 1
    for _ in range(4 * most):
        job = members[first + int(generator.random() * (last - first))]
        if start[job] < end and start[job] + runtime[job] > begin:
            new = True
            for i in range(count):
                new = new and moved[i] != job
            if new:
                moved[count] = job
                count += 1
                if count == most:
                    break
    return count


@kernel
def _shuffle(size, runtime, costs, moved, before, key, count, generator):
    """Sort the moved jobs by a rule with noise: Smith's rule, the slope of the cost, or noise."""
    kind = generator.random()
    for i in range(count):
        job = moved[i]
        noise = generator.random()
        if kind < 0.4:
            key[i] = np.log(runtime[job] * size[job] / costs.slope[job]) + 3 * noise
        elif kind < 0.7:
            key[i] = 2 * noise - np.log(costs.slope[job])
        else:
            key[i] = noise
    for i in range(1, count):
        job, time, value = moved[i], before[i], key[i]
        k = i
        while k > 0 and key[k - 1] > value:
            moved[k], before[k], key[k] = moved[k - 1], before[k - 1], key[k - 1]
            k -= 1
        moved[k], before[k], key[k] = job, time, value
