"""A forecast of starts: for each job, equally likely waits from now on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class StartForecast:
    """When jobs will start: for each of a jobs, F equally likely waits from now on.

    A wait is infinite where the job never starts, as under a policy that starves it.
    """

    time: int  # now, in seconds since the log began
    policy: str  # its name
    job: tuple[str, ...]  # (a,) names
    size: np.ndarray  # (a,) int64 processors
    limit: np.ndarray  # (a,) int64 seconds
    waited: np.ndarray  # (a,) int64 seconds, up to now
    samples: np.ndarray  # (a, F) float64 seconds from now, ascending
    uncorrected: np.ndarray  # (a, F) float64 the same, as the futures say
    plan: np.ndarray  # (a,) float64 seconds from now, by limits alone: what `squeue --start` says
    past: int  # earlier forecasts behind the correction; 0 for none
    notes: tuple[str, ...] = ()  # what to know about the numbers

    def quantile(self, level: ArrayLike) -> np.ndarray:
        """Return the wait below which this share of the futures lies.

        Args:
            level: From 0 to 1; a number, or (l,) numbers.

        Returns:
            (a,) seconds from now, or (a, l).
        """
        levels = np.asarray(level, dtype=np.float64)
        quantiles: np.ndarray = np.quantile(self.samples, levels, axis=1, method="inverted_cdf")
        return np.moveaxis(quantiles, 0, -1) if levels.ndim else quantiles

    def interval(self, share: float = 0.8) -> np.ndarray:
        """Return the central interval that holds a share of the futures.

        Args:
            share: From 0 to 1.

        Returns:
            (a, 2) seconds from now.
        """
        return self.quantile([(1 - share) / 2, (1 + share) / 2])

    def probability(self, within: float) -> np.ndarray:
        """Return the chance of a start soon.

        Args:
            within: Seconds from now.

        Returns:
            (a,) from 0 to 1.
        """
        chances: np.ndarray = (self.samples <= within).mean(axis=1)
        return chances

    @property
    def median(self) -> np.ndarray:
        """The median wait, (a,) seconds from now."""
        return self.quantile(0.5)
