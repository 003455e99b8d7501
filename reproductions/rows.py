"""Rows: what one run gave, which runs items need, and the folder that keeps the rows.

A row depends on its run only, except for its seconds. It is written atomically, so an interrupted
run resumes, and shards may share a folder. `rows.jsonl` has all rows of a page in one file.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.registry import find_competitor, simulate
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.jobs import Trace, make_trace
from bfenv.core.versions import versions
from bfenv.leaderboard.provenance import commit
from bfenv.parallel.shards import take_shard
from bfenv.parallel.sweep import NamedWorkload, run_tasks, warm_up
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import is_random, transformed
from reproductions.examples import EXAMPLES
from reproductions.item import RUNTIME_FACTOR, Item, Run
from reproductions.measures import MEASURES, WORKLOAD_MEASURES

Row = dict[str, Any]
SCHEMA = 1
DIGITS = 7  # significant, of the numbers in a row


class Plan(NamedTuple):
    """What is there, what is to be made, and what cannot be made."""

    wanted: dict[Run, set[str]]  # measures of each run
    rows: dict[Run, Row]  # that the folder has
    missing: list[Run]  # to be made
    unavailable: set[str]  # workloads that are not on this machine


def plan(items: Sequence[Item], folder: Path, quick: bool = False) -> Plan:
    """List the runs that items of one paper need, and find the rows that a folder has of them."""
    wanted: dict[Run, set[str]] = {}
    for item in items:
        for value in item.build(quick).values():
            wanted.setdefault(value.run, set()).add(value.measure)
    rows = read_rows(folder, wanted)
    missing = [run for run in wanted if run not in rows]
    unavailable = {name for name in {run.workload for run in missing} if not is_available(name)}
    missing = [run for run in missing if run.workload not in unavailable]
    return Plan(wanted, rows, missing, unavailable)


def run(
    planned: Plan,
    folder: Path,
    *,
    shard: tuple[int, int] = (1, 1),
    done: Callable[[Run], None] = lambda run: None,
    **workers: Any,
) -> dict[Run, Row]:
    """Make the missing rows of a plan, write each as soon as it is there, and return all rows.

    With the shard (i, n), only the i-th of n parts is made. `done` is called after each row.
    `workers` says where to run, see `bfenv.parallel.run_tasks`.

    Raises:
        BfenvError: If a run fails, or a file cannot be written.
    """
    (folder / "rows").mkdir(parents=True, exist_ok=True)
    missing = take_shard(planned.missing, shard)
    rows = dict(planned.rows)
    # A row that is made again keeps the measures that other items wanted.
    earlier_rows = read_rows(folder, {missing_run: set() for missing_run in missing})
    measure_names = MEASURES.keys() | WORKLOAD_MEASURES.keys()
    tasks = []
    for missing_run in missing:
        kept = (
            earlier_rows[missing_run]["values"].keys() & measure_names
            if missing_run in earlier_rows
            else set()
        )
        tasks.append((missing_run, tuple(sorted(planned.wanted[missing_run] | kept))))
    policies = sorted(
        {
            name
            for missing_run in missing
            for name in (missing_run.policy, missing_run.reference)
            if name
        }
    )
    named = dict.fromkeys(run.workload for run in missing)
    logs: list[NamedWorkload] = [(name, {}) for name in named if name not in EXAMPLES]
    with closing(
        run_tasks(make_row, tasks, competitors=policies, workloads=logs, **workers)
    ) as results:
        for i, row in results:
            rows[missing[i]] = row
            write_atomically(row_file(folder, missing[i]), _line(row))
            done(missing[i])
    return rows


def make_row(run: Run, measures: tuple[str, ...]) -> Row:
    """Simulate a run with all its seeds and return its row.

    Raises:
        BfenvError: If the workload or the policy is unknown or cannot be run.
    """
    base = _base(run.workload)
    steps = dict(run.steps)
    factor = steps.pop(RUNTIME_FACTOR, 1.0)
    if factor != 1.0:  # longer or shorter runtimes, and these as estimates
        runtime = np.ceil(base.runtime * factor).astype(np.int64)
        label = f"{base.name}*{factor:g}"
        base = make_trace(base.jobs.submit, base.jobs.size, runtime, base.processors, name=label)
    named = [name for name in (run.policy, run.reference) if name]
    for name in named:
        warm_up(find_competitor(name))
    begin = time.perf_counter()
    values: dict[str, list[Any]] = {name: [] for name in measures}
    trace = base
    for seed in range(run.seeds):
        if steps and (seed == 0 or is_random(**steps)):
            trace = transformed(base, **steps, seed=seed)
        schedules = [simulate(trace, name, seed) for name in named]
        for name in measures:
            value = MEASURES[name](*schedules) if schedules else WORKLOAD_MEASURES[name](trace)
            values[name].append(_plain(value))
    return {
        "schema": SCHEMA,
        "run": run_dict(run),
        "trace": trace.name,
        "jobs": len(trace),
        "processors": trace.processors,
        "offered_load": _plain(trace.offered_load),
        "workload_hash": base.hash,
        "values": values,
        "seconds": round(time.perf_counter() - begin, 3),
        "versions": versions(),
        "commit": commit(),
    }


@cache
def _base(workload: str) -> Trace:
    return EXAMPLES[workload]() if workload in EXAMPLES else load_workload(workload)


def is_available(workload: str) -> bool:
    """Return whether a workload can be loaded on this machine."""
    try:
        _base(workload)
    except (BfenvError, FileNotFoundError):
        return False
    return True


def run_dict(run: Run) -> dict[str, Any]:
    """Return a run as JSON has it."""
    return run._asdict() | {"steps": [list(step) for step in run.steps]}


def row_file(folder: Path, run: Run) -> Path:
    """Return the file of a run's row."""
    digest = hashlib.sha256(json.dumps(run_dict(run), sort_keys=True).encode()).hexdigest()
    return folder / "rows" / f"{digest[:20]}.json"


