"""The modal model of users' runtime estimates, by Tsafrir, Etsion and Feitelson.

Users choose round numbers: twenty "head" values serve 89 % of the jobs, a long "tail" of others the
rest. The values are then dealt to the jobs at random, never below the runtime. In all functions,
`rng` is the source of all randomness.

References:
    D. Tsafrir, Y. Etsion and D. G. Feitelson, "Modeling user runtime estimates", Job Scheduling
    Strategies for Parallel Processing (JSSPP), LNCS 3834, 1-35, 2005, doi:10.1007/11605300_1. Where
    the paper and the authors' program est_model differ, this module follows the program.
"""

import math
from collections.abc import Callable

import numpy as np

from bfenv.core.arguments import check_integer, check_number
from bfenv.core.durations import HOUR, MINUTE
from bfenv.core.errors import WorkloadError
from bfenv.workloads.arguments import LARGEST_EXACT
from bfenv.workloads.models.simple_estimates import check_seconds

HEAD = 20  # values
MOST_HEAD = 100  # values
HEAD_PERCENT = 89.0  # of the jobs
TRIES = 8  # jobs that may swap estimates with a job
FEWEST_JOBS = 227  # below, there would be no tail value
SMALLEST_EMAX = 5701  # seconds; below, there might be fewer than HEAD head values
USUAL_EMAX = 18 * HOUR  # SDSC's and CTC's, by Tsafrir (JSSPP 2010), Figure 8

# Number of distinct values against the number of jobs, linear in between and level beyond.
VALUES_OF_JOBS = (
    (0, 0),
    (20, 10),
    (200, 20),
    (1_000, 35),
    (10_000, 90),
    (70_000, 340),
    (250_000, 565),
)
# Values popular in every trace the authors looked at, and the steps of the further ones.
JOINT_VALUES = [m * MINUTE for m in (5, 10, 15, 20, 30)] + [
    h * HOUR for h in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)
]
STEPS = [h * HOUR for h in (200, 100, 50, 10, 5, 2, 1)] + [m * MINUTE for m in (20, 10, 5)]
# Popularity rank, in the traces SDSC-106, CTC, KTH4H and BLUE, of the head value in each row;
# row 0 is the maximum, the others ascend.
RANKS_OF_TRACES = (
    (3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7),
    (7, 9, 2, 2), (8, 8, 3, 18), (18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11),
    (16, 11, 19, 20), (10, 20, 5, 9), (5, 16, 18, 10), (15, 5, 16, 14), (14, 14, 9, 13),
    (19, 13, 17, 16), (11, 10, 15, 15), (12, 15, 13, 17), (9, 17, 8, 8), (20, 19, 11, 12),
)  # fmt: skip


