"""Find a workload by name or path (workloads layer)."""

import inspect
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from bfenv.core.errors import UnknownName, WorkloadError
from bfenv.core.jobs import Cleaning, Trace, make_trace
from bfenv.workloads import estimates as models
from bfenv.workloads.lublin import generate
from bfenv.workloads.swf import read_swf
from bfenv.workloads.transform import with_load

SUFFIXES = (".swf.gz", ".swf")


def load_workload(workload: str | os.PathLike, **options) -> Trace:
    """A workload by name or by the path of an SWF file; read or generated once per process.

    "lublin", the default everywhere, takes the options of `lublin`. A file's name without .swf.gz
    is enough when the file is in the folder named by $BFENV_TRACES; files take the options of
    `read_swf`, and `load`, an offered load to stretch the submit times to.

    Raises UnknownName with suggestions, FileNotFoundError for a path that leads nowhere, and
    WorkloadError for an option that the workload does not have or a bad value.
    """
    name = os.fspath(workload)
    if name == "lublin":
        return _once(_cached_lublin, name, options)
    path = _locate(name)
    stamp = path.stat()
    return _once(_cached_file, name, options, path, stamp.st_mtime_ns, stamp.st_size)


def workloads() -> dict[str, str]:
    """What `load_workload` knows by name: name -> where it comes from."""
    return {"lublin": "Lublin-Feitelson model with Tsafrir estimates, embedded"} | {
        name: str(path) for name, path in sorted(_files().items())
    }


def lublin(
    procs: int = 256,
    jobs: int = 10_000,
    load: float | None = 0.8,
    seed: int = 0,
    estimates: str = "tsafrir",
    emax: int = 64_800,
    typed: bool = False,
) -> Trace:
    """The Lublin-Feitelson model of rigid jobs, Mondays to Mondays without a weekend.

    `procs` processors, `jobs` jobs, at offered load `load` (None: what the sample has), from
    `seed`. `estimates` is "tsafrir", modal estimates up to `emax` seconds, at which runtimes are
    cut, or "exact". `typed` mixes interactive and batch jobs, each with their own parameters.

    Raises WorkloadError for a value out of range.
    """
    if estimates not in ("tsafrir", "exact"):
        raise WorkloadError(f"lublin: estimates are 'tsafrir' or 'exact', not {estimates!r}")
    if seed < 0:
        raise WorkloadError(f"lublin: seed is not negative, got {seed}")
    rng = np.random.default_rng(seed)
    longest = emax if estimates == "tsafrir" else None
    sample = generate(jobs, procs, rng, load=load, typed=typed, longest=longest)
    runtime = estimate = sample.runtime
    if estimates == "tsafrir":
        estimate, runtime = models.tsafrir(runtime, rng, emax=emax)
    return make_trace(
        sample.submit - sample.submit[0],
        sample.size,
        runtime,
        procs,
        estimate=estimate,
        name="lublin",
        time_of_day=int(sample.submit[0]) % 86400,
        cleaning=Cleaning(),
    )


def _once(make: Callable[..., Trace], name: str, options: dict, *arguments) -> Trace:
    known = inspect.signature(lublin if name == "lublin" else read_swf).parameters
    known = [option for option in known if option != "path"]
    known += [] if name == "lublin" else ["load"]
    for option, value in options.items():
        if option not in known:
            raise WorkloadError(f"{name} has no option {option!r}; it has {', '.join(known)}")
        if not isinstance(value, str | int | float | None):
            raise WorkloadError(f"{name}: {option} is text or a number, not {value!r}")
    return make(*arguments, **options)


@lru_cache(maxsize=32)
def _cached_lublin(**options) -> Trace:
    return lublin(**options)


@lru_cache(maxsize=32)
def _cached_file(path: Path, _changed: int, _size: int, load: float | None = None, **options):
    trace = read_swf(path, **options)
    return trace if load is None else with_load(trace, load)


def _locate(name: str) -> Path:
    path = Path(name)
    if path.is_file():
        return path
    if name in _files():
        return _files()[name]
    if name.endswith(SUFFIXES) or path.parent != Path():
        raise FileNotFoundError(f"no such workload file: {name}")
    raise UnknownName("workload", name, workloads())


def _files() -> dict[str, Path]:
    """The SWF files in $BFENV_TRACES by name."""
    folder = os.environ.get("BFENV_TRACES")
    if not folder:
        return {}
    return {
        path.name.removesuffix(suffix): path
        for suffix in reversed(SUFFIXES)
        for path in Path(folder).glob(f"*{suffix}")
    }
