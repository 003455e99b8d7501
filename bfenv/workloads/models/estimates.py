"""Models of the runtime estimates that users give with their jobs.

`tsafrir` is the realistic one: users choose round numbers, so that twenty "head" values serve
89 % of the jobs and a long "tail" of others the rest; the values are then dealt to the jobs at
random, never below the runtime. The functions at the end are the simple models of the
literature, most of them a multiple of the runtime; they tell a scheduler far more about the order
of the runtimes than users do.

Runtimes are whole seconds, at least 0; every estimate is at least the runtime and at least 1 s.

References
----------
D. Tsafrir, Y. Etsion and D. G. Feitelson, "Modeling user runtime estimates", Job Scheduling
Strategies for Parallel Processing (JSSPP), LNCS 3834, 1-35, 2005, doi:10.1007/11605300_1; where
the paper and the authors' program est_model differ, the program is followed.
"""

import math
import operator
from itertools import pairwise
from typing import Literal

import numpy as np

from bfenv.core.errors import WorkloadError

HEAD = 20  # values
HEAD_PERCENT = 89.0  # of the jobs
FEWEST_JOBS = 227  # below, there would be no tail value
SMALLEST_EMAX = 5701  # seconds; below, there might be fewer than HEAD head values
MINUTE, HOUR = 60, 3600
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
    runtime: np.ndarray,
    rng: np.random.Generator,
    *,
    emax: int,
    emax_share: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw modal estimates.

    Few jobs show few values: a short sample is better cut from the estimates of a long one.

    Parameters
    ----------
    runtime
        (n,) int seconds, n > 226.
    rng
        Source of all randomness.
    emax
        Longest estimate allowed, int seconds > 5700. Real machines had 4 to 60 hours.
    emax_share
        Fraction of the jobs whose estimate is emax, above 0 and below 0.89; the surest way to
        make estimates worse. None is 0.217, with emax the most popular value; real machines had
        0.10 to 0.27.

    Returns
    -------
    tuple
        The estimates, (n,) int64 seconds, 1 .. emax, and the runtimes, (n,) int64 seconds, cut
        to emax where they were longer.

    Raises
    ------
    WorkloadError
        When an argument is out of range, or when there are more long jobs than long estimates.
    """
    runtime = _seconds("runtime", runtime)
    jobs, emax = runtime.size, operator.index(emax)
    if runtime.ndim != 1 or jobs < FEWEST_JOBS:
        raise WorkloadError(
            f"runtime has shape {runtime.shape}: one axis of at least {FEWEST_JOBS} jobs is needed"
        )
    if emax < SMALLEST_EMAX:
        raise WorkloadError(f"emax={emax} s: at least {SMALLEST_EMAX} is needed")
    if emax_share is not None and not 0 < 100 * emax_share < HEAD_PERCENT:
        raise WorkloadError(f"emax_share={emax_share}: a fraction above 0 and below 0.89 is needed")

    head = head_values(emax)
    percent, emax_rank = head_percent(emax_share)
    rank = head_ranks(emax_rank, rng)
    values = number_of_values(jobs)
    tail = tail_values(values, head)
    value = np.concatenate([head, tail])
    share = np.concatenate([percent[rank - 1], rng.permutation(tail_percent(len(tail)))])
    counts = job_counts(share, jobs, keep_first=emax_share is not None)

    runtime = np.minimum(runtime, emax)
    return deal(runtime, np.repeat(value, counts), rng), runtime


def number_of_values(jobs: int) -> int:
    """Count the distinct values of a sample of `jobs` jobs, head and tail."""
    for (left, low), (right, high) in pairwise(VALUES_OF_JOBS):
        if jobs <= right:
            run, rise = right - left, high - low
            return low + (2 * (jobs - left) * rise + run) // (2 * run)  # half rounds up
    return VALUES_OF_JOBS[-1][1]


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
    """Percent of the jobs by popularity, (20,) float64 descending, and the rank of emax."""
    others = 14.0491 * np.exp(-0.177531 * np.arange(2, HEAD + 1)) + 0.462513
    if emax_share is None:
        return np.concatenate([[HEAD_PERCENT - others.sum()], others]), 1
    emax_percent = 100 * emax_share
    others *= (HEAD_PERCENT - emax_percent) / others.sum()
    rank = 1 + np.count_nonzero(others > emax_percent)
    return np.insert(others, rank - 1, emax_percent), rank


def head_ranks(emax_rank: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the popularity rank of each head value, (20,) int64, by the pool algorithm.

    Row by row, the ranks seen at that place in the four traces join a pool, from which the rank
    is drawn; emax has its rank beforehand.
    """
    last_row = {rank: row for row, ranks in enumerate(RANKS_OF_TRACES) for rank in ranks}
    free = set(last_row) - {emax_rank}
    pool: list[int] = []
    chosen = [emax_rank]
    for row, ranks in enumerate(RANKS_OF_TRACES):
        pool += [rank for rank in ranks if rank in free]
        if row == 0:
            continue
        overdue = [rank for rank in free if last_row[rank] <= row]
        # Of two draws the more popular rank is taken; no rank may be later than in every trace.
        taken = min(overdue) if overdue else min(pool[i] for i in rng.integers(len(pool), size=2))
        chosen.append(taken)
        free.remove(taken)
        pool = [rank for rank in pool if rank != taken]
    return np.array(chosen, dtype=np.int64)