def tsafrir(
    runtime: np.ndarray,
    rng: np.random.Generator,
    *,
    emax: int,
    emax_share: float | None = None,
    popular_values: int = HEAD,
    popular_share: float = HEAD_PERCENT / 100,
    repeat_share: float = 0.0,
    user: np.ndarray | None = None,
) -> np.ndarray:
    """Draw modal estimates.

    Few jobs show few values: cut the estimates of a short sample from those of a long one.

    Raises WorkloadError if an argument is out of range, or if there are more long jobs than long
    estimates.

    * `runtime`: (n,) int seconds, n > 226; what is longer than emax counts as emax.
    * `emax`: longest estimate allowed, int seconds > 5700. Real machines had 4 to 60 hours.
    * `emax_share`: share of the jobs whose estimate is emax, above 0 and below `popular_share`. A
      larger share makes estimates worse. None is 0.217 by default, with emax the most popular
      value; real machines had 0.10 to 0.27.
    * `popular_values`: number of popular values, emax among them, from 1 to 100.
    * `popular_share`: share of the jobs whose estimate is one of these, above 0 and at most 1.
      Tsafrir (2010), section 4, counts 20 values that serve 90 % of the jobs of four logs.
    * `repeat_share`: correlation of a user's estimates, from 0 to 1: how many of the jobs take the
      estimate of the same user's previous job, see `repeated`. The paper's model has 0; its authors
      name repetition as what the model lacks.
    * `user`: (n,) int user of each job, below 0 for unknown; needed if `repeat_share` is not 0.

    Returns the estimates, (n,) int64 seconds, 1 .. emax.
    """
    runtime = check_seconds("runtime", runtime)
    jobs = runtime.size
    if runtime.ndim != 1 or jobs < FEWEST_JOBS:
        raise WorkloadError(
            f"runtime must have one axis of at least {FEWEST_JOBS} jobs, got shape {runtime.shape}"
        )
    emax = check_integer("emax", emax, SMALLEST_EMAX, LARGEST_EXACT - 1, error=WorkloadError)
    check_integer("popular_values", popular_values, 1, MOST_HEAD, error=WorkloadError)
    check_number("popular_share", popular_share, 0, 1, positive=True, error=WorkloadError)
    check_number("repeat_share", repeat_share, 0, 1, error=WorkloadError)
    if repeat_share and (user is None or not np.any(np.asarray(user) >= 0)):
        raise WorkloadError(f"repeat_share={repeat_share:g} needs jobs whose users are known")
    head_share = 100 * popular_share
    if emax_share is not None:
        check_number("emax_share", emax_share, positive=True, error=WorkloadError)
        if popular_values == 1:
            raise WorkloadError("with popular_values=1, popular_share is the share of emax")
        if 100 * emax_share >= head_share:
            raise WorkloadError(f"emax_share must be < {popular_share:g}, got {emax_share}")

    head = head_values(emax, max(popular_values, HEAD))
    percent, emax_rank = head_percent(emax_share, popular_values, head_share)
    chosen, rank = popularity(len(head), popular_values, emax_rank, rng)
    head = head[chosen]
    tail = tail_values(number_of_values(jobs), head) if popular_share < 1 else head[:0]
    tail_shares = tail_percent(len(tail), popular_values, 100 - head_share)
    value = np.concatenate([head, tail])
    share = np.concatenate([percent[rank - 1], rng.permutation(tail_shares)])
    counts = job_counts(share, jobs, keep_first=emax_share is not None)

    runtime = np.minimum(runtime, emax)
    estimate = deal(runtime, np.repeat(value, counts), rng)
    return repeated(runtime, estimate, user, repeat_share, rng) if repeat_share else estimate


def number_of_values(jobs: int) -> int:
    """Count the distinct values of a sample of `jobs` jobs, head and tail."""
    known_jobs, known_values = zip(*VALUES_OF_JOBS, strict=True)
    values = float(np.interp(jobs, known_jobs, known_values))
    return math.floor(round(values, 9) + 0.5)  # a half may be a little less in binary


