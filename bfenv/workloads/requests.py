"""What users ask for, changed: estimates, priorities, requested start times.

What is random comes from a `seed`, for each function a stream of its own: of one seed, the jobs
of high priority are not those with a requested start time.
"""

import inspect
import math
import operator
from dataclasses import replace
from numbers import Integral, Real

import numpy as np

from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.models import estimates as models

DAY = 86_400  # seconds
LATEST = 2**53  # seconds; beyond it a float no longer counts seconds


def with_estimates(trace: Trace, model: str, *, seed: int = 0, **parameters: float) -> Trace:
    """The trace with other estimates, never below the runtimes.

    | model | estimate | parameters |
    |---|---|---|
    | user | as it is in the trace | |
    | exact | the runtime | |
    | deterministic | factor times the runtime | factor |
    | uniform-zotkin | uniform from the runtime to 2 * factor times it | factor |
    | uniform-tsafrir | uniform from the runtime to factor times it | factor |
    | doubled | twice that in the trace | |
    | phi | of a share of jobs exact, of the others such that r/e is uniform | exact_share |
    | tsafrir | popular round values | emax, emax_share |

    See `bfenv.workloads.models.estimates` for what they are and who proposed them. Those of
    `tsafrir` are at most `emax` seconds, to which runtimes are cut (`cleaning.clipped` counts
    them); by default it is the longest estimate in the trace, or 18 hours if that is more.

    Raises UnknownNameError for another model, WorkloadError for a parameter that the model does not
    have or lacks, or whose value is out of range.
    """
    if model not in MODELS:
        raise UnknownNameError("model of estimates", model, MODELS)
    _check_parameters(trace, model, parameters)
    estimate, runtime = MODELS[model](trace, generator("estimates", seed), **parameters)
    told = "".join(f"-{value:.9g}" for value in parameters.values())
    cut = int(np.count_nonzero(runtime < trace.runtime))
    return replace(
        trace,
        jobs=trace.jobs._replace(estimate=estimate),
        runtime=runtime,
        cleaning=replace(trace.cleaning, clipped=trace.cleaning.clipped + cut),
        name=trace.name if model == "user" else f"{trace.name}+{model}{told}",
    )


def with_priorities(trace: Trace, share_high: float, *, seed: int) -> Trace:
    """The trace with priority 1 for a share of the jobs, drawn at random, and 0 for the others.

    Lawson and Smirni (2002), section 3.3, take shares of 0.75 and 0.95. The number of jobs is
    the share, rounded, whatever the seed.

    Raises WorkloadError unless the share is from 0 to 1.
    """
    priority = np.zeros(len(trace), dtype=np.int64)
    priority[_some(trace, "high", share_high, generator("high", seed))] = 1
    return replace(
        trace,
        jobs=trace.jobs._replace(priority=priority),
        name=f"{trace.name}+high-{share_high:g}",
    )


def with_requested_starts(trace: Trace, share: float, *, seed: int, ahead: int = DAY) -> Trace:
    """The trace with requested start times for a share of the jobs, and none for the others.

    Lawson and Smirni (2002), section 3.4, take shares of 0.01, 0.05 and 0.25 and do not say which
    times are requested. Here they are uniform, 1 to `ahead` seconds after the job is submitted, by
    default within a day; the jobs are drawn at random. The number of jobs is the share, rounded,
    whatever the seed.

    Raises WorkloadError unless the share is from 0 to 1 and `ahead` at least a second.
    """
    if not (isinstance(ahead, Integral) and 1 <= ahead < LATEST):
        raise WorkloadError(f"ahead is whole seconds from 1 up, not {ahead!r}")
    rng = generator("reserved", seed)
    chosen = _some(trace, "reserved", share, rng)
    requested = np.zeros(len(trace), dtype=np.int64)
    delay = rng.integers(1, ahead, len(chosen), endpoint=True)
    requested[chosen] = trace.jobs.submit[chosen] + delay
    return replace(
        trace,
        jobs=trace.jobs._replace(requested_start=requested),
        name=f"{trace.name}+reserved-{share:g}",
    )


def generator(purpose: str, seed: int) -> np.random.Generator:
    """One stream of random numbers per seed and purpose."""
    try:
        seed = operator.index(seed)
    except TypeError:
        raise WorkloadError(f"seed is a whole number, not {seed!r}") from None
    if seed < 0:
        raise WorkloadError(f"seed is not negative, got {seed}")
    return np.random.default_rng([seed, *purpose.encode()])


def _some(trace: Trace, name: str, share: float, rng: np.random.Generator) -> np.ndarray:
    """A share of the jobs, drawn at random: (k,) int64 ascending."""
    if not (isinstance(share, Real) and 0 <= share <= 1):
        raise WorkloadError(f"{name} is a share from 0 to 1, not {share!r}")
    count = math.floor(share * len(trace) + 0.5)
    return np.sort(rng.choice(len(trace), count, replace=False))


def _user(trace: Trace, rng: np.random.Generator):
    return trace.jobs.estimate, trace.runtime


def _exact(trace: Trace, rng: np.random.Generator):
    return models.exact(trace.runtime), trace.runtime


def _deterministic(trace: Trace, rng: np.random.Generator, factor: float):
    return models.deterministic(trace.runtime, factor), trace.runtime


def _uniform_zotkin(trace: Trace, rng: np.random.Generator, factor: float):
    return models.uniform(trace.runtime, rng, factor, "zotkin"), trace.runtime


def _uniform_tsafrir(trace: Trace, rng: np.random.Generator, factor: float):
    return models.uniform(trace.runtime, rng, factor, "tsafrir"), trace.runtime


def _doubled(trace: Trace, rng: np.random.Generator):
    return models.doubled(trace.jobs.estimate), trace.runtime


def _phi(trace: Trace, rng: np.random.Generator, exact_share: float):
    return models.phi(trace.runtime, rng, exact_share), trace.runtime


def _tsafrir(
    trace: Trace,
    rng: np.random.Generator,
    emax: int | None = None,
    emax_share: float | None = None,
):
    if emax is None:
        emax = max(int(trace.jobs.estimate.max()), models.USUAL_EMAX)
    if not (isinstance(emax, Integral) and emax < LATEST):
        raise WorkloadError(f"{trace.name}: emax is whole seconds, not {emax!r}")
    return models.tsafrir(trace.runtime, rng, emax=emax, emax_share=emax_share)


MODELS = {  # name: its estimates and runtimes, (n,) int64 seconds
    "user": _user,
    "exact": _exact,
    "deterministic": _deterministic,
    "uniform-zotkin": _uniform_zotkin,
    "uniform-tsafrir": _uniform_tsafrir,
    "doubled": _doubled,
    "phi": _phi,
    "tsafrir": _tsafrir,
}

RANDOM = {"uniform-zotkin", "uniform-tsafrir", "phi", "tsafrir"}  # of these


def _check_parameters(trace: Trace, model: str, given: dict[str, float]) -> None:
    known = list(inspect.signature(MODELS[model]).parameters.values())[2:]
    names = [parameter.name for parameter in known]
    for name, value in given.items():
        if name not in names:
            takes = ", ".join(names) or "no parameters"
            raise WorkloadError(f"{trace.name}: estimates={model} takes {takes}; got {name}")
        if not isinstance(value, Real):
            raise WorkloadError(f"{trace.name}: {name} is a number, not {value!r}")
    for parameter in known:
        if parameter.default is parameter.empty and parameter.name not in given:
            raise WorkloadError(f"{trace.name}: estimates={model} needs {parameter.name}")
