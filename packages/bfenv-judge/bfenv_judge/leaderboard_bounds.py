"""How far the policies of a leaderboard are from the best possible schedule.

A folder of a leaderboard may have `bounds/<hash>.npz`, one file for each trace, which anyone can
check (`bfenv_judge.bounds.check_gap`). Files of some suites come with bfenv, in `known_bounds`.
Where a trace has both, the stricter of each two numbers counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import bfenv_judge.bounds.gap as gp
from bfenv.core.errors import BfenvError
from bfenv.core.policy import TRIALS
from bfenv.evaluation.row import Row
from bfenv.evaluation.summary import starving
from bfenv.leaderboard.replay import trace_of
from bfenv.leaderboard.standings import division
from bfenv.leaderboard.store import Leaderboard
from bfenv.parallel.sweep import NamedWorkload, run_tasks

METRIC = "mean_bounded_slowdown"
# Found with 10,000 moves per job for smoke-v1, 1,000 for the windows of rlscheduler, 100 for others
KNOWN = Path(__file__).with_name("known_bounds")
Bounds = Mapping[str, gp.GapNumbers]  # by the hash of the trace


class WorkloadGap(NamedTuple):
    """The gap of a workload: means over its traces, and the policy that comes closest."""

    workload: str
    numbers: gp.GapNumbers
    policy: str  # the one with the lowest mean, without those that kill jobs
    value: float  # its mean
    closed: float  # the share of the gap that it closes, see `shares_closed`


def bounds_file(folder: Path, workload_hash: str) -> Path:
    """Return the file of a trace, given by its hash like "sha256:..."."""
    return folder / "bounds" / _name(workload_hash)


def known_bounds(folder: Path, workload_hash: str) -> list[Path]:
    """Return the files of a trace: the one that comes with bfenv, and the one in the folder."""
    paths = KNOWN / _name(workload_hash), bounds_file(folder, workload_hash)
    return [path for path in paths if path.exists()]


def _name(workload_hash: str) -> str:
    return f"{workload_hash.partition(':')[2][:32]}.npz"


def find_bounds(
    leaderboard: Leaderboard, *, moves: int = 100, seed: int = 0, **workers: Any
) -> Iterator[tuple[str, bool]]:
    """Search the gap of each trace of a leaderboard, and keep it in the folder.

    * `leaderboard`: the folder and its rows, which name the traces.
    * `moves`, `seed`: of the local search, see `offline_schedule`.
    * `workers`: where to run, see `bfenv.parallel.run_tasks`.

    Yields each trace's source, and whether it was searched now. Files that are there are kept, and
    traces whose bounds come with bfenv are not searched. Raises BfenvError if a workload cannot be
    loaded or has other jobs than its rows.
    """
    rows = _one_per_trace(leaderboard.rows)
    missing = []
    for row in rows:
        if known_bounds(leaderboard.folder, row.workload_hash):
            yield row.source, False
        else:
            missing.append(row)
    if missing:
        (leaderboard.folder / "bounds").mkdir(exist_ok=True)
    tasks = [(row, moves, seed) for row in missing]
    logs: list[NamedWorkload] = [(row.source, {}) for row in missing]
    for i, gap in run_tasks(_find, tasks, workloads=logs, **workers):
        gp.save_gap(gap, bounds_file(leaderboard.folder, missing[i].workload_hash))
        yield missing[i].source, True


def _find(row: Row, moves: int, seed: int) -> gp.Gap:
    return gp.find_gap(trace_of(row), METRIC, moves=moves, seed=seed)


def read_bounds(leaderboard: Leaderboard) -> Bounds:
    """Read the numbers of the files that are there or come with bfenv, the stricter of each two.

    Raises BfenvError if a file cannot be read, or is about other jobs than its name says.
    """
    bounds: dict[str, gp.GapNumbers] = {}
    for row in _one_per_trace(leaderboard.rows):
        for path in known_bounds(leaderboard.folder, row.workload_hash):
            numbers = gp.read_numbers(path)
            if (numbers.workload_hash, numbers.metric) != (row.workload_hash, METRIC):
                raise BfenvError(f"{path}: is not about the {METRIC} of {row.workload}")
            bounds[row.workload_hash] = bounds.get(row.workload_hash, numbers).stricter(numbers)
    return bounds


def check_bounds(leaderboard: Leaderboard) -> int:
    """Verify every file of bounds from nothing but its trace, and return how many there are.

    Raises BfenvError if a number does not hold, or a row is below a bound.
    """
    bounds, files = read_bounds(leaderboard), 0
    for row in _one_per_trace(leaderboard.rows):
        for path in known_bounds(leaderboard.folder, row.workload_hash):
            gp.check_gap(gp.load_gap(path, trace_of(row)))
            files += 1
    for row in leaderboard.rows:
        value, numbers = row.metrics.get(METRIC), bounds.get(row.workload_hash)
        if numbers is not None and value is not None and value < numbers.bound:
            raise BfenvError(
                f"{row.policy} on {row.workload}, seed {row.seed}: {value:.6g} is below the bound "
                f"{numbers.bound:.6g}"
            )
    return files


def gaps(rows: Iterable[Row], bounds: Bounds) -> list[WorkloadGap]:
    """Return the gap of each workload all of whose traces have bounds, by name.

    The best policy is the best of those that starve no jobs.
    """
    rows = list(rows)
    bad = starving(rows)
    shares = shares_closed(rows, bounds)
    by_workload: dict[str, list[Row]] = {}
    for row in rows:
        by_workload.setdefault(row.workload, []).append(row)
    workload_gaps = []
    for workload, workload_rows in sorted(by_workload.items()):
        hashes = {row.workload_hash for row in workload_rows}
        values = _mean_by_policy(row for row in workload_rows if row.policy not in bad)
        if hashes <= bounds.keys() and values:
            parts = [bounds[workload_hash] for workload_hash in sorted(hashes)]
            means = (
                sum(column) / len(parts) for column in zip(*(p[2:] for p in parts), strict=True)
            )
            policy = min(values, key=lambda name: (values[name], name))
            numbers = gp.GapNumbers("", METRIC, *means)
            workload_gaps.append(
                WorkloadGap(workload, numbers, policy, values[policy], shares[policy][workload])
            )
    return workload_gaps


def shares_closed(rows: Iterable[Row], bounds: Bounds) -> dict[str, dict[str, float]]:
    """Return the share of the gap that each policy closes, by policy and workload.

    It is the mean over the policy's runs on the traces that have bounds. Policies that kill jobs
    are left out, because the best schedules known do not.
    """
    shares: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        value, numbers = row.metrics.get(METRIC), bounds.get(row.workload_hash)
        if division(row) != TRIALS and value is not None and numbers is not None:
            shares.setdefault((row.policy, row.workload), []).append(numbers.closed(value))
    mean_shares: dict[str, dict[str, float]] = {}
    for (policy, workload), values in shares.items():
        mean_shares.setdefault(policy, {})[workload] = sum(values) / len(values)
    return mean_shares


def _mean_by_policy(rows: Iterable[Row]) -> dict[str, float]:
    values: dict[str, list[float | None]] = {}
    for row in rows:
        if division(row) != TRIALS:
            values.setdefault(row.policy, []).append(row.metrics.get(METRIC))
    return {
        name: sum(numbers) / len(numbers)
        for name, column in values.items()
        if (numbers := [value for value in column if value is not None])
        and len(numbers) == len(column)
    }


def _one_per_trace(rows: Iterable[Row]) -> list[Row]:
    return list({row.workload_hash: row for row in rows}.values())
