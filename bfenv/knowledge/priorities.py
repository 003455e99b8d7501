"""Orders of the waiting queue: the priority functions of the literature, as one table.

Lower scores come first, ties are broken by job index. In the formulas w is the time waited, e the
estimate (or the prediction in its place), n the size, s the submit time, u a random number.

SJF means the job with the shortest *estimate* first, as in Zotkin, Keleher and Perkovic 2000 and in
the learning literature. Shmueli 2003 calls that SPT; its SJF and LJF, the smallest and the largest
*size* first, are sqf and lqf here.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from bfenv.core.arguments import check_choice, check_number
from bfenv.core.cluster import now, started, waiting
from bfenv.core.durations import DAY
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import inlined, kernel


@kernel
def sort_by_merging(score, line, count):
    """Sort the first `count` jobs by score, and those of equal score by index.

    * `score`: (m,) float64, not NaN; score of the job at the same position of the line. Is sorted,
      too.
    * `line`: (m,) int64 jobs. What is behind the first `count` jobs, as many again at least, is
      lost.
    * `count`: number of jobs.
    """
    width, source, target = 1, 0, count
    while width < count:
        for first in range(0, count, 2 * width):
            middle, end = min(first + width, count), min(first + 2 * width, count)
            _merge(score, line, source + first, source + middle, source + end, target + first)
        source, target = target, source
        width *= 2
    if source > 0:
        for i in range(count):
            score[i], line[i] = score[source + i], line[source + i]


@kernel
def _merge(score, line, first, middle, end, target):
    """Merge two sorted parts, from `first` up to `middle` and from there up to `end`."""
    i, j = first, middle
    for k in range(target, target + end - first):
        from_second = j < end and (
            i == middle or score[j] < score[i] or (score[j] == score[i] and line[j] < line[i])
        )
        if from_second:
            score[k], line[k] = score[j], line[j]
            j += 1
        else:
            score[k], line[k] = score[i], line[i]
            i += 1


FAR = 64  # places that a job is moved on average before the line is sorted by merging


class Order(NamedTuple):
    """One way to sort the waiting jobs."""

    name: str
    code: int  # its branch in `formula`
    meaning: str  # which job comes first, for tables
    formula: str
    source: str
    dynamic: bool = False  # the order of two waiting jobs may change as time passes
    stochastic: bool = False  # each job draws a random number u from [0, 1)
    weight: float = 0.0  # default weight of a second's delay, 1/s; 0 for an order without


FCFS, LCFS, SJF, LPT, SQF, LQF, SAF, LAF, SRF, LRF, LXF, LXF_WIDTH, SXF = range(13)
WFP3, UNICEF, F1, F2, F3, F4, RANDOM, RANDOM_SJF, AGED_SJF, AGED_RANDOM, EXPRESSION = range(13, 24)

_SHMUELI = "Shmueli 2003, chapter 2"
_LELONG = "Lelong, Reis and Trystram 2017"
_CHIANG = "Chiang and Vernon 2001"
_TANG = "Tang, Lan, Desai and Buettner 2009"
_CARASTAN = "Carastan-Santos and de Camargo 2017"
_ZOTKIN = "Zotkin, Keleher and Perkovic 2000, section "

ORDERS: Mapping[str, Order] = MappingProxyType(
    {
        order.name: order
        for order in (
            Order("fcfs", FCFS, "first come", "s", _SHMUELI),
            Order("lcfs", LCFS, "last come", "-s", _LELONG),
            Order("sjf", SJF, "shortest estimate", "e", _ZOTKIN + "5"),
            Order("lpt", LPT, "longest estimate", "-e", _SHMUELI),
            Order("sqf", SQF, "smallest size", "n", _SHMUELI),
            Order("lqf", LQF, "largest size", "-n", _SHMUELI),
            Order("saf", SAF, "smallest area (size times estimate)", "e n", _SHMUELI),
            Order("laf", LAF, "largest cumulative demand", "-e n", _LELONG),
            Order("srf", SRF, "smallest estimate / size", "e / n", _LELONG),
            Order("lrf", LRF, "largest estimate / size", "-e / n", _LELONG),
            Order("lxf", LXF, "largest slowdown so far", "-(w + e) / e", _CHIANG, True),
            Order(
                "lxf-width",
                LXF_WIDTH,
                "largest slowdown so far / size",
                "-(w + e) / (e n)",
                _ZOTKIN + "5.1, equation (2)",
                True,
            ),
            Order("sxf", SXF, "smallest slowdown so far", "(w + e) / e", _LELONG, True),
            Order("wfp3", WFP3, "largest (wait / estimate)^3 x size", "-(w / e)^3 n", _TANG, True),
            Order(
                "unicef",
                UNICEF,
                "largest wait / (log2 size x estimate)",
                "-w / (max(log2 n, 1e-20) e)",
                _TANG,
                True,
            ),
            Order("f1", F1, "smallest F1", "log10(e) n + 870 log10 max(s, 1)", _CARASTAN),
            Order("f2", F2, "smallest F2", "sqrt(e) n + 25600 log10 max(s, 1)", _CARASTAN),
            Order("f3", F3, "smallest F3", "e n + 6860000 log10 max(s, 1)", _CARASTAN),
            Order("f4", F4, "smallest F4", "e sqrt(n) + 530000 log10 max(s, 1)", _CARASTAN),
            Order("random", RANDOM, "smallest random number", "u", _ZOTKIN + "6", stochastic=True),
            Order(
                "random-sjf",
                RANDOM_SJF,
                "largest random number / estimate",
                "-u / e",
                _ZOTKIN + "6",
                stochastic=True,
            ),
            Order(
                "aged-sjf",
                AGED_SJF,
                "largest 1 / estimate + weighted delay",
                "-(1 / e + weight w)",
                _ZOTKIN + "8",
                weight=1 / (60 * DAY),  # after a day no new job of a minute or more overtakes
            ),
            Order(
                "aged-random",
                AGED_RANDOM,
                "largest random number + weighted delay",
                "-(u + weight w)",
                _ZOTKIN + "8",
                stochastic=True,
                weight=1 / DAY,  # after a day no new job overtakes
            ),
        )
    }
)


def find_order(name: str) -> Order:
    """Return the order of that name.

    Raises PolicyError if there is none.
    """
    check_choice("order", name, ORDERS, error=PolicyError)
    return ORDERS[name]


def check_weight(weight: float | None, *orders: Order, positive: bool = False) -> None:
    """Check the weight of a second's delay, in 1/s, for these orders; None is the orders' own.

    Raises PolicyError if no order has a weight, or this one is not a finite number >= 0 (> 0 with
    `positive`).
    """
    if weight is None:
        return
    if not any(order.weight for order in orders):
        names = " and ".join(dict.fromkeys(order.name for order in orders))
        raise PolicyError(f"weight is an option of the aged orders, not of {names}")
    check_number("weight", weight, 0, positive=positive, error=PolicyError)


class Ranking(NamedTuple):
    """The waiting jobs in order, kept from pass to pass because little changes between two."""

    line: np.ndarray  # (2n,) int64 jobs, in order after `rank`; the rest is room to sort in
    score: np.ndarray  # (2n,) float64 of the job at the same position of the line
    listed: np.ndarray  # (n,) bool: the job is in the line
    length: np.ndarray  # (1,) int64 jobs in the line
    duration: np.ndarray  # (n,) int64 seconds: predictions in place of the estimates; or (0,)
    number: np.ndarray  # (n,) float64: u of a stochastic order, an expression's value; else (0,)
    deadline: np.ndarray  # (n,) int64 seconds: jobs past it come before all others; or (0,)
    age_limit: np.ndarray  # (1,) float64 seconds: jobs that waited longer come before all others
    code: np.ndarray  # (1,) int64, of the Order
    dynamic: np.ndarray  # (1,) bool, of the Order
    weight: np.ndarray  # (1,) float64, 1/s


def new_ranking(
    order: Order, jobs: Jobs, generator: np.random.Generator, weight: float | None = None
) -> Ranking:
    """Return an empty ranking; `weight` is for the aged orders, None for the order's own.

    If you replace `duration` or `deadline`, write them before the job is first ranked. With
    deadlines or an age limit the order depends on the clock: replace `dynamic` as well.
    """
    count = len(jobs.submit)
    draws = order.stochastic and order.code != EXPRESSION
    number = generator.random(count if draws else 0)
    if order.code == EXPRESSION:
        number = np.full(count, np.nan)  # not scored yet
    return Ranking(
        line=np.empty(2 * count, dtype=np.int64),
        score=np.empty(2 * count, dtype=np.float64),
        listed=np.zeros(count, dtype=np.bool_),
        length=np.zeros(1, dtype=np.int64),
        duration=np.empty(0, dtype=np.int64),
        number=number,
        deadline=np.empty(0, dtype=np.int64),
        age_limit=np.full(1, np.inf),
        code=np.array([order.code]),
        dynamic=np.array([order.dynamic]),
        weight=np.array([order.weight if weight is None else weight], dtype=np.float64),
    )


@kernel
def score(ranking, jobs, job, time):
    """Return the score of a waiting job at `time`, in seconds; the lower, the sooner.

    A deadline that has passed counts before the formula: the result is exact, and below any other.
    So does the submit time of a job that is past the age limit.
    """
    if len(ranking.deadline) > 0 and ranking.deadline[job] <= time:
        return (ranking.deadline[job] - 2.0**52) * 2.0**900
    submit = jobs.submit[job]
    if time - submit > ranking.age_limit[0]:
        return (submit - 2.0**52) * 2.0**900
    number = ranking.number[job] if len(ranking.number) > 0 else 0.0
    return formula(
        ranking.code[0],
        time - submit,
        durations(ranking, jobs)[job],
        jobs.size[job],
        submit,
        number,
        ranking.weight[0],
    )


@inlined
def durations(ranking, jobs):
    """Return how long (s) each job is expected to run: its prediction, or its estimate."""
    return ranking.duration if len(ranking.duration) > 0 else jobs.estimate


@kernel
def formula(code, w, e, n, s, number, weight):
    """Return the value of a formula of ORDERS; `number` is u, or an expression's value.

    Choices where the sources are silent: F1 to F4 take s = 0 for 1, and s counts from time 0 of
    the trace; serial jobs, whose log2 n is 0, come first in UNICEF. Zotkin et al. do not say which
    end of u / e comes first: here the larger, so that short jobs tend to, and as in their aged
    criteria, which grow with the delay and so must be served largest first. In those, weight x now
    is the same for all jobs and left out. Nor do they say which end of slowdown / width comes
    first: here the largest, as in LXF, to which their metric adds the width.
    """
    if code == FCFS:
        return float(s)
    if code == LCFS:
        return -float(s)
    if code == SJF:
        return float(e)
    if code == LPT:
        return -float(e)
    if code == SQF:
        return float(n)
    if code == LQF:
        return -float(n)
    if code == SAF:
        return float(e) * n
    if code == LAF:
        return -float(e) * n
    if code == SRF:
        return e / n
    if code == LRF:
        return -(e / n)
    if code == LXF:
        return -((w + e) / e)
    if code == SXF:
        return (w + e) / e
    if code == LXF_WIDTH:
        return -((w + e) / (float(e) * n))
    if code == WFP3:
        stretch = w / e
        return -(stretch * stretch * stretch * n)
    if code == UNICEF:
        return -(w / (max(math.log2(n), 1e-20) * e))
    if code == F1:
        return math.log10(e) * n + 8.70e2 * math.log10(max(s, 1))
    if code == F2:
        return math.sqrt(e) * n + 2.56e4 * math.log10(max(s, 1))
    if code == F3:
        return float(e) * n + 6.86e6 * math.log10(max(s, 1))
    if code == F4:
        return e * math.sqrt(n) + 5.30e5 * math.log10(max(s, 1))
    if code == RANDOM or code == EXPRESSION:
        return number
    if code == RANDOM_SJF:
        return -(number / e)
    if code == AGED_SJF:
        return (weight * s * e - 1) / e  # jobs of equal value stay equal if the weight is 2**k
    return weight * s - number  # AGED_RANDOM


@kernel
def rank(ranking, cluster, jobs):
    """Bring the waiting jobs that have not started into order; they are line[:result].

    Jobs that are gone leave the line, new ones are found from the end of the queue and inserted.
    Only an order that depends on the clock scores the others again; as the line was in order a
    pass ago, insertion finds nearly all of them in place. After new random numbers it does not, nor
    if thousands of jobs are new: when the jobs have moved too far, the line is sorted as a whole.
    """
    time = now(cluster)
    queue = waiting(cluster)
    left = len(queue) - len(started(cluster))
    limit = left * FAR
    if ranking.dynamic[0]:
        count, moved = _score_again(ranking, cluster, jobs, time, limit)
    else:
        count, moved = _drop_started(ranking, cluster), 0
    missing = left - count
    i = len(queue)
    while missing > 0:
        i -= 1
        job = queue[i]
        if cluster.start[job] < 0 and not ranking.listed[job]:
            ranking.listed[job] = True
            value = score(ranking, jobs, job, time)
            moved += _insert(ranking, count, job, value, moved <= limit)
            count += 1
            missing -= 1
    if moved > limit:
        sort_by_merging(ranking.score, ranking.line, count)
    ranking.length[0] = count
    return count


@kernel
def _score_again(ranking, cluster, jobs, time, limit):
    """Drop started jobs from the line and score the others again.

    Sort them by the new scores unless that moves them by more than `limit` places; return their
    number and how far they were moved.
    """
    count, moved = 0, 0
    for i in range(ranking.length[0]):
        job = ranking.line[i]
        if cluster.start[job] >= 0:
            ranking.listed[job] = False
        else:
            value = score(ranking, jobs, job, time)
            moved += _insert(ranking, count, job, value, moved <= limit)
            count += 1
    return count, moved


@kernel
def _drop_started(ranking, cluster):
    """Drop started jobs from the line, without new scores; return the number of the others."""
    line, score_of = ranking.line, ranking.score
    count = 0
    for i in range(ranking.length[0]):
        job = line[i]
        if cluster.start[job] >= 0:
            ranking.listed[job] = False
        else:
            line[count] = job
            score_of[count] = score_of[i]
            count += 1
    return count


@kernel
def _insert(ranking, count, job, value, in_order):
    """Put a job into the line, behind its first `count` jobs or, with `in_order`, among them.

    Return how many of them moved.
    """
    i, first = count, 0 if in_order else count
    while i > first and (
        ranking.score[i - 1] > value
        or (ranking.score[i - 1] == value and ranking.line[i - 1] > job)
    ):
        ranking.score[i] = ranking.score[i - 1]
        ranking.line[i] = ranking.line[i - 1]
        i -= 1
    ranking.score[i] = value
    ranking.line[i] = job
    return count - i