def tail_values(values: int, head: np.ndarray) -> np.ndarray:
    """List the unpopular values, (at most values - 20,) int64 seconds, about ascending."""
    emax = int(head[0])
    tail = values - HEAD
    a = 1 + 12.1039 * values**-0.6026
    taken = set(head.tolist())
    found = []
    for i in range(1, tail + 1):
        x = i / tail
        value = MINUTE * math.floor((a - 1) * x / (a - x) * emax / MINUTE + 0.5)
        for shift in (0, 30, -30, 20, -20, 10, -10):
            if 0 < value + shift < emax and value + shift not in taken:
                taken.add(value + shift)
                found.append(value + shift)
                break
    return np.array(found, dtype=np.int64)


def tail_percent(values: int) -> np.ndarray:
    """Percent of the jobs by popularity, (values,) float64 descending, in all 11."""
    percent = 795.6 * np.arange(HEAD + 1.0, HEAD + 1 + values) ** -2.267
    # The only tail value of 227 jobs may fall on emax and be dropped.
    return percent * ((100 - HEAD_PERCENT) / percent.sum()) if values else percent


def job_counts(percent: np.ndarray, jobs: int, *, keep_first: bool = False) -> np.ndarray:
    """Turn (k,) percents into (k,) int64 numbers of jobs whose sum is `jobs`.

    Every value gets a job, as long as there are jobs; what rounding leaves over or short is
    spread over the values, the most popular first. With `keep_first` the first value gets its
    percent, rounded down, and no share of that.
    """
    counts = np.maximum(1, np.floor(percent * jobs / 100 + 0.5)).astype(np.int64)
    fixed = 1 if keep_first else 0
    if keep_first:
        counts[0] = math.floor(round(percent[0] * jobs / 100, 6))  # 0.29 * 100 is below 29
    order = fixed + np.argsort(-counts[fixed:], kind="stable")
    missing = jobs - int(counts.sum())
    sign, rest = (1 if missing > 0 else -1), abs(missing)
    rate = rest / counts[order].sum()
    # In proportion; then one by one; then all that can be spared; at last to nothing.
    for wish, floor in (
        (lambda n: math.ceil(rate * n), 1),
        (lambda n: 1, 1),
        (lambda n: n, 1),
        (lambda n: n, 0),
    ):
        for i in order:
            step = min(rest, wish(int(counts[i])))
            if sign < 0:
                step = min(step, int(counts[i]) - floor)
            counts[i] += sign * step
            rest -= step
    return counts


