"""The schedule behind a row of a leaderboard: read from disk, or simulated again."""

import hashlib
from pathlib import Path

import numpy as np

from bfenv.analysis.logged import logged_schedule
from bfenv.baselines.registry import simulate
from bfenv.core.errors import BfenvError, PolicyError, WorkloadError
from bfenv.core.files import load_arrays
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.evaluation.row import Row
from bfenv.leaderboard.store import Leaderboard, schedule_file
from bfenv.workloads.load import load_workload

ARRAYS = ("start", "end", "trial_start", "trial_end")
HEADING = 1024  # bytes before an array in a file, at most


def schedule_of(leaderboard: Leaderboard, row: Row) -> Schedule:
    """Return the schedule of a row that did not fail, on the trace of the row.

    A schedule on disk is checked before it is returned. Policies are run again only by registered
    name or expression: a row may come from anywhere, and importing a module that it names would run
    whatever its author wants.

    Args:
        leaderboard: What `read_leaderboard` returns.
        row: One of its rows.

    Raises:
        BfenvError: If the workload has changed since the row was made, or the schedule on disk
            belongs to another workload; or if none is on disk and the policy cannot run again.
    """
    trace = trace_of(row)
    if row.kind == "log":
        logged = logged_schedule(trace)
        if logged is None:
            raise BfenvError(f"{row.workload}: the log records no starts")
        return logged
    path = schedule_file(leaderboard.folder, row.key)
    if path.exists():
        return _read_schedule(path, trace, row)
    if row.kind != "policy" or ":" in row.policy:
        raise BfenvError(f"{row.policy}: its schedule was not kept (--keep-schedules)")
    return simulate(trace, row.policy, row.seed)


def schedule_arrays(schedule: Schedule) -> dict[str, np.ndarray]:
    """Return the arrays to keep of a schedule, by name; those of trials only if there are any."""
    names = ARRAYS if (schedule.trial_end >= 0).any() else ARRAYS[:2]
    return {name: getattr(schedule, name) for name in names}


def schedule_hash(schedule: Schedule) -> str:
    """Return the hash of all starts and ends, those of trials included, like "sha256:..."."""
    digest = hashlib.sha256()
    for name in ARRAYS:
        digest.update(np.ascontiguousarray(getattr(schedule, name), dtype="<i8").tobytes())
    return f"sha256:{digest.hexdigest()}"


def trace_of(row: Row) -> Trace:
    """Load the workload of a row.

    Raises WorkloadError if it cannot be loaded, or has changed since the row was made.
    """
    try:
        trace = load_workload(row.source)
    except FileNotFoundError as error:
        raise WorkloadError(str(error)) from error
    if trace.content_hash != row.workload_hash:
        raise WorkloadError(f"{row.workload}: {row.source} has other jobs than the row's")
    return trace


def _read_schedule(path: Path, trace: Trace, row: Row) -> Schedule:
    try:
        kept = load_arrays(
            path, ARRAYS, most=len(ARRAYS) * (8 * len(trace) + HEADING), follow=False
        )
    except (OSError, ValueError) as error:
        raise BfenvError(f"{path}: cannot be read: {error}") from error
    no_trials = np.full(len(trace), -1)
    arrays = [kept.get(name, no_trials) for name in ARRAYS]
    if any(values.shape != (len(trace),) or values.dtype != np.int64 for values in arrays):
        raise PolicyError(f"{path}: not the schedule of {len(trace)} jobs")
    start, end, trial_start, trial_end = arrays
    return Schedule(trace, row.policy, row.seed, start, end, trial_start, trial_end).check()