def head_values(emax: int, count: int = HEAD) -> np.ndarray:
    """List the popular values, (count,) int64 seconds: emax first, the others ascending.

    The list has `count` values. Raises WorkloadError if emax is too short for that many.
    """
    values = {emax, *(v for v in JOINT_VALUES if v < emax)}
    for step in STEPS:
        for value in range(emax // step * step, 0, -step):
            if len(values) == count:
                break
            values.add(value)
    if len(values) < count:
        raise WorkloadError(
            f"popular_values={count} needs a longer emax: {emax} s has {len(values)} round values"
        )
    return np.array([emax, *sorted(values - {emax})], dtype=np.int64)


def head_percent(
    emax_share: float | None = None, count: int = HEAD, head_percent: float = HEAD_PERCENT
) -> tuple[np.ndarray, int]:
    """Return percents of the jobs by popularity, (count,) float64 descending, and emax's rank.

    Their sum is `head_percent`. If neither it nor the number of values is the paper's, the paper's
    percents are scaled to it.
    """
    percents = 14.0491 * np.exp(-0.177531 * np.arange(2, max(count, HEAD) + 1)) + 0.462513
    first = HEAD_PERCENT - percents[: HEAD - 1].sum()
    percents = percents[: count - 1]
    if emax_share is None:
        percent = np.concatenate([[first], percents])
        if (count, head_percent) != (HEAD, HEAD_PERCENT):
            percent *= head_percent / percent.sum()
        return percent, 1
    emax_percent = 100 * emax_share
    percents *= (head_percent - emax_percent) / percents.sum()
    rank = 1 + int(np.count_nonzero(percents > emax_percent))
    return np.insert(percents, rank - 1, emax_percent), rank


def popularity(
    values: int, popular_values: int, emax_rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the popular ones of the head values, and draw their popularity ranks.

    The first HEAD values are ranked by `head_ranks`, further ones at random behind them. If fewer
    are to be popular, the least popular are left out, but never emax.

    Returns the chosen indices, ascending, and their ranks, both (popular_values,) int64.
    """
    ranks = head_ranks(min(emax_rank, HEAD), rng)
    indices = 1 + np.argsort(ranks[1:])
    if values > HEAD:
        indices = np.concatenate([indices, HEAD + rng.permutation(values - HEAD)])
    by_rank = np.insert(indices[: popular_values - 1], emax_rank - 1, 0)
    order = np.argsort(by_rank)
    return by_rank[order], order + 1


def head_ranks(emax_rank: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the popularity rank of each head value, (20,) int64, by the pool algorithm.

    Row by row, the ranks of that row in the four traces join a pool, from which the rank is
    drawn. The rank of emax is given.
    """
    last_row = {rank: row for row, ranks in enumerate(RANKS_OF_TRACES) for rank in ranks}
    free = set(last_row) - {emax_rank}
    pool: list[int] = []
    ranks_drawn = [emax_rank]
    for row, ranks in enumerate(RANKS_OF_TRACES):
        pool += [rank for rank in ranks if rank in free]
        if row == 0:
            continue
        overdue = [rank for rank in free if last_row[rank] <= row]
        # The more popular rank of two draws; no rank may come later than in every trace.
        drawn = min(overdue) if overdue else min(pool[i] for i in rng.integers(len(pool), size=2))
        ranks_drawn.append(drawn)
        free.remove(drawn)
        pool = [rank for rank in pool if rank != drawn]
    return np.array(ranks_drawn, dtype=np.int64)


def tail_values(values: int, head: np.ndarray) -> np.ndarray:
    """List the unpopular values, int64 seconds, roughly ascending: what `head` lacks of `values`.

    There is at least one to try.
    """
    emax = int(head.max())
    tail = max(1, values - len(head))
    a = 1 + 12.1039 * values**-0.6026
    used = set(head.tolist())
    chosen = []
    for i in range(1, tail + 1):
        x = i / tail
        value = MINUTE * math.floor((a - 1) * x / (a - x) * emax / MINUTE + 0.5)
        for shift in (0, 30, -30, 20, -20, 10, -10):
            if 0 < value + shift < emax and value + shift not in used:
                used.add(value + shift)
                chosen.append(value + shift)
                break
    return np.array(chosen, dtype=np.int64)


def tail_percent(
    count: int, popular_values: int = HEAD, tail_percent: float = 100 - HEAD_PERCENT
) -> np.ndarray:
    """Return percents of the jobs by popularity, (count,) float64 descending.

    Their sum is `tail_percent`, 11 in the paper.
    """
    first = popular_values + 1.0
    percent: np.ndarray = 795.6 * np.arange(first, first + count) ** -2.267
    # The only tail value of 227 jobs may fall on emax and be dropped.
    return percent * (tail_percent / percent.sum()) if count else percent


def job_counts(percent: np.ndarray, jobs: int, *, keep_first: bool = False) -> np.ndarray:
    """Turn (k,) percents into (k,) int64 numbers of jobs whose sum is `jobs`.

    Every value gets at least one job while there are jobs. Rounding may leave some jobs over, or
    need some more: these are spread over the values, the most popular first. With `keep_first`,
    the first value gets its percent, rounded down, and takes no part in this.
    """
    counts = np.maximum(1, np.floor(percent * jobs / 100 + 0.5)).astype(np.int64)
    fixed = 1 if keep_first else 0
    if keep_first:
        counts[0] = math.floor(round(percent[0] * jobs / 100, 6))  # 0.29 * 100 is below 29
    order = fixed + np.argsort(-counts[fixed:], kind="stable")
    missing = jobs - int(counts.sum())
    sign, remainder = (1 if missing > 0 else -1), abs(missing)
    rate = remainder / counts[order].sum()
    # In proportion; then one by one; then all but one of each value; finally all.
    rounds: tuple[tuple[Callable[[int], int], int], ...] = (
        (lambda n: math.ceil(rate * n), 1),
        (lambda n: 1, 1),
        (lambda n: n, 1),
        (lambda n: n, 0),
    )
    for share, floor in rounds:
        for i in order:
            step = min(remainder, share(int(counts[i])))
            if sign < 0:
                step = min(step, int(counts[i]) - floor)
            counts[i] += sign * step
            remainder -= step
    return counts


def deal(runtime: np.ndarray, estimate: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Give each job one of the estimates, at random among those not below its runtime.

    The longest job comes first and has the least choice; any estimate it leaves suits the others.
    Runtimes, estimates and the result, which is in the order of the runtimes, are (n,) int64
    seconds. Raises WorkloadError if there are more long jobs than long estimates.
    """
    by_length = np.argsort(-runtime, kind="stable")
    left = np.sort(estimate)[::-1]
    long_enough = np.searchsorted(-left, -runtime[by_length], side="right")
    dealt_before = np.arange(len(left))
    if (short := np.flatnonzero(long_enough <= dealt_before)).size:
        longest = runtime[by_length[short[0]]]
        raise WorkloadError(
            f"{np.count_nonzero(runtime >= longest)} jobs run for {longest} s or longer, but only "
            f"{long_enough[short[0]]} estimates are that long; raise emax or emax_share"
        )
    values = left.tolist()
    dealt = []
    for j, k in enumerate(rng.integers(dealt_before, long_enough).tolist()):
        dealt.append(values[k])
        values[k] = values[j]
    result = np.empty(len(dealt), dtype=np.int64)
    result[by_length] = dealt
    return result


def repeated(
    runtime: np.ndarray,
    estimate: np.ndarray,
    user: np.ndarray | None,
    repeat_share: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Let jobs repeat the estimate of the same user's previous job, and keep all estimates.

    In the order of the jobs, a job is drawn with the probability `repeat_share`. It takes its
    user's previous estimate from a later job that has it, and gives it its own, if neither estimate
    is then below the runtime. So each value keeps its number of jobs. A job keeps its estimate if
    none of TRIES later jobs, drawn at random, can swap.

    `runtime`, `estimate` and the result are (n,) int64 seconds; `user` is (n,) int, below 0 for
    unknown.
    """
    assert user is not None
    runtimes, estimates, users = runtime.tolist(), estimate.tolist(), np.asarray(user).tolist()
    later: dict[int, list[int]] = {}  # jobs by estimate, the last first; some have gone
    for job in reversed(range(len(estimates))):
        later.setdefault(estimates[job], []).append(job)
    previous: dict[int, int] = {}
    draws = rng.random(len(estimates)) < repeat_share
    for job, drawn in enumerate(draws.tolist()):
        value = previous.get(users[job]) if users[job] >= 0 else None
        if drawn and value is not None and value != estimates[job] and runtimes[job] <= value:
            candidates = later[value]
            while candidates and (candidates[-1] <= job or estimates[candidates[-1]] != value):
                candidates.pop()
            for place in rng.integers(len(candidates), size=TRIES if candidates else 0).tolist():
                donor = candidates[place]
                if donor > job and estimates[donor] == value and runtimes[donor] <= estimates[job]:
                    later[estimates[job]].append(donor)
                    estimates[job], estimates[donor] = value, estimates[job]
                    break
        previous[users[job]] = estimates[job]
    return np.array(estimates, dtype=np.int64)
