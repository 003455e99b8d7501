"""Conservative backfilling without guarantees: planned anew at every pass.

Zotkin, Keleher and Perkovic 2000, section 8, Tables 10 and 11. The jobs are placed in the order of
the sorted queue, each at its anchor point beside the running jobs and those placed before; those
whose anchor point is now start. Every reservation is forgotten again, so a job may be put off by
any job that sorts before it: unless the order ages, jobs can starve.

Whether a job keeps its random number is not said. Here all are drawn anew whenever the queue is
sorted: on the CTC log with 430 processors this gives bounded slowdowns of 5.4 and 4.4 for the
random orders of Table 10, where 5.45 and 4.38 are printed, and numbers kept for life 7.4 and 6.3.
EASY, of which the paper has no random figures, keeps one number per job
(`bfenv.baselines.easy_variants`): its head would otherwise lose its reservation to the next number
drawn.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from bfenv.baselines.priorities import ORDERS, Ranking, new_ranking, rank
from bfenv.core.cluster import advance, free, now, start, waiting
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import Profile, new_profile, place, rebuild


class Scratch(NamedTuple):
    """Room for one pass's plan, and the order of the queue."""

    profile: Profile
    ranking: Ranking
    stream: np.ndarray  # (1,) int64 state of the random numbers, see `random_number`


def new_scratch(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator,
    order: str = "fcfs",
    weight: float | None = None,
) -> Scratch:
    """Room for all jobs."""
    count = len(jobs.submit)
    return Scratch(
        new_profile(min(count, processors), count),
        shuffled_ranking(order, jobs, generator, weight),
        new_stream(generator),
    )


def shuffled_ranking(
    order: str, jobs: Jobs, generator: np.random.Generator, weight: float | None
) -> Ranking:
    """A ranking that scores all jobs again at each sort if their random numbers change."""
    ranking = new_ranking(order, jobs, generator, weight)
    ranking.dynamic[0] |= ORDERS[order].stochastic
    return ranking


def new_stream(generator: np.random.Generator) -> np.ndarray:
    """(1,) int64: the state of a stream of random numbers."""
    return generator.integers(1, 2**31 - 1, size=1)


@kernel
def random_number(stream):
    """The next random number of 1 .. 2**31 - 2 (Park, Miller and Stockmeyer 1993)."""
    stream[0] = stream[0] * 48271 % (2**31 - 1)
    return stream[0]


@kernel
def sort(ranking, stream, cluster, jobs):
    """Rank the waiting jobs, by fresh random numbers if the order is random; return how many."""
    if len(ranking.number) > 0:
        for job in waiting(cluster):
            ranking.number[job] = random_number(stream) / 2**31
    return rank(ranking, cluster, jobs)


@kernel
def decide(cluster, jobs, memory):
    """Place the jobs in order and start those that can start now; stop when all is in use."""
    profile, line = memory.profile, memory.ranking.line
    count = sort(memory.ranking, memory.stream, cluster, jobs)
    rebuild(profile, cluster, jobs)
    for job in line[:count]:
        if free(cluster) == 0:
            break
        size, duration = jobs.size[job], jobs.estimate[job]
        earliest = max(now(cluster), jobs.requested_start[job])
        if place(profile, size, duration, earliest) == now(cluster):
            start(cluster, jobs, job)


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def policy(name: str, order: str, weight: float | None = None, **about: str) -> Policy:
    """A Policy of that name and order; `weight` (1/s) is for the aged orders."""
    return Policy(
        name=name,
        decide=decide,
        run=run,
        memory=partial(new_scratch, order=order, weight=weight),
        stochastic=ORDERS[order].stochastic,
        stateful=ORDERS[order].stochastic,  # each pass uses up random numbers
        requested_starts=True,
        **about,
    )


_SECTION = "Zotkin, Keleher and Perkovic 2000, section 8"

CONSERVATIVE_REPLAN = policy(
    "conservative-replan",
    "fcfs",
    summary="plans all jobs anew at every pass, in order of arrival",
    source=_SECTION + ", Table 10 (FIFO-backfilling)",
)
CONSERVATIVE_REPLAN_SJF = policy(
    "conservative-replan-sjf",
    "sjf",
    summary="plans all jobs anew at every pass, the shortest first",
    source=_SECTION + ", Table 10 (shortest-first)",
)
CONSERVATIVE_REPLAN_RANDOM = policy(
    "conservative-replan-random",
    "random",
    summary="plans all jobs anew at every pass, in random order",
    source=_SECTION + ", Table 10 (randomized)",
)
CONSERVATIVE_REPLAN_RANDOM_SJF = policy(
    "conservative-replan-random-sjf",
    "random-sjf",
    summary="plans all jobs anew at every pass, in random order favouring short jobs",
    source=_SECTION + ", Table 10 (combination)",
)
CONSERVATIVE_REPLAN_AGED_SJF = policy(
    "conservative-replan-aged-sjf",
    "aged-sjf",
    summary="plans all jobs anew at every pass, by 1 / estimate + weight x delay",
    source=_SECTION + ", first criterion against starvation",
)
CONSERVATIVE_REPLAN_AGED_RANDOM = policy(
    "conservative-replan-aged-random",
    "aged-random",
    summary="plans all jobs anew at every pass, by random number + weight x delay",
    source=_SECTION + ", second criterion against starvation",
)
