"""Find a workload by name or path, and cache it."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from bfenv.core.distributions import load_offer, offers
from bfenv.core.errors import NoSuchFileError, UnknownNameError, WorkloadError
from bfenv.core.jobs import Trace
from bfenv.core.names import parse_name
from bfenv.workloads.archive.catalogue import CATALOGUE, SUFFIXES, local_logs, locate
from bfenv.workloads.logs.swf import read_swf
from bfenv.workloads.models.lublin_workload import lublin
from bfenv.workloads.models.sud_workload import sud
from bfenv.workloads.options import convert_options, options_of
from bfenv.workloads.transform import is_random, transformed

SWF = "swf"  # the reader of bfenv itself
SITE_READERS = ("sacct", "xdmod", "pbs", "sge", "lsf")  # those of bfenv-site
GENERATORS: dict[str, Callable[..., Trace]] = {"lublin": lublin, "sud": sud}
DESCRIPTIONS = {
    "lublin": "Lublin-Feitelson model with Tsafrir estimates, embedded",
    "sud": "Zotkin, Keleher and Perkovic's synthetic uniform runtimes, embedded",
}


Items = tuple[tuple[str, Any], ...]
Logs = Mapping[tuple[str, Items], Trace]  # whole logs by name and by the options of the reader
_carried: ContextVar[Logs] = ContextVar("carried", default=MappingProxyType({}))


class Source(NamedTuple):
    """The source of a trace. Equal sources make equal traces."""

    make: Callable[..., Trace]
    path: Path | None = None  # None of a generator
    version: tuple[int, ...] = ()  # of a file: inode, time of modification, size
    carried: Trace | None = None  # the log itself, from another machine


def load_workload(workload: str | os.PathLike[str], **options: Any) -> Trace:
    """Return a workload by name, or from the path of a log; it cannot be modified.

    A workload is read or generated once per process: equal calls return the same trace. A file
    that has changed is read again.

    Args:
        workload: "lublin", "sud", the name of a log, or a path. A log's name, with or without
            .swf.gz, is looked up in the folders of $BFENV_TRACES and among the downloaded logs of
            the archive. Options may follow, in either form: "lublin(procs=128, load=0.9)" or
            "lublin:procs=128,load=0.9".
        **options: Options by keyword, as Python values or as text. "lublin" and "sud" take the
            options of `bfenv.workloads.lublin` and `bfenv.workloads.sud`. Files take the options of
            `read_swf`. If a log is not in SWF, give `reader="sacct"`, "xdmod", "pbs", "sge" or
            "lsf" of bfenv-site, or the reader of another package, and the reader's options. All
            workloads take the options of `transformed` as well: part of the trace, estimates, load,
            priorities, requested start times. If both define an option, the workload's definition
            is used: `load` of "lublin", for example, keeps days of 24 h. `seed` has no effect if
            nothing is random.

    Raises:
        UnknownNameError: If nothing has the name; the message suggests similar names.
        FileNotFoundError: If the file does not exist.
        WorkloadError: If the workload has no such option, a value is out of range, or the file
            cannot be read.

    Examples:
        >>> import bfenv
        >>> trace = bfenv.load_workload("lublin:jobs=1000,load=0.9", seed=3)
        >>> len(trace), trace.processors
        (1000, 256)
    """
    source, making, steps = _plan(workload, options)
    return _load(source, making, steps)


def load_whole(workload: str | os.PathLike[str], **options: Any) -> Trace:
    """Return the whole workload that `load_workload` would take parts of or transform.

    Args:
        workload: As for `load_workload`.
        **options: As for `load_workload`. Options of `transformed` are checked, but not applied.

    Raises:
        UnknownNameError, FileNotFoundError, WorkloadError: As for `load_workload`.
    """
    source, making, _ = _plan(workload, options)
    return _load(source, making, ())


def find_reader(name: str) -> Callable[..., Trace]:
    """Return a reader of logs; it is called with the path and with options by keyword.

    Args:
        name: "swf", or the name of an entry point of the group "bfenv.readers".

    Raises:
        NotInstalledError: If it is one of bfenv-site, which is not installed.
        UnknownNameError: If no installed package has a reader of this name.
    """
    if name == SWF:
        return read_swf
    readers = [SWF, *dict.fromkeys((*SITE_READERS, *offers("bfenv.readers")))]
    if name not in readers:
        raise UnknownNameError("reader", name, readers)
    reader: Callable[..., Trace] = load_offer(
        "bfenv.readers", name, "site" if name in SITE_READERS else "", f"the reader {name}"
    )
    return reader


def log_behind(workload: str | os.PathLike[str], **options: Any) -> Logs:
    """Return the whole log that `load_workload` takes parts of, for `carrying`.

    Args:
        workload: As of `load_workload`.
        **options: As of `load_workload`.

    Returns:
        The log under its name and the options that it was read with; nothing for a generated
        workload.

    Raises:
        UnknownNameError, FileNotFoundError, WorkloadError: As of `load_workload`.
    """
    source, making, _ = _plan(workload, options)
    if source.path is None:
        return {}
    name, _ = _split(workload, options)
    return {(name, making): _load(source, making, ())}


@contextmanager
def carrying(logs: Logs) -> Iterator[None]:
    """Let `load_workload` find logs of another machine, before it looks for files.

    Args:
        logs: What `log_behind` returned there.
    """
    token = _carried.set(logs)
    try:
        yield
    finally:
        _carried.reset(token)


def carried_logs() -> Logs:
    """Return the logs of another machine that `load_workload` finds now."""
    return _carried.get()


def _plan(workload: str | os.PathLike[str], options: dict[str, Any]) -> tuple[Source, Items, Items]:
    """Return the source of a workload, the options that make it, and those that transform it."""
    name, options = _split(workload, options)
    is_carried = any(name == log for log, _ in _carried.get())
    if name in GENERATORS:
        source = Source(GENERATORS[name])
    else:
        source = Source(find_reader(options.pop("reader", SWF)))
        if not is_carried:
            path = _locate(name)
            status = path.stat()
            version = status.st_ino, status.st_mtime_ns, status.st_size
            source = source._replace(path=path, version=version)
    source_options = options_of(source.make)
    parameters = source_options | {
        o: p for o, p in options_of(transformed).items() if o not in source_options
    }
    options = convert_options(name, parameters, options)
    making = {option: value for option, value in options.items() if option in source_options}
    if is_carried:
        source = source._replace(carried=_carried.get()[name, tuple(making.items())])
    steps = {option: value for option, value in options.items() if option not in source_options}
    if is_random(**steps):
        steps["seed"] = options.get("seed", 0)
    else:
        steps.pop("seed", None)
    return source, tuple(making.items()), tuple(steps.items())


def takes_seed(workload: str | os.PathLike[str]) -> bool:
    """Return whether a seed changes the workload.

    Args:
        workload: A name or a path, as of `load_workload`.

    Returns:
        True if the workload is generated or has a random option, unless a seed is among its
        options.

    Examples:
        >>> from bfenv.workloads import takes_seed
        >>> takes_seed("lublin:jobs=500"), takes_seed("lublin:jobs=500,seed=3")
        (True, False)
    """
    name, options = _split(workload, {})
    return "seed" not in options and (name in GENERATORS or is_random(**options))


def path_in(workload: str) -> str | None:
    """Return the absolute path of the file that a workload names; None if it is known by name.

    Raises WorkloadError if the options cannot be read.
    """
    name, _ = _split(workload, {})
    if name in GENERATORS or (os.path.basename(name) == name and not os.path.isfile(name)):
        return None
    return os.path.abspath(name)


def workloads() -> dict[str, str]:
    """List the workloads known by name.

    Returns:
        dict: Descriptions of generators, and paths of local logs, by name.
    """
    files = {name: str(path) for name, path in local_logs().items()}
    return DESCRIPTIONS | files | DESCRIPTIONS  # a generator wins over a file of its name


@lru_cache(maxsize=32)
def _load(source: Source, options: Items, steps: Items) -> Trace:
    """Make the trace of a source and its options, and transform it; each once."""
    if steps:
        return transformed(_load(source, options, ()), **dict(steps))
    if source.carried is not None:
        return source.carried
    arguments = () if source.path is None else (source.path,)
    return source.make(*arguments, **dict(options))


def _split(workload: str | os.PathLike[str], options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Split name and options, and join the options with those given by keyword.

    The path of an existing file is taken as it stands, whatever it looks like.
    """
    if not isinstance(workload, str | os.PathLike):
        raise WorkloadError(f"workload must be a name or a path, got {workload!r:.60}")
    text = os.fspath(workload)
    is_path = os.path.isfile(text) or any(text == log for log, _ in _carried.get())
    name, named = (text, {}) if is_path else parse_name(text, WorkloadError)
    if twice := sorted(named.keys() & options.keys()):
        raise WorkloadError(f"{text}: {twice[0]} is given twice")
    return name, named | options


def _locate(name: str) -> Path:
    """Find the file of a name or path."""
    for path in (name, locate(name)):
        if path and os.path.isfile(path):
            return Path(os.path.abspath(path))
    if os.path.exists(name):
        raise WorkloadError(f"{name}: not a file")
    archived = {log.name for log in CATALOGUE}
    if name in archived:
        raise WorkloadError(f"{name}: not downloaded yet; run `bfenv workloads fetch {name}`")
    if name.endswith(SUFFIXES) or os.path.basename(name) != name:
        raise NoSuchFileError(f"no such workload file: {name}")
    raise UnknownNameError("workload", name, workloads().keys() | archived)
