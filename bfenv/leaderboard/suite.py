"""Suites: frozen lists of traces to compare on, each known by the hash of its content.

Any change to a suite or one of its traces gets a new version number. The hashes are in
`suite_contents.json`. If the hash of a trace differs, the run stops, because the results would not
be comparable.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from bfenv.core.errors import UnknownNameError, WorkloadError

if TYPE_CHECKING:
    from bfenv.core.jobs import Trace

OWN_PREFIX = "own-"  # begins the name of a suite that `suite_of` made


class FrozenTrace(NamedTuple):
    """A trace, identified by its content."""

    source: str  # what `load_workload` makes it from
    jobs: int
    hash: str  # `content_hash` of it


class Entry(NamedTuple):
    """A workload of a suite: one trace, or one per seed."""

    label: str
    traces: tuple[FrozenTrace, ...]  # one per seed; a single trace serves all seeds
    load: float | None  # offered load to scale to; None for the log's own
    logged: bool = False  # the log records its starts, which then have a row

    def trace(self, seed: int) -> FrozenTrace:
        """Return the trace of a seed."""
        return self.traces[seed if len(self.traces) > 1 else 0]


class Suite(NamedTuple):
    """A frozen list of workloads to compare on."""

    name: str  # ends in -v and the version
    summary: str  # one line
    entries: tuple[Entry, ...]  # workloads and loads, with the hashes of their traces
    seeds: int  # of generated traces, or else of the decisions of a stochastic policy
    unseen: bool = True  # no agent is trained on these jobs by accident; else its own must be known

    @property
    def version(self) -> int:
        """The number in the name."""
        return int(self.name.rpartition("-v")[2])

    @property
    def files(self) -> list[str]:
        """The files that traces are read from, but for logs that are known by name."""
        from bfenv.workloads.load import path_in

        sources = (trace.source for entry in self.entries for trace in entry.traces)
        return [path for source in sources if (path := path_in(source)) is not None]

    def description(self) -> dict[str, Any]:
        """Return name, version, seeds and the workloads with their hashes, as JSON has them."""
        workloads = [
            {
                "workload": entry.label,
                "load": entry.load,
                "traces": [trace._asdict() for trace in entry.traces],
            }
            for entry in self.entries
        ]
        return {
            "suite": self.name,
            "version": self.version,
            "seeds": self.seeds,
            "workloads": workloads,
        }


def suite_of(workloads: Sequence[str]) -> Suite:
    """Make a suite of any workloads, such as a site's own log; its name comes from their content.

    * `workloads`: what `load_workload` takes: a trace each, with options if any.

    Raises BfenvError if there are none, or two with one name, or one cannot be loaded.
    """
    from bfenv.analysis.logged import logged_schedule
    from bfenv.workloads.load import load_workload

    if not workloads:
        raise WorkloadError("a suite needs a workload")
    entries: dict[str, Entry] = {}
    for workload in workloads:
        source = os.path.abspath(workload) if os.path.isfile(workload) else workload
        trace = load_workload(source)
        if trace.name in entries:
            raise WorkloadError(f"two workloads have the name {trace.name!r}")
        frozen = FrozenTrace(source, len(trace), trace.content_hash)
        is_logged = logged_schedule(trace) is not None
        entries[trace.name] = Entry(trace.name, (frozen,), None, is_logged)
    hashes = " ".join(entry.traces[0].hash for entry in entries.values())
    digest = hashlib.sha256(hashes.encode()).hexdigest()[:12]
    summary = f"your own: {', '.join(entries)}"
    return Suite(
        f"{OWN_PREFIX}{digest}-v1", summary, tuple(entries.values()), seeds=3, unseen=False
    )


def load_frozen(source: str, expected: str) -> "Trace":
    """Load a trace that must have a certain content.

    * `source`: what `load_workload` takes.
    * `expected`: `content_hash` of the trace.

    Raises WorkloadError if the hash differs, or the trace cannot be loaded.
    """
    from bfenv.workloads.load import load_workload

    trace = load_workload(source)
    actual = trace.content_hash
    if actual != expected:
        raise WorkloadError(
            f"{source}: its content is not the suite's: expected {expected}, found {actual}; "
            "results on it are not comparable (a changed suite is a new version)"
        )
    return trace


def find_suite(name: str) -> Suite:
    """Return a suite by its name, with the hashes of its traces.

    Args:
        name: One of `SUITES`, such as "synthetic-v1".

    Raises:
        UnknownNameError: If no suite has the name; similar names are suggested.
    """
    if name not in SUITES:
        raise UnknownNameError("suite", name, SUITES)
    return SUITES[name]


@cache
def suite_contents() -> dict[str, FrozenTrace]:
    """Read the traces of all suites, by source."""
    text = files(__package__).joinpath("suite_contents.json").read_text(encoding="utf-8")
    return {source: FrozenTrace(source, **content) for source, content in json.loads(text).items()}


def _entry(label: str, sources: Iterable[str], load: float | None = None) -> Entry:
    return Entry(label, tuple(suite_contents()[source] for source in sources), load)


def _model(procs: int, jobs: int, load: float, seeds: range) -> Entry:
    source = f"lublin:procs={procs},jobs={jobs},load={load}"
    return _entry(f"lublin-{procs}-{load}", (f"{source},seed={seed}" for seed in seeds), load)


def _log(name: str, load: float | None) -> Entry:
    if load is None:
        return _entry(name, [f"{name}:split=test"])._replace(logged=True)
    return _entry(f"{name}-{load}", [f"{name}:split=test,load={load}"], load)


def _windows(label: str, name: str, options: str = "estimates=exact") -> Entry:
    source = f"{name}:{options},job_count=1024"
    return _entry(label, (f"{source},first_job={job}" for job in WINDOWS))


# Seeds elsewhere count from 0, so that no agent is trained on these by accident.
SEEDS = range(1_000_000, 1_000_005)
LOGS = (
    "KTH-SP2-1996-2.1-cln",
    "CTC-SP2-1996-3.1-cln",
    "SDSC-SP2-1998-4.2-cln",
    "SDSC-BLUE-2000-4.2-cln",
    "HPC2N-2002-2.2-cln",
)
WINDOWS = (1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085)  # first jobs, from 0
RLSCHEDULER = (  # no job of the generated traces outlives its estimate
    ("lublin-1", "lublin_256_10k", ("extend",)),
    ("sdsc-sp2", "SDSC-SP2-1998-4.2-cln", ("extend", "kill")),
    ("hpc2n", "HPC2N-2002-2.2-cln", ("extend", "kill")),
    ("lublin-2", "lublin_256_new2", ("extend",)),
)
DEFAULT_SUITE = "synthetic-v1"
SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            DEFAULT_SUITE,
            "the embedded model, machines of 128 and 256 processors, loads 0.7, 0.8 and 0.9",
            tuple(
                _model(procs, 10_000, load, SEEDS)
                for procs in (128, 256)
                for load in (0.7, 0.8, 0.9)
            ),
            seeds=len(SEEDS),
        ),
        Suite(
            "archive-v1",
            "the last 40 % of five logs by time, at their own load and at 0.9",
            tuple(_log(name, load) for name in LOGS for load in (None, 0.9)),
            seeds=3,
        ),
        Suite(
            "rlscheduler-windows-v1",
            "ten windows of 1,024 jobs each from Lublin-1 and Lublin-2, on an empty machine",
            (_windows("lublin-1", "lublin_256_10k"), _windows("lublin-2", "lublin_256_new2")),
            seeds=len(WINDOWS),
            unseen=False,  # agents are trained on the traces that they are taken from
        ),
        Suite(
            "rlscheduler-windows-v2",
            "ten windows of 1,024 jobs each from the four traces of RLScheduler, by its loader's "
            "rules; if jobs exceed their estimates, one with them extended, one with jobs killed",
            tuple(
                _windows(f"{label}-{overrun}" if len(overruns) > 1 else label, name, options)
                for label, name, overruns in RLSCHEDULER
                for overrun in overruns
                for options in [f"rules=rlscheduler,overrun={overrun}"]
            ),
            seeds=len(WINDOWS),
            unseen=False,
        ),
        Suite(
            "smoke-v1",
            "a few hundred jobs of the embedded model, done in seconds",
            (_model(32, 200, 0.8, SEEDS[:2]), _model(64, 300, 0.9, SEEDS[:2])),
            seeds=2,
        ),
    )
}
