"""Simple models of users' runtime estimates, most of them a multiple of the runtime.

They tell a scheduler far more about the order of the runtimes than real users do; see
`bfenv.workloads.models.modal_estimates` for a realistic model. Every estimate is at least the
runtime and at least 1 s.

All functions take runtimes as (n,) int seconds of at least 0, and return estimates as (n,) int64
seconds, rounded. `rng` is the source of all randomness. An argument that is out of range is a
WorkloadError.

References:
    D. Zotkin, P. J. Keleher and D. Perkovic, "Attacking the bottlenecks of backfilling schedulers",
    Cluster Computing 3(4), 245-254, 2000, doi:10.1023/A:1019088401217.

    D. Tsafrir, "Using inaccurate estimates accurately", Job Scheduling Strategies for Parallel
    Processing (JSSPP), 2010.
"""

import numpy as np

from bfenv.core.arguments import check_choice, check_number
from bfenv.core.durations import DAY
from bfenv.core.errors import WorkloadError

LARGEST_FACTOR = 10**6  # so that no estimate overflows
CONVENTIONS = ("zotkin", "tsafrir")


def deterministic(runtime: np.ndarray, factor: float) -> np.ndarray:
    """Return the runtimes times a factor.

    The deterministic method of Zotkin, Keleher and Perkovic (2000), section 4, where the factor is
    R, and the deterministic F-model of Tsafrir (2010), section 3.1. The factor is from 1 to a
    million.
    """
    return _rounded(check_seconds("runtime", runtime) * _check_factor(factor))


def uniform(
    runtime: np.ndarray, rng: np.random.Generator, factor: float, convention: str
) -> np.ndarray:
    """Draw estimates uniformly, from the runtime up; the factor is from 1 to a million.

    The convention "zotkin" draws up to 2 * factor * runtime, as Zotkin, Keleher and Perkovic
    (2000), section 4, whose R is the factor; estimates are inexact even if it is 1. "tsafrir" draws
    up to factor * runtime, as Tsafrir (2010), section 3.1; the F-model of Feitelson and Mu'alem,
    whose f is factor - 1.
    """
    check_choice("convention", convention, CONVENTIONS, error=WorkloadError)
    runtime = check_seconds("runtime", runtime)
    longest = _check_factor(factor) * (2 if convention == "zotkin" else 1)
    return _rounded(runtime * (1 + (longest - 1) * rng.random(runtime.shape)))


def swap_probability(shorter: np.ndarray, longer: np.ndarray, factor: float) -> np.ndarray:
    """Compute how likely the shorter of two jobs gets the longer estimate.

    Estimates are uniform from the runtime to `factor` times it, the convention "tsafrir". For two
    runtimes the probability grows with the factor, towards shorter / (2 * longer) (Tsafrir 2010,
    section 3.3), so the order that a scheduler sees gets worse. With the ratio x = longer /
    shorter, it is (factor - x)**2 / (2 x (factor - 1)**2) where factor > x, or else 0.

    * `shorter`, `longer`: (n,) int runtimes in seconds, shorter < longer.
    * `factor`: F, above 1, up to a million.

    Returns (n,) float64.
    """
    _check_factor(factor)
    if np.any(shorter >= longer) or factor == 1:
        raise WorkloadError("swap_probability needs shorter < longer, and a factor above 1")
    ratio = np.asarray(longer) / np.asarray(shorter)
    room = np.maximum(factor - ratio, 0.0)
    probability: np.ndarray = room**2 / (2 * ratio * (factor - 1) ** 2)
    return probability


def phi(
    runtime: np.ndarray, rng: np.random.Generator, exact_share: float, cap: int = DAY
) -> np.ndarray:
    """Draw estimates of which the runtime is a uniform fraction.

    The phi-model of Zhang, Franke, Moreira and Sivasubramaniam, as Tsafrir, Etsion and Feitelson
    (JSSPP 2005) describe it. `exact_share` of the jobs, from 0 to 1, are estimated exactly; of the
    others, runtime / estimate is uniform. `cap` is the longest estimate, in seconds; a longer
    runtime is estimated exactly.
    """
    check_number("exact_share", exact_share, 0, 1, error=WorkloadError)
    runtime = check_seconds("runtime", runtime)
    accuracy = 1 - rng.random(runtime.shape)  # never 0
    accuracy[rng.random(runtime.shape) < exact_share] = 1.0
    return _rounded(np.minimum(runtime / accuracy, np.maximum(runtime, cap)))


def check_seconds(name: str, values: np.ndarray) -> np.ndarray:
    """Return times as int64.

    Raises WorkloadError if a value is not an integer, or negative.
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        raise WorkloadError(f"{name} must be an array of integers, got {values.dtype}")
    if np.any(values < 0):
        raise WorkloadError(f"{name} must be >= 0 seconds, got {values.min()}")
    return values.astype(np.int64)


def _check_factor(factor: float) -> float:
    return check_number("factor", factor, 1, LARGEST_FACTOR, error=WorkloadError)


def _rounded(estimate: np.ndarray) -> np.ndarray:
    rounded: np.ndarray = np.maximum(1, np.rint(estimate).astype(np.int64))
    return rounded
