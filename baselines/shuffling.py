"""Rankings whose random numbers are drawn again at every sort.

Zotkin, Keleher and Perkovic 2000 do not say whether a job keeps its random number. The conservative
policies draw new ones for all waiting jobs whenever they sort the queue: that gives the numbers of
their Table 10, and one number per job does not (docs/reproductions/zotkin2000.md). EASY, for which
the paper has no random figures, keeps one number per job (`bfenv.baselines.easy_orders`): its
head would otherwise lose its reservation to the next number drawn.
"""

import numpy as np

from bfenv.core.cluster import waiting
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.knowledge.priorities import Order, Ranking, new_ranking, rank


def shuffled_ranking(
    order: Order, jobs: Jobs, generator: np.random.Generator, weight: float | None
) -> Ranking:
    """Return a ranking that scores all jobs again at each sort if the order is stochastic."""
    ranking = new_ranking(order, jobs, generator, weight)
    ranking.dynamic[0] |= order.stochastic
    return ranking


def new_stream(generator: np.random.Generator) -> np.ndarray:
    """Return (1,) int64: the state of a stream of random numbers."""
    return generator.integers(1, 2**31 - 1, size=1)


@kernel
def random_number(stream):
    """Return the next random number of 1 .. 2**31 - 2 (Park, Miller and Stockmeyer 1993)."""
    stream[0] = stream[0] * 48271 % (2**31 - 1)
    return stream[0]


@kernel
def sort(ranking, stream, cluster, jobs):
    """Rank the waiting jobs, by new random numbers if the order has them; return their number."""
    if len(ranking.number) > 0:
        for job in waiting(cluster):
            ranking.number[job] = random_number(stream) / 2**31
    return rank(ranking, cluster, jobs)
