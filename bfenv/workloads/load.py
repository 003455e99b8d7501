"""Find a workload by name or path."""

import inspect
import os
import re
from dataclasses import replace
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any, get_args

import numpy as np

from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import Trace, make_trace
from bfenv.workloads.archive import download as archive
from bfenv.workloads.archive.catalogue import CATALOGUE
from bfenv.workloads.logs.swf import read_swf
from bfenv.workloads.models import estimates as models
from bfenv.workloads.models.lublin import TYPELESS, Parameters, generate, scaled
from bfenv.workloads.models.sud import sud
from bfenv.workloads.requests import MODELS, with_estimates
from bfenv.workloads.transform import is_random, transformed

SUFFIXES = (".swf", ".swf.gz")
LIMITS = {"procs": 2**31, "jobs": 10**8, "emax": 2**31}  # of the model, far beyond use
LONG = 1_000  # jobs, enough to show the usual choice of estimates
OBJECTS = ("path", "trace")  # parameters that are no options
WORDS = {"none": None, "true": True, "false": False}
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def load_workload(workload: str | os.PathLike, **options) -> Trace:
    """A workload by name or by the path of an SWF file; read or generated once per process.

    "lublin", the default everywhere, takes the options of `lublin`, "sud" those of `sud`. Of a
    file in the folders that $BFENV_TRACES names, or fetched from the archive, the name will do,
    with or without .swf.gz; files take the options of `read_swf`. All take those of
    `bfenv.workloads.transform.transformed` too: estimates, load, arrivals, priorities, requested
    start times; where the two share a name, as the model's `load`, which keeps its days at 24
    hours, the workload's own counts. A `seed` draws whatever is random, and is of no effect where
    nothing is.

    Options may also follow the name, as in "lublin:procs=128,load=0.9" or
    "KTH-SP2-1996-2.1-cln:estimates=exact,load=0.9,high=0.75,seed=3".

    Raises UnknownNameError with suggestions, FileNotFoundError for a path that leads nowhere, and
    WorkloadError for an option that the workload does not have or a bad value.
    """
    name, options = _split(workload, options)
    if name in GENERATED:
        make, place = GENERATED[name], ()
    else:
        path = _locate(name)
        file = path.stat()
        make, place = read_swf, (path, (file.st_ino, file.st_mtime_ns, file.st_size))
    own, steps = _options_of(make), _options_of(transformed)
    options = _checked(name, own | steps | own, options)
    mine = {option: value for option, value in options.items() if option in own}
    rest = {option: value for option, value in options.items() if option not in own}
    if is_random(**rest):
        rest["seed"] = options.get("seed", 0)
    else:
        rest.pop("seed", None)
    return _made(make, place, tuple(rest.items()), **mine)


def takes_seed(workload: str | os.PathLike) -> bool:
    """Whether a seed is still to be given: it is generated, or has random options."""
    name, options = _split(workload, {})
    return "seed" not in options and (name in GENERATED or is_random(**options))


def workloads() -> dict[str, str]:
    """What `load_workload` knows by name: name -> where it comes from."""
    models = {
        "lublin": "Lublin-Feitelson model with Tsafrir estimates, embedded",
        "sud": "Zotkin, Keleher and Perkovic's synthetic uniform runtimes, embedded",
    }
    files = {name: str(path) for name, path in archive.at_hand().items()}
    return models | files | models  # a model wins over a file of its name


def lublin(
    procs: int = 256,
    jobs: int = 10_000,
    load: float | None = 0.8,
    seed: int = 0,
    estimates: str = "tsafrir",
    emax: int = models.USUAL_EMAX,
    emax_share: float | None = None,
    factor: float | None = None,
    exact_share: float | None = None,
    typed: bool = False,
    start_hour: int = 0,
    p_serial: float | None = None,
    p_pow2: float | None = None,
    pa: float | None = None,
) -> Trace:
    """The Lublin-Feitelson model of rigid jobs; all its days are alike, it knows no weekends.

    `procs` processors, `jobs` jobs, from `seed`, at offered load `load` counted from `start_hour`
    o'clock before the first job (None: what the sample has). `estimates` is "tsafrir", modal
    estimates up to `emax` seconds, at which runtimes are cut, a share `emax_share` of them at
    `emax`; "doubled", twice those; or, with the model's own runtimes, another model of
    `with_estimates` with its `factor` or `exact_share`. `typed` mixes interactive and batch jobs,
    each with their own parameters. Of the parameters of the model without types, `p_serial` is the
    share of serial jobs, `p_pow2` that of parallel jobs of a power of two, and `pa`, at most 0,
    ties runtime to size, the more the farther from 0; None is as published.

    Raises WorkloadError for a value out of range, UnknownNameError for another model of estimates.
    """
    known = sorted(MODELS.keys() - {"user"})
    if estimates not in known:
        raise UnknownNameError("model of estimates of lublin", estimates, known)
    if seed < 0:
        raise WorkloadError(f"lublin: seed is not negative, got {seed}")
    for option, value in {"procs": procs, "jobs": jobs, "emax": emax}.items():
        if not 1 <= value <= LIMITS[option]:
            raise WorkloadError(f"lublin: {option} is 1 to {LIMITS[option]:,}, not {value}")
    modal = estimates in ("tsafrir", "doubled")
    if not modal and (emax != models.USUAL_EMAX or emax_share is not None):
        raise WorkloadError(f"lublin: estimates={estimates} takes no emax and no emax_share")
    rng = np.random.default_rng(seed)
    model = {
        "longest": emax if modal else None,
        "typed": typed,
        "start_hour": start_hour,
        "parameters": _parameters(procs, typed, p_serial=p_serial, p_pow2=p_pow2, pa=pa),
    }
    sample = generate(jobs, procs, rng, load=load, **model)
    runtime = estimate = sample.runtime
    if modal:
        if jobs < models.FEWEST_JOBS:  # a short sample's are cut from those of a long one
            others = generate(LONG - jobs, procs, rng, **model)
            runtime = np.concatenate([runtime, others.runtime])
        estimate, runtime = models.tsafrir(runtime, rng, emax=emax, emax_share=emax_share)
    trace = make_trace(
        sample.submit - sample.submit[0],
        sample.size,
        runtime[:jobs],
        procs,
        estimate=estimate[:jobs],
        name="lublin",
        time_of_day=(start_hour * 3600 + int(sample.submit[0])) % 86400,
    )
    given = {"factor": factor, "exact_share": exact_share}
    given = {option: value for option, value in given.items() if value is not None}
    if estimates in ("tsafrir", "exact") and not given:
        return trace
    return with_estimates(trace, estimates, seed=seed, **given)