def write_rows(folder: Path, rows: Iterable[Row]) -> None:
    """Write the rows of a page to one file, `rows.jsonl`."""
    write_atomically(folder / "rows.jsonl", b"".join(sorted(_line(row) for row in rows)))


def read_rows(folder: Path, wanted: Mapping[Run, set[str]]) -> dict[Run, Row]:
    """Read the rows that a folder has of these runs, with all their measures.

    Raises:
        BfenvError: If `rows.jsonl` cannot be read.
    """
    merged = _merged(folder / "rows.jsonl")
    rows = {}
    for run, measures in wanted.items():
        for row in (_read(row_file(folder, run)), merged.get(json.dumps(run_dict(run)))):
            if row is not None and measures <= row["values"].keys():
                rows[run] = row
                break
    return rows


def _merged(path: Path) -> dict[str, Row]:
    if not path.exists():
        return {}
    try:
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
        return {json.dumps(row["run"]): row for row in rows if row["schema"] == SCHEMA}
    except (ValueError, KeyError, TypeError) as error:
        raise BfenvError(f"{path}: not the rows of a reproduction: {error}") from error


def _read(path: Path) -> Row | None:
    """Read a row; None if it is missing or damaged."""
    try:
        row: Row = json.loads(path.read_bytes())
        return row if row["schema"] == SCHEMA else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _line(row: Row) -> bytes:
    order = ["run", *sorted(row.keys() - {"run"})]
    return (json.dumps({name: row[name] for name in order}, allow_nan=False) + "\n").encode()


def _plain(value: Any) -> Any:
    """Convert a value to the types of JSON, with DIGITS digits; NaN and infinity become None."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    if isinstance(value, int | np.integer | np.bool_):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.{DIGITS}g}") if math.isfinite(value) else None
    return value
