"""Orders of the waiting queue: the priority functions of the literature, as one table.

Lower scores come first, ties are broken by job index. In the formulas w is the time waited, e the
estimate (or the prediction in its place), n the size, s the submit time, u a random number.

A clash of names: SJF is here the job with the shortest *estimate* first, as in Zotkin, Keleher
and Perkovic 2000 and in the learning literature. Shmueli 2003 calls that SPT, and means the
smallest and largest *size* first by SJF and LJF, which here are sqf and lqf.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import now, started, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel


class Order(NamedTuple):
    """One way to sort the waiting jobs."""

    name: str
    code: int  # its branch in `score`
    meaning: str  # who comes first, for tables
    formula: str
    source: str
    dynamic: bool = False  # the order of two waiting jobs may change as the clock goes on
    stochastic: bool = False  # each job draws a random number u from [0, 1)
    weight: float = 0.0  # default weight of a second's delay, 1/s


FCFS, LCFS, SJF, LPT, SQF, LQF, SAF, LAF, SRF, LRF, LXF, SXF = range(12)
WFP3, UNICEF, F1, F2, F3, F4, RANDOM, RANDOM_SJF, AGED_SJF, AGED_RANDOM = range(12, 22)

DAY = 86400  # seconds
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
            Order("saf", SAF, "smallest cumulative demand", "e n", _SHMUELI),
            Order("laf", LAF, "largest cumulative demand", "-e n", _LELONG),
            Order("srf", SRF, "smallest estimate / size", "e / n", _LELONG),
            Order("lrf", LRF, "largest estimate / size", "-e / n", _LELONG),
            Order("lxf", LXF, "largest slowdown so far", "-(w + e) / e", _CHIANG, True),
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


def find_order(name: str, option: str = "order") -> Order:
    """The order of that name; PolicyError, naming the option, if there is none."""
    if name not in ORDERS:
        raise PolicyError(f"{option} is one of {', '.join(ORDERS)}, not {name!r}")
    return ORDERS[name]


class Ranking(NamedTuple):
    """The waiting jobs in order, kept from pass to pass because little changes between two."""

    line: np.ndarray  # (n,) int64 jobs, in order after `rank`
    score: np.ndarray  # (n,) float64 of the job at the same place of the line
    listed: np.ndarray  # (n,) bool: the job is in the line
    count: np.ndarray  # (1,) int64 jobs in the line
    duration: np.ndarray  # (n,) int64 seconds: estimates, or predictions in their place
    number: np.ndarray  # (n,) float64: u of a stochastic order, log2 n for unicef; else (0,)
    deadline: np.ndarray  # (n,) int64 seconds: jobs past it come before all others; or (0,)
    code: np.ndarray  # (1,) int64, of the Order
    dynamic: np.ndarray  # (1,) bool, of the Order
    weight: np.ndarray  # (1,) float64, 1/s


def new_ranking(
    order: str, jobs: Jobs, generator: np.random.Generator, weight: float | None = None
) -> Ranking:
    """An empty ranking. `weight` is for the aged orders; None is the order's own.

    Who replaces `duration` or `deadline` must write them before the job is first ranked. With
    deadlines the order depends on the clock: replace `dynamic` as well.
    """
    chosen = find_order(order)
    count = len(jobs.submit)
    number = generator.random(count if chosen.stochastic else 0)
    if chosen.code == UNICEF:
        sizes = range(1, int(jobs.size.max()) + 1)
        number = np.array([math.log2(size) for size in sizes])[jobs.size - 1]
    return Ranking(
        line=np.empty(count, dtype=np.int64),
        score=np.empty(count, dtype=np.float64),
        listed=np.zeros(count, dtype=np.bool_),
        count=np.zeros(1, dtype=np.int64),
        duration=jobs.estimate.copy(),
        number=number,
        deadline=np.empty(0, dtype=np.int64),
        code=np.array([chosen.code]),
        dynamic=np.array([chosen.dynamic]),
        weight=np.array([chosen.weight if weight is None else weight], dtype=np.float64),
    )


@kernel
def score(ranking, jobs, job, time):
    """What ORDERS says of a waiting job at `time`, in seconds; the lower, the sooner.

    Choices where the sources are silent: F1 to F4 take s = 0 for 1, and s counts from time 0 of
    the trace; serial jobs, whose log2 n is 0, come first in UNICEF. Zotkin et al. do not say which
    end of u / e comes first: here the larger, so that short jobs tend to, and as in their aged
    criteria, which grow with the delay and so must be served largest first. In those, weight x now
    is the same for all jobs and left out.
    """
    if len(ranking.deadline) > 0 and ranking.deadline[job] <= time:
        return (ranking.deadline[job] - 2.0**52) * 2.0**900  # exact, and below any other score
    code = ranking.code[0]
    submit, size, estimate = jobs.submit[job], jobs.size[job], ranking.duration[job]
    waited = time - submit
    if code == FCFS:
        return float(submit)
    if code == LCFS:
        return -float(submit)
    if code == SJF:
        return float(estimate)
    if code == LPT:
        return -float(estimate)
    if code == SQF:
        return float(size)
    if code == LQF:
        return -float(size)
    if code == SAF:
        return float(estimate) * size
    if code == LAF:
        return -float(estimate) * size
    if code == SRF:
        return estimate / size
    if code == LRF:
        return -(estimate / size)
    if code == LXF:
        return -((waited + estimate) / estimate)
    if code == SXF:
        return (waited + estimate) / estimate
    if code == WFP3:
        stretch = waited / estimate
        return -(stretch * stretch * stretch * size)
    if code == UNICEF:
        return -(waited / (max(ranking.number[job], 1e-20) * estimate))
    if code == F1:
        return math.log10(estimate) * size + 8.70e2 * math.log10(max(submit, 1))
    if code == F2:
        return math.sqrt(estimate) * size + 2.56e4 * math.log10(max(submit, 1))
    if code == F3:
        return float(estimate) * size + 6.86e6 * math.log10(max(submit, 1))
    if code == F4:
        return estimate * math.sqrt(size) + 5.30e5 * math.log10(max(submit, 1))
    if code == RANDOM:
        return ranking.number[job]
    if code == RANDOM_SJF:
        return -(ranking.number[job] / estimate)
    if code == AGED_SJF:
        return ranking.weight[0] * submit - 1 / estimate
    return ranking.weight[0] * submit - ranking.number[job]  # AGED_RANDOM


@kernel
def rank(ranking, cluster, jobs):
    """Bring the waiting jobs that have not started into order; they are line[:result].

    Jobs that are gone leave the line, new ones are found from the end of the queue and inserted.
    Only an order that depends on the clock scores the others again; as the line was in order a
    pass ago, insertion finds nearly all of them in place.
    """
    line = ranking.line
    time = now(cluster)
    queue = waiting(cluster)
    count = 0
    for place in range(ranking.count[0]):
        job = line[place]
        if cluster.start[job] >= 0:
            ranking.listed[job] = False
        elif ranking.dynamic[0]:
            _insert(ranking, count, job, score(ranking, jobs, job, time))
            count += 1
        else:
            line[count] = job
            ranking.score[count] = ranking.score[place]
            count += 1
    missing = len(queue) - len(started(cluster)) - count
    place = len(queue)
    while missing > 0:
        place -= 1
        job = queue[place]
        if cluster.start[job] < 0 and not ranking.listed[job]:
            ranking.listed[job] = True
            _insert(ranking, count, job, score(ranking, jobs, job, time))
            count += 1
            missing -= 1
    ranking.count[0] = count
    return count


@kernel
def _insert(ranking, count, job, value):
    """Put a job into the line, the first `count` places of which are in order."""
    place = count
    while place > 0 and (
        ranking.score[place - 1] > value
        or (ranking.score[place - 1] == value and ranking.line[place - 1] > job)
    ):
        ranking.score[place] = ranking.score[place - 1]
        ranking.line[place] = ranking.line[place - 1]
        place -= 1
    ranking.score[place] = value
    ranking.line[place] = job