def _parameters(procs: int, typed: bool, **chosen: float | None) -> tuple[Parameters] | None:
    """The model's parameters, scaled to the machine, with those chosen; None for none chosen."""
    chosen = {option: value for option, value in chosen.items() if value is not None}
    if not chosen:
        return None
    if typed:
        raise WorkloadError(f"lublin: {', '.join(chosen)} is of the model without types")
    if not chosen.get("pa", 0.0) <= 0:
        raise WorkloadError(f"lublin: pa is at most 0, not {chosen['pa']}")
    parameters = replace(scaled(TYPELESS, procs), **chosen)
    shares = parameters.p_serial, parameters.p_pow2
    if not (min(shares) >= 0 and sum(shares) <= 1):
        raise WorkloadError(
            f"lublin: p_serial and p_pow2 are shares, together at most 1, not {shares}"
        )
    return (parameters,)


GENERATED = {"lublin": lublin, "sud": sud}


@lru_cache(maxsize=32)
def _made(make, place: tuple, steps: tuple, **options) -> Trace:
    """A trace by its maker, of a file its path and version, what is done to it, and options."""
    if steps:
        return transformed(_made(make, place, (), **options), **dict(steps))
    return make(*place[:1], **options)


def _split(workload: str | os.PathLike, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name and options of "name:option=value,option=value", joined with those given apart."""
    if not isinstance(workload, str | os.PathLike):
        raise WorkloadError(f"a workload is a name or a path, not {workload!r}")
    workload = os.fspath(workload)
    match = re.fullmatch(r"(.+?):(\w+=.*)", workload)
    if not match or os.path.isfile(workload):
        return workload, options
    name, text = match.groups()
    options = dict(options)
    for item in text.split(","):
        option, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise WorkloadError(f"{workload}: {item!r} is not option=value")
        if option in options:
            raise WorkloadError(f"{workload}: {option} is given twice")
        options[option] = value
    return name, options


def _options_of(make) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(make).parameters
    return {option: parameters[option] for option in parameters if option not in OBJECTS}


def _checked(
    name: str, known: dict[str, inspect.Parameter], options: dict[str, Any]
) -> dict[str, Any]:
    """The options that differ from their defaults, sorted, so that like calls look alike."""
    checked = {}
    for option, value in sorted(options.items()):
        if option not in known:
            raise WorkloadError(f"{name} has no option {option!r}; it has {', '.join(known)}")
        kind = known[option].annotation
        kinds = get_args(kind) or (kind,)
        try:
            value = _as(kinds, value)
        except (ValueError, OverflowError):
            wanted = " or ".join(KINDS.get(kind, "none") for kind in kinds)
            raise WorkloadError(f"{name}: {option} is {wanted}, not {value!r:.60}") from None
        if value != known[option].default:
            checked[option] = value
    return checked


def _as(kinds: tuple[type, ...], value: Any) -> Any:
    """The value as one of the kinds, from text too; ValueError or OverflowError if it is none."""
    if isinstance(value, str) and str not in kinds:
        value = _literal(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        if int in kinds and value == int(value):
            return int(value)
        if float in kinds:
            return float(value)
    elif type(value) in kinds:
        return value
    raise ValueError


def _literal(text: str) -> Any:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return int(text)
    except ValueError:
        return float(text)


def _locate(name: str) -> Path:
    for path in (name, archive.locate(name)):
        if path and os.path.isfile(path):
            return Path(os.path.abspath(path))
    if os.path.exists(name):
        raise WorkloadError(f"{name}: not a file")
    known = {log.name for log in CATALOGUE}
    if name in known:
        raise WorkloadError(f"{name} is not at hand; `bfenv workloads fetch {name}` downloads it")
    if name.endswith(SUFFIXES) or os.path.basename(name) != name:
        raise FileNotFoundError(f"no such workload file: {name}")
    raise UnknownNameError("workload", name, workloads().keys() | known)
