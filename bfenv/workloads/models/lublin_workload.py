"""The workload "lublin": the Lublin-Feitelson model with a model of users' estimates."""

from dataclasses import replace
from functools import partial

import numpy as np

from bfenv.core.arguments import check_integer
from bfenv.core.durations import DAY, HOUR
from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import Trace, make_trace
from bfenv.workloads.arguments import MOST_JOBS, MOST_PROCESSORS, check_load
from bfenv.workloads.models import modal_estimates
from bfenv.workloads.models.lublin_feitelson import TYPELESS, Parameters, generate, scaled
from bfenv.workloads.options import Seconds
from bfenv.workloads.requests import MODELS, with_estimates

LONGEST_EMAX = 2**31  # seconds, far beyond use
LONG = 1_000  # jobs, enough to show the usual choice of estimates
MODAL = ("tsafrir", "doubled", "user")  # estimates from the modal model


def lublin(
    procs: int = 256,
    jobs: int = 10_000,
    load: float | None = 0.8,
    seed: int = 0,
    estimates: str = "tsafrir",
    emax: Seconds = modal_estimates.USUAL_EMAX,
    emax_share: float | None = None,
    popular_values: int = modal_estimates.HEAD,
    popular_share: float = modal_estimates.HEAD_PERCENT / 100,
    factor: float | None = None,
    exact_share: float | None = None,
    typed: bool = False,
    start_hour: int = 0,
    p_serial: float | None = None,
    p_pow2: float | None = None,
    pa: float | None = None,
) -> Trace:
    """Return rigid jobs of the Lublin-Feitelson model, with users unknown.

    All days are alike: the model has no weekends.

    Args:
        procs: Processors of the machine.
        jobs: Number of jobs.
        load: Offered load, counted from `start_hour` o'clock before the first job. None keeps the
            load of the sample. `Trace.offered_load`, as in rows and in `bfenv workloads info`,
            counts from the first submission, so that of a short trace can be higher: use
            `with_load` to reach a load by that definition.
        seed: Random seed.
        estimates: Model of the estimates: "tsafrir", modal estimates; "user", `factor` times those;
            "doubled", twice those; or another model of `with_estimates`, on the runtimes of the
            Lublin-Feitelson model.
        emax: Longest modal estimate, in seconds. Longer runtimes are cut to it.
        emax_share: Share of the jobs whose modal estimate is `emax`.
        popular_values: Number of popular modal estimates.
        popular_share: Share of the jobs whose modal estimate is a popular one.
        factor, exact_share: Parameters of the other models of estimates.
        typed: Mix interactive and batch jobs, each with parameters of their own.
        start_hour: Hour of the day at which the sample begins, 0 to 23.
        p_serial: Share of serial jobs, None as published. This and the following are parameters of
            the model without types.
        p_pow2: Share of parallel jobs whose size is a power of two, None as published.
        pa: Slope that ties runtime to size, at most 0: the lower, the closer the tie. None as
            published.

    Raises:
        UnknownNameError: If there is no such model of estimates.
        WorkloadError: If a value is out of range, or an option belongs to another model of
            estimates.

    Examples:
        >>> from bfenv.workloads import lublin
        >>> trace = lublin(procs=128, jobs=500, seed=7)
        >>> len(trace), trace.processors, int(trace.jobs.size.max()) <= 128
        (500, 128, True)
    """
    if estimates not in MODELS:
        raise UnknownNameError("model of estimates of lublin", estimates, MODELS)
    check_integer("lublin: seed", seed, 0, error=WorkloadError)
    check_integer("lublin: procs", procs, 1, MOST_PROCESSORS, error=WorkloadError)
    check_integer("lublin: jobs", jobs, 1, MOST_JOBS, error=WorkloadError)
    if load is not None:
        check_load("load", load)
    check_integer("lublin: emax", emax, 1, LONGEST_EMAX, error=WorkloadError)
    modal = estimates in MODAL
    changed = {
        "emax": emax != modal_estimates.USUAL_EMAX,
        "emax_share": emax_share is not None,
        "popular_values": popular_values != modal_estimates.HEAD,
        "popular_share": popular_share != modal_estimates.HEAD_PERCENT / 100,
    }
    for option, is_changed in changed.items():
        if is_changed and not modal:
            raise WorkloadError(f"lublin: estimates={estimates} takes no {option}")
    rng = np.random.default_rng(seed)
    draw = partial(
        generate,
        processors=procs,
        rng=rng,
        longest=emax if modal else None,
        typed=typed,
        start_hour=start_hour,
        parameters=_parameters(procs, typed, p_serial=p_serial, p_pow2=p_pow2, pa=pa),
    )
    sample = draw(jobs, load=load)
    runtime = estimate = sample.runtime
    if modal:
        if jobs < modal_estimates.FEWEST_JOBS:  # estimates of a long sample are cut to a short one
            runtime = np.concatenate([runtime, draw(LONG - jobs).runtime])
        estimate = modal_estimates.tsafrir(
            runtime,
            rng,
            emax=emax,
            emax_share=emax_share,
            popular_values=popular_values,
            popular_share=popular_share,
        )
    trace = make_trace(
        sample.submit - sample.submit[0],
        sample.size,
        runtime[:jobs],
        procs,
        estimate=estimate[:jobs],
        name="lublin",
        time_of_day=(start_hour * HOUR + int(sample.submit[0])) % DAY,
    )
    optional = {"factor": factor, "exact_share": exact_share}
    parameters = {name: value for name, value in optional.items() if value is not None}
    if estimates in ("tsafrir", "exact") and not parameters:
        return trace  # the estimates are those already
    return with_estimates(trace, estimates, seed=seed, **parameters)


def _parameters(procs: int, typed: bool, **optional: float | None) -> tuple[Parameters] | None:
    """Scale the published parameters to the machine and set those given; None if none are."""
    changed = {option: value for option, value in optional.items() if value is not None}
    if not changed:
        return None
    if typed:
        raise WorkloadError(f"lublin: typed=true takes no {', '.join(changed)}")
    if not changed.get("pa", 0.0) <= 0:
        raise WorkloadError(f"lublin: pa must be a number <= 0, got {changed['pa']}")
    parameters = replace(scaled(TYPELESS, procs), **changed)
    shares = {"p_serial": parameters.p_serial, "p_pow2": parameters.p_pow2}
    if not (min(shares.values()) >= 0 and sum(shares.values()) <= 1):
        values = ", ".join(f"{option}={value}" for option, value in shares.items())
        raise WorkloadError(f"lublin: shares must be >= 0 and together <= 1, got {values}")
    return (parameters,)
