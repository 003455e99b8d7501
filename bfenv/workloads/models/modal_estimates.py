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
HEAD_PERCENT = 89.0  # of the jobs
FEWEST_JOBS = 227  # below, there would be no tail value
SMALLEST_EMAX = 5701  # seconds; below, there might be fewer than HEAD head values
USUAL_EMAX = 18 * HOUR  # SDSC's and CTC's, by Tsafrir (JSSPP 2010), Figure 8

# Number of distinct values against the number of jobs, linear in between and level beyond.
VALUES_OF_JOBS = (
    (0, 0), (20, 10), (200, 20), (1_000, 35), (10_000, 90), (70_000, 340), (250_000, 565),
)  # fmt: skip
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
    runtime: np.ndarray, rng: np.random.Generator, *, emax: int, emax_share: float | None = None
) -> np.ndarray:
    """Draw modal estimates.

    Few jobs show few values: cut the estimates of a short sample from those of a long one.

    Raises WorkloadError if an argument is out of range, or if there are more long jobs than long
    estimates.

    * `runtime`: (n,) int seconds, n > 226; what is longer than emax counts as emax.
    * `emax`: longest estimate allowed, int seconds > 5700. Real machines had 4 to 60 hours.
    * `emax_share`: share of the jobs whose estimate is emax, above 0 and below 0.89. A larger share
      makes estimates worse. None is 0.217, with emax the most popular value; real machines had 0.10
      to 0.27.

    Returns the estimates, (n,) int64 seconds, 1 .. emax.
    """
    runtime = check_seconds("runtime", runtime)
    jobs = runtime.size
    if runtime.ndim != 1 or jobs < FEWEST_JOBS:
        raise WorkloadError(
            f"runtime must have one axis of at least {FEWEST_JOBS} jobs, got shape {runtime.shape}"
        )
    emax = check_integer("emax", emax, SMALLEST_EMAX, LARGEST_EXACT - 1, error=WorkloadError)
    if emax_share is not None:
        check_number("emax_share", emax_share, positive=True, error=WorkloadError)
        if 100 * emax_share >= HEAD_PERCENT:
            raise WorkloadError(f"emax_share must be < {HEAD_PERCENT / 100}, got {emax_share}")

    head = head_values(emax)
    percent, emax_rank = head_percent(emax_share)
    rank = head_ranks(emax_rank, rng)
    values = number_of_values(jobs)
    tail = tail_values(values, head)
    value = np.concatenate([head, tail])
    share = np.concatenate([percent[rank - 1], rng.permutation(tail_percent(len(tail)))])
    counts = job_counts(share, jobs, keep_first=emax_share is not None)

    return deal(np.minimum(runtime, emax), np.repeat(value, counts), rng)


def number_of_values(jobs: int) -> int:
    """Count the distinct values of a sample of `jobs` jobs, head and tail."""
    known_jobs, known_values = zip(*VALUES_OF_JOBS, strict=True)
    values = float(np.interp(jobs, known_jobs, known_values))
    return math.floor(round(values, 9) + 0.5)  # a half may be a little less in binary


def head_values(emax: int) -> np.ndarray:
    """List the popular values, (20,) int64 seconds: emax first, the others ascending."""
    values = {emax, *(v for v in JOINT_VALUES if v < emax)}
    for step in STEPS:
        for value in range(emax // step * step, 0, -step):
            if len(values) == HEAD:
                break
            values.add(value)
    return np.array([emax, *sorted(values - {emax})], dtype=np.int64)


def head_percent(emax_share: float | None = None) -> tuple[np.ndarray, int]:
    """Return percents of the jobs by popularity, (20,) float64 descending, and emax's rank."""
    others = 14.0491 * np.exp(-0.177531 * np.arange(2, HEAD + 1)) + 0.462513
    if emax_share is None:
        return np.concatenate([[HEAD_PERCENT - others.sum()], others]), 1
    emax_percent = 100 * emax_share
    others *= (HEAD_PERCENT - emax_percent) / others.sum()
    rank = 1 + int(np.count_nonzero(others > emax_percent))
    return np.insert(others, rank - 1, emax_percent), rank


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
    """List the unpopular values, (at most values - 20,) int64 seconds, roughly ascending."""
    emax = int(head[0])
    tail = values - HEAD
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


def tail_percent(values: int) -> np.ndarray:
    """Return percents of the jobs by popularity, (values,) float64 descending; their sum is 11."""
    percent: np.ndarray = 795.6 * np.arange(HEAD + 1.0, HEAD + 1 + values) ** -2.267
    # The only tail value of 227 jobs may fall on emax and be dropped.
    return percent * ((100 - HEAD_PERCENT) / percent.sum()) if values else percent


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
    sign, rest = (1 if missing > 0 else -1), abs(missing)
    rate = rest / counts[order].sum()
    # In proportion; then one by one; then all but one of each value; finally all.
    rounds: tuple[tuple[Callable[[int], int], int], ...] = (
        (lambda n: math.ceil(rate * n), 1),
        (lambda n: 1, 1),
        (lambda n: n, 1),
        (lambda n: n, 0),
    )
    for share, floor in rounds:
        for i in order:
            step = min(rest, share(int(counts[i])))
            if sign < 0:
                step = min(step, int(counts[i]) - floor)
            counts[i] += sign * step
            rest -= step
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
