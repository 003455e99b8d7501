"""Smaller requests with which a job would start sooner."""

from typing import NamedTuple

import numpy as np

from bfenv.core.durations import MINUTE, format_duration
from bfenv.core.jobs import ESTIMATE, SIZE, USER, Jobs
from bfenv.core.text import counted
from bfenv.knowledge.runtime_sampler import sample_runtimes
from bfenv_site.forecasts.forecaster import Forecaster

PARTS = 2, 4, 8  # a limit or a size is tried divided by these
ENOUGH = 0.9  # share of such jobs that must end within a limit that is advised
SAMPLES = 500  # runtimes
GAIN = 0.8  # of the median wait: what is advised is no longer than this
MOST = 5  # lines


class Advice(NamedTuple):
    """Another request, and the median waits with and without it."""

    size: int  # processors
    limit: int  # seconds
    wait: float  # seconds
    before: float  # seconds

    def __str__(self) -> str:
        request = f"{counted(self.size, 'processor')} and a limit of {format_duration(self.limit)}"
        waits = f"{format_duration(self.wait)} instead of {format_duration(self.before)}"
        return f"with {request}: {waits}"


def advise(
    forecaster: Forecaster, size: int = 0, limit: int = 0, user: int = -1, *, job: int | None = None
) -> list[Advice]:
    """Try smaller requests for a job that is submitted now, or for one that waits.

    A shorter limit is tried if ENOUGH of the user's jobs would end within it, as far as is known;
    fewer processors with a limit that is longer by as much. Of these, a request is advised if its
    median wait is shorter, and the job ends sooner.

    Args:
        forecaster: Of `bfenv_site.forecasts.forecast.forecaster_at`.
        size, limit, user: As of `bfenv_site.forecast_starts`.
        job: The number of a waiting job, whose request counts instead.

    Returns:
        At most MOST, the shortest wait first.
    """
    knowledge = forecaster.knowledge
    if job is not None:
        size, limit, user = knowledge.requests[[SIZE, ESTIMATE, USER], job].tolist()
    longest = int(knowledge.requests[ESTIMATE].max())

    def median(size: int, limit: int) -> float:
        if job is None:
            return float(forecaster.new(size, limit, user).median[0])
        return float(forecaster.changed(job, size, limit).median[0])

    request = Jobs(*np.array([[knowledge.time], [size], [limit], [user], [0], [0], [1]]))
    none = np.zeros(1, dtype=np.int64)
    generator = np.random.default_rng((forecaster.seed, 1))
    runtime = sample_runtimes(knowledge.history, request, none, none, generator, SAMPLES)
    typical, enough = np.median(runtime), np.quantile(runtime, ENOUGH)
    tried = {(size, limit // part) for part in PARTS if limit // part >= max(enough, MINUTE)}
    tried |= {(size // part, limit * part) for part in PARTS if size % part == 0}
    before = median(size, limit)
    suggestions = []
    for shape in sorted(tried):
        if shape[1] > longest:
            continue
        wait = median(*shape)
        is_sooner = wait + typical * size / shape[0] <= before + typical
        if wait <= GAIN * before and before - wait >= MINUTE and is_sooner:
            suggestions.append(Advice(*shape, wait, before))
    return sorted(suggestions, key=lambda advice: (advice.wait, -advice.size, -advice.limit))[:MOST]