def deal(runtime: np.ndarray, estimate: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Give each job one of the estimates, at random among those that are not below its runtime.

    The longest job comes first and has the least choice; whatever it leaves suits the others.

    Takes (n,) int64 seconds each, in any order; returns the estimates in the order of the
    runtimes. Raises WorkloadError when there is no way to deal them.
    """
    by_length = np.argsort(-runtime, kind="stable")
    left = np.sort(estimate)[::-1]
    enough = np.searchsorted(-left, -runtime[by_length], side="right")
    place = np.arange(len(left))
    if (short := np.flatnonzero(enough <= place)).size:
        longest = runtime[by_length[short[0]]]
        raise WorkloadError(
            f"{np.count_nonzero(runtime >= longest)} jobs run for {longest} s or longer, but only "
            f"{enough[short[0]]} estimates are that long: raise emax, or emax_share"
        )
    left = left.tolist()
    dealt = []
    for j, k in enumerate(rng.integers(place, enough).tolist()):
        dealt.append(left[k])
        left[k] = left[j]
    result = np.empty(len(dealt), dtype=np.int64)
    result[by_length] = dealt
    return result


def exact(runtime: np.ndarray) -> np.ndarray:
    """Return estimates equal to the runtimes, (n,) int64 seconds: a clairvoyant user."""
    return _whole(_seconds("runtime", runtime))


def deterministic(runtime: np.ndarray, factor: float) -> np.ndarray:
    """Return factor * runtime, (n,) int64 seconds, rounded.

    The deterministic method of Zotkin, Keleher and Perkovic (2000), section 4, where factor is R,
    and deterministic F-model of Tsafrir (JSSPP 2010), section 3.1. Raises WorkloadError when
    factor < 1.
    """
    return _whole(_seconds("runtime", runtime) * _factor(factor))


def uniform(
    runtime: np.ndarray,
    rng: np.random.Generator,
    factor: float,
    convention: Literal["zotkin", "tsafrir"],
) -> np.ndarray:
    """Draw estimates uniformly from the runtime up, (n,) int64 seconds, rounded.

    Up to 2 * factor * runtime by the convention of Zotkin, Keleher and Perkovic (2000), section
    4, where factor is R; estimates are then inexact even at R = 1. Up to factor * runtime by that
    of Tsafrir (JSSPP 2010), section 3.1, the F-model of Feitelson and Mu'alem, whose f is
    factor - 1. Raises WorkloadError when factor < 1 or for another convention.
    """
    if convention not in ("zotkin", "tsafrir"):
        raise WorkloadError(f"convention={convention!r}: 'zotkin' or 'tsafrir' is needed")
    runtime = _seconds("runtime", runtime)
    longest = _factor(factor) * (2 if convention == "zotkin" else 1)
    return _whole(runtime * (1 + (longest - 1) * rng.random(runtime.shape)))


def doubled(estimate: np.ndarray) -> np.ndarray:
    """Return twice the user's own estimates, (n,) int64 seconds."""
    return _whole(2 * _seconds("estimate", estimate))


def phi(
    runtime: np.ndarray, rng: np.random.Generator, exact_share: float, cap: int = 24 * HOUR
) -> np.ndarray:
    """Draw estimates of which the runtime is a uniform fraction, (n,) int64 seconds, rounded.

    The phi-model of Zhang, Franke, Moreira and Sivasubramaniam, as told in Tsafrir, Etsion and
    Feitelson's survey: a fraction `exact_share` of the jobs is estimated exactly, the others' r/e
    is uniform; estimates are cut at `cap` seconds, though not below the runtime. Raises
    WorkloadError when exact_share is not in 0 .. 1.
    """
    if not 0 <= exact_share <= 1:
        raise WorkloadError(f"exact_share={exact_share}: a fraction from 0 to 1 is needed")
    runtime = _seconds("runtime", runtime)
    accuracy = 1 - rng.random(runtime.shape)  # never 0
    accuracy[rng.random(runtime.shape) < exact_share] = 1.0
    return _whole(np.minimum(runtime / accuracy, np.maximum(runtime, cap)))


def _seconds(name: str, values: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype.kind not in "iu" or np.any(values < 0):
        raise WorkloadError(f"{name} holds values that are not whole seconds from 0 up")
    return values.astype(np.int64)


def _factor(factor: float) -> float:
    if not 1 <= factor <= 1e6:  # so that no estimate overflows
        raise WorkloadError(f"factor={factor}: a number from 1 to a million is needed")
    return factor


def _whole(estimate: np.ndarray) -> np.ndarray:
    return np.maximum(1, np.rint(estimate).astype(np.int64))
