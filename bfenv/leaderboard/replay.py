"""The schedule behind a row of a leaderboard, kept or made again."""

import zipfile

import numpy as np

from bfenv.baselines.registry import simulate
from bfenv.core.errors import BfenvError, PolicyError, WorkloadError
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.leaderboard.store import Board, Row
from bfenv.leaderboard.suite import content_hash
from bfenv.workloads.load import load_workload

ARRAYS = ("start", "end", "trial_start", "trial_end")


def schedule_of(board: Board, row: Row) -> Schedule:
    """The schedule of an ok row: that kept with it, or else simulated anew.

    The workload must have the content that the row's hash names, and a schedule kept is checked
    before anybody looks at it. Policies are run again by registered name or expression only:
    importing a module that a folder names would be running whatever the folder's author wants.

    Raises BfenvError saying why there is none.
    """
    trace = trace_of(row)
    path = board.folder / "schedules" / f"{row['key']}.npz"
    if path.exists():
        return _kept(path, trace, row)
    if row["kind"] != "policy" or ":" in row["policy"]:
        raise BfenvError(f"{row['policy']}: its schedule was not kept (--keep-schedules)")
    return simulate(trace, row["policy"], row["seed"])


def kept_arrays(schedule: Schedule) -> dict[str, np.ndarray]:
    """What is kept of a schedule, by name; of trials nothing where there were none."""
    names = ARRAYS if (schedule.trial_end >= 0).any() else ARRAYS[:2]
    return {name: getattr(schedule, name) for name in names}


def trace_of(row: Row) -> Trace:
    """The workload of a row, made or read again; BfenvError if it is not the same any more."""
    try:
        trace = load_workload(row["source"])
    except FileNotFoundError as error:
        raise WorkloadError(str(error)) from error
    if content_hash(trace) != row["workload_hash"]:
        raise WorkloadError(f"{row['workload']}: {row['source']} has other jobs than the row's")
    return trace


def _kept(path, trace: Trace, row: Row) -> Schedule:
    never = np.full(len(trace), -1)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = [file[name] if name in file.files else never for name in ARRAYS]
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise BfenvError(f"{path}: cannot be read: {error}") from error
    if any(values.shape != (len(trace),) or values.dtype != np.int64 for values in arrays):
        raise PolicyError(f"{path}: not the schedule of {len(trace)} jobs")
    return Schedule(trace, row["policy"], row["seed"], *arrays).check()
