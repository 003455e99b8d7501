"""Suites: frozen lists of traces to compare on, each known by its content.

A suite never changes: what would change a trace or the list is a new suite with a new version. The
hash of each trace's content is in `bfenv.leaderboard.frozen`; a run whose traces have other content
ends.
"""

from collections.abc import Iterable
from typing import NamedTuple

from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import Trace
from bfenv.leaderboard.frozen import CONTENTS
from bfenv.workloads.load import load_workload


class Frozen(NamedTuple):
    """A trace by its content."""

    source: str  # what `load_workload` takes to make it
    jobs: int
    hash: str  # its `content_hash`


class Entry(NamedTuple):
    """A workload of a suite: one trace, or several that are alike."""

    label: str
    traces: tuple[Frozen, ...]  # seed by seed; one trace serves all seeds
    load: float | None  # offered load asked for; None for the log's own


class Suite(NamedTuple):
    """What is compared on."""

    name: str  # ends in -v and the version
    summary: str  # one line
    entries: tuple[Entry, ...]
    seeds: int  # of what is random: the traces, or else the decisions of a stochastic policy
    unseen: bool = True  # no agent is trained on these jobs, so that agents may be scored on them

    @property
    def version(self) -> int:
        """The number in the name."""
        return int(self.name.rpartition("-v")[2])

    def description(self) -> dict:
        """The suite as JSON has it: name, version, seeds, workloads with the hash of each trace."""
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


def content_hash(trace: Trace) -> str:
    """The hash of all that a simulation of the trace depends on, as in "sha256:..."."""
    return f"sha256:{trace.hash}"


def load_frozen(source: str, expected: str) -> Trace:
    """The trace of a source, if it has the content that is expected.

    Raises WorkloadError, saying what was expected, if not, and what `load_workload` raises.
    """
    trace = load_workload(source)
    found = content_hash(trace)
    if found != expected:
        raise WorkloadError(
            f"{source}: its content is not the suite's: expected {expected}, found {found}; "
            "results on it are not comparable (a changed suite is a new version)"
        )
    return trace


def find_suite(name: str) -> Suite:
    """A suite by its name; UnknownNameError, with suggestions, for another."""
    if name not in SUITES:
        raise UnknownNameError("suite", name, SUITES)
    return SUITES[name]


def _entry(label: str, sources: Iterable[str], load: float | None = None) -> Entry:
    return Entry(label, tuple(Frozen(source, *CONTENTS[source]) for source in sources), load)


def _model(procs: int, jobs: int, load: float, seeds: range) -> Entry:
    source = f"lublin:procs={procs},jobs={jobs},load={load}"
    return _entry(f"lublin-{procs}-{load}", (f"{source},seed={seed}" for seed in seeds), load)


def _log(name: str, load: float | None) -> Entry:
    if load is None:
        return _entry(name, [f"{name}:split=test"])
    return _entry(f"{name}-{load}", [f"{name}:split=test,load={load}"], load)


def _windows(label: str, name: str) -> Entry:
    source = f"{name}:estimates=exact,job_count=1024"
    return _entry(label, (f"{source},first_job={job}" for job in WINDOWS))


# Seeds that nobody trains on by accident, for those that are drawn elsewhere count from 0.
SEEDS = range(1_000_000, 1_000_005)
LOGS = (
    "KTH-SP2-1996-2.1-cln",
    "CTC-SP2-1996-3.1-cln",
    "SDSC-SP2-1998-4.2-cln",
    "SDSC-BLUE-2000-4.2-cln",
    "HPC2N-2002-2.2-cln",
)
WINDOWS = (1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085)  # first jobs, from 0
DEFAULT = "synthetic-v1"
SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            DEFAULT,
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
            unseen=False,  # they lie all over traces on which agents are trained
        ),
        Suite(
            "smoke-v1",
            "a few hundred jobs of the embedded model, done in seconds",
            (_model(32, 200, 0.8, SEEDS[:2]), _model(64, 300, 0.9, SEEDS[:2])),
            seeds=2,
        ),
    )
}
