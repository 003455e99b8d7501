"""Changes of what users request: estimates, priorities, requested start times.

Each function draws from a random stream of its own. With one seed, the jobs of high priority are
therefore not those with a requested start time.

In all functions, `trace` (Trace) is not changed and the result is another trace. `seed` (int) seeds
the random draws.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bfenv.core.arguments import check_integer, check_number
from bfenv.core.durations import DAY
from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import Trace, check_trace
from bfenv.workloads.arguments import LARGEST_EXACT
from bfenv.workloads.models import modal_estimates
from bfenv.workloads.models import simple_estimates as simple

ROUNDING = 1e-9  # of a sum of shares


def with_estimates(trace: Trace, model: str, *, seed: int = 0, **parameters: float) -> Trace:
    """Replace the estimates of a trace.

    * "user": as in the trace, or factor times that: Zotkin, Keleher and Perkovic (2000), section 5,
      multiply users' estimates when jobs enter the system. Policies then plan with the longer
      estimates; jobs are still killed at what the user asked for, because their runtimes end there
    * "exact": the runtime
    * "deterministic": factor times the runtime
    * "uniform-zotkin": uniform from the runtime to 2 * factor times it
    * "uniform-tsafrir": uniform from the runtime to factor times it
    * "doubled": twice that in the trace
    * "phi": exact for a share of the jobs, exact_share; for others, runtime / estimate is uniform
    * "tsafrir": popular round values, with the parameters emax, emax_share, popular_values,
      popular_share and repeat_share

    `bfenv.workloads.models` describes the models and names their papers. No estimate is below the
    runtime. Modal estimates ("tsafrir") are at most `emax` seconds, by default the longest estimate
    in the trace, or 18 hours if that is longer; longer runtimes are cut to it and counted in
    `trace.cleaning.clipped`.

    Args:
        model: Name of the model.
        **parameters: Parameters of the model, see the table.

    Raises:
        UnknownNameError: If there is no such model.
        WorkloadError: If the model lacks a parameter, does not have it, or its value is out of
            range.

    Examples:
        >>> import bfenv
        >>> from bfenv.workloads import with_estimates
        >>> trace = bfenv.make_trace(submit=[0, 0], size=[1, 1], runtime=[60, 30], processors=4)
        >>> with_estimates(trace, "deterministic", factor=2).jobs.estimate
        array([120,  60])
    """
    check_trace(trace)
    if model not in MODELS:
        raise UnknownNameError("model of estimates", model, MODELS)
    _check_parameters(trace, model, parameters)
    estimate = MODELS[model](trace, generator("estimates", seed), **parameters)
    runtime = np.minimum(trace.runtime, estimate)
    values = "".join(f"-{value:.9g}" for value in parameters.values())
    clipped = int(np.count_nonzero(runtime < trace.runtime))
    return replace(
        trace,
        jobs=trace.jobs._replace(estimate=estimate),
        runtime=runtime,
        cleaning=replace(trace.cleaning, clipped=trace.cleaning.clipped + clipped),
        name=trace.name if model == "user" and not values else f"{trace.name}+{model}{values}",
    )


def with_priorities(
    trace: Trace, high_priority_share: float | tuple[float, ...], *, seed: int
) -> Trace:
    """Give a share of the jobs priority 1, and the others priority 0; or more levels.

    Lawson and Smirni (2002), section 3.3, use shares of 0.75 and 0.95.

    Args:
        high_priority_share: Share of the jobs, from 0 to 1; or several, of which the first is that
            of priority 1, the second that of priority 2, and so on, with a sum of at most 1. The
            number of jobs of a level is its share, rounded, with any seed.

    Raises:
        WorkloadError: If a share is not from 0 to 1, or their sum is more than 1.
    """
    check_trace(trace)
    shares = (
        high_priority_share if isinstance(high_priority_share, tuple) else [high_priority_share]
    )
    rng = generator("high", seed)
    priority = np.zeros(len(trace), dtype=np.int64)
    counts = [_count(trace, "high_priority_share", share) for share in shares]
    if not math.fsum(shares) <= 1 + ROUNDING:
        raise WorkloadError(f"high_priority_share must add up to at most 1, got {shares}")
    drawn = rng.choice(len(trace), min(sum(counts), len(trace)), replace=False)
    for level, jobs in enumerate(np.split(drawn, np.cumsum(counts)[:-1]), start=1):
        priority[jobs] = level
    return replace(
        trace,
        jobs=trace.jobs._replace(priority=priority),
        name=f"{trace.name}+high-{'-'.join(f'{share:g}' for share in shares)}",
    )


def with_restartable_jobs(trace: Trace, restartable_share: float, *, seed: int) -> Trace:
    """Let a share of the jobs be killed and run again, as after a trial, and the others not.

    Lawson and Smirni (2002), note 4: in real systems, users have to flag such jobs.

    Args:
        restartable_share: Share of the jobs, from 0 to 1. The number of jobs is the share, rounded,
            with any seed.

    Raises:
        WorkloadError: If the share is out of range.
    """
    check_trace(trace)
    count = _count(trace, "restartable_share", restartable_share)
    restartable = np.zeros(len(trace), dtype=np.int64)
    restartable[generator("restartable", seed).choice(len(trace), count, replace=False)] = 1
    return replace(
        trace,
        jobs=trace.jobs._replace(restartable=restartable),
        name=f"{trace.name}+restartable-{restartable_share:g}",
    )


def with_requested_starts(
    trace: Trace, requested_start_share: float, *, seed: int, max_advance: int = DAY
) -> Trace:
    """Give a share of the jobs requested start times, and the others none.

    Lawson and Smirni (2002), section 3.4, use shares of 0.01, 0.05 and 0.25, but do not state which
    times are requested. Here they are uniform, from 1 to `max_advance` seconds after submission.

    Args:
        requested_start_share: Share of the jobs, from 0 to 1. The number of jobs is the share,
            rounded, with any seed.
        max_advance: Longest time from submission to the requested start, in seconds, at least 1.

    Raises:
        WorkloadError: If an argument is out of range.
    """
    check_trace(trace)
    check_integer("max_advance", max_advance, 1, LARGEST_EXACT - 1, error=WorkloadError)
    rng = generator("reserved", seed)
    count = _count(trace, "requested_start_share", requested_start_share)
    chosen = np.sort(rng.choice(len(trace), count, replace=False))
    requested = np.zeros(len(trace), dtype=np.int64)
    delay = rng.integers(1, max_advance, len(chosen), endpoint=True)
    requested[chosen] = trace.jobs.submit[chosen] + delay
    return replace(
        trace,
        jobs=trace.jobs._replace(requested_start=requested),
        name=f"{trace.name}+reserved-{requested_start_share:g}",
    )


def generator(purpose: str, seed: int) -> np.random.Generator:
    """Make the random generator of a seed and a purpose.

    Raises WorkloadError if the seed is not an integer, or negative.
    """
    seed = check_integer("seed", seed, 0, error=WorkloadError)
    return np.random.default_rng([seed, *purpose.encode()])


def _count(trace: Trace, name: str, share: float) -> int:
    """Return how many jobs a share is."""
    check_number(name, share, 0, 1, error=WorkloadError)
    return math.floor(share * len(trace) + 0.5)


def _tsafrir(
    trace: Trace,
    rng: np.random.Generator,
    emax: int | None = None,
    emax_share: float | None = None,
    popular_values: int = modal_estimates.HEAD,
    popular_share: float = modal_estimates.HEAD_PERCENT / 100,
    repeat_share: float = 0.0,
) -> np.ndarray:
    if emax is None:
        emax = max(int(trace.jobs.estimate.max()), modal_estimates.USUAL_EMAX)
    return modal_estimates.tsafrir(
        trace.runtime,
        rng,
        emax=emax,
        emax_share=emax_share,
        popular_values=popular_values,
        popular_share=popular_share,
        repeat_share=repeat_share,
        user=trace.jobs.user,
    )


MODELS: dict[str, Callable[..., np.ndarray]] = {  # of estimates, (n,) int64 seconds
    "user": lambda trace, rng, factor=1: simple.deterministic(trace.jobs.estimate, factor),
    "exact": lambda trace, rng: trace.runtime,
    "deterministic": lambda trace, rng, factor: simple.deterministic(trace.runtime, factor),
    "uniform-zotkin": lambda trace, rng, factor: simple.uniform(
        trace.runtime, rng, factor, "zotkin"
    ),
    "uniform-tsafrir": lambda trace, rng, factor: simple.uniform(
        trace.runtime, rng, factor, "tsafrir"
    ),
    "doubled": lambda trace, rng: 2 * trace.jobs.estimate,
    "phi": lambda trace, rng, exact_share: simple.phi(trace.runtime, rng, exact_share),
    "tsafrir": _tsafrir,
}
RANDOM = {"uniform-zotkin", "uniform-tsafrir", "phi", "tsafrir"}  # models that draw


def _check_parameters(trace: Trace, model: str, parameters: dict[str, float]) -> None:
    """Check the names of a model's parameters, and that their values are numbers."""
    model_parameters = dict(list(inspect.signature(MODELS[model]).parameters.items())[2:])
    for name, value in parameters.items():
        if name not in model_parameters:
            takes = ", ".join(model_parameters) or "no parameters"
            raise WorkloadError(f"{trace.name}: estimates={model} takes {takes}; got {name}")
        check_number(f"{trace.name}: {name}", value, error=WorkloadError)
    for name, parameter in model_parameters.items():
        if parameter.default is parameter.empty and name not in parameters:
            raise WorkloadError(f"{trace.name}: estimates={model} needs {name}")
