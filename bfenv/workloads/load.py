"""Find a workload by name or path (workloads layer)."""

import inspect
import os
import re
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any, get_args

import numpy as np

from bfenv.core.errors import UnknownName, WorkloadError
from bfenv.core.jobs import Trace, make_trace
from bfenv.workloads import estimates as models
from bfenv.workloads.lublin import generate
from bfenv.workloads.swf import read_swf
from bfenv.workloads.transform import with_load

SUFFIXES = (".swf", ".swf.gz")
LIMITS = {"procs": 2**31, "jobs": 10**8, "emax": 2**31}  # of the model, far beyond use
LONG = 1_000  # jobs, enough to show the usual choice of estimates
WORDS = {"none": None, "true": True, "false": False}
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def load_workload(workload: str | os.PathLike, **options) -> Trace:
    """A workload by name or by the path of an SWF file; read or generated once per process.

    "lublin", the default everywhere, takes the options of `lublin`. Of a file in the folder named
    by $BFENV_TRACES the name will do, with or without .swf.gz; files take the options of
    `read_swf`, and `load`, an offered load to stretch the submit times to. Options may also follow
    the name, as in "lublin:procs=128,load=0.9".

    Raises UnknownName with suggestions, FileNotFoundError for a path that leads nowhere, and
    WorkloadError for an option that the workload does not have or a bad value.
    """
    name, options = _split(os.fspath(workload), options)
    if name == "lublin":
        return _lublin(**_checked(name, _options_of(lublin), options))
    path = _locate(name)
    file = path.stat()
    known = _options_of(read_swf) | {"load": _options_of(_file)["load"]}
    version = (file.st_ino, file.st_mtime_ns, file.st_size)
    return _file(path, version, **_checked(name, known, options))


def workloads() -> dict[str, str]:
    """What `load_workload` knows by name: name -> where it comes from."""
    model = {"lublin": "Lublin-Feitelson model with Tsafrir estimates, embedded"}
    files = {name: str(path) for name, path in sorted(_files().items())}
    return model | files | model  # the model wins over a file of its name


def lublin(
    procs: int = 256,
    jobs: int = 10_000,
    load: float | None = 0.8,
    seed: int = 0,
    estimates: str = "tsafrir",
    emax: int = 64_800,
    typed: bool = False,
) -> Trace:
    """The Lublin-Feitelson model of rigid jobs; all its days are alike, it knows no weekends.

    `procs` processors, `jobs` jobs, from `seed`, at offered load `load` counted from the midnight
    before the first job (None: what the sample has). `estimates` is "tsafrir", modal estimates up
    to `emax` seconds, at which runtimes are cut, or "exact". `typed` mixes interactive and batch
    jobs, each with their own parameters.

    Raises WorkloadError for a value out of range.
    """
    if estimates not in ("tsafrir", "exact"):
        raise WorkloadError(f"lublin: estimates are 'tsafrir' or 'exact', not {estimates!r}")
    if seed < 0:
        raise WorkloadError(f"lublin: seed is not negative, got {seed}")
    for option, value in {"procs": procs, "jobs": jobs, "emax": emax}.items():
        if not 1 <= value <= LIMITS[option]:
            raise WorkloadError(f"lublin: {option} is 1 to {LIMITS[option]:,}, not {value}")
    rng = np.random.default_rng(seed)
    longest = emax if estimates == "tsafrir" else None
    sample = generate(jobs, procs, rng, load=load, typed=typed, longest=longest)
    runtime = estimate = sample.runtime
    if estimates == "tsafrir":
        if jobs < models.FEWEST_JOBS:  # a short sample's are cut from those of a long one
            others = generate(LONG - jobs, procs, rng, typed=typed, longest=longest)
            runtime = np.concatenate([runtime, others.runtime])
        estimate, runtime = models.tsafrir(runtime, rng, emax=emax)
    return make_trace(
        sample.submit - sample.submit[0],
        sample.size,
        runtime[:jobs],
        procs,
        estimate=estimate[:jobs],
        name="lublin",
        time_of_day=int(sample.submit[0]) % 86400,
    )


@lru_cache(maxsize=32)
def _lublin(**options) -> Trace:
    return lublin(**options)


@lru_cache(maxsize=32)
def _file(path: Path, version: tuple, load: float | None = None, **options) -> Trace:
    if load is not None:
        return with_load(_file(path, version, **options), load)
    return read_swf(path, **options)


def _split(workload: str, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name and options of "name:option=value,option=value", joined with those given apart."""
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
    return {option: parameters[option] for option in parameters if option != "path"}


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
    candidates = [name, _files().get(name, name)]
    if name.endswith(SUFFIXES):
        candidates.append(os.path.join(os.environ.get("BFENV_TRACES", ""), name))
    for path in candidates:
        if os.path.isfile(path):
            return Path(os.path.abspath(path))
    if os.path.exists(name):
        raise WorkloadError(f"{name}: not a file")
    if name.endswith(SUFFIXES) or os.path.basename(name) != name:
        raise FileNotFoundError(f"no such workload file: {name}")
    raise UnknownName("workload", name, workloads())


def _files() -> dict[str, Path]:
    """The SWF files in $BFENV_TRACES by name; of a file and its zipped form, the latter."""
    folder = os.environ.get("BFENV_TRACES")
    if not folder:
        return {}
    return {
        name: path
        for suffix in SUFFIXES
        for path in Path(folder).glob(f"*{suffix}")
        if (name := path.name.removesuffix(suffix)) and path.is_file()
    }
