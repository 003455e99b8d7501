"""Runs of the leaderboard: the rows a suite wants, those still lacking, their files.

A folder holds `suite.json`, and for each row `rows/<key>.json`, the same bytes whoever makes it,
`timings/<key>.json`, what differs from run to run, and on request `schedules/<key>.npz`. A row is
written last, whole or not at all: it is there when all of it is done, so that a run that was
killed goes on where it was, and the folders of shards can be merged by copying.
"""

import io
import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.leaderboard.agents import code_hash, is_random, read_agent, warm_environment
from bfenv.leaderboard.row import Made, Task, make_row, warm_seconds
from bfenv.leaderboard.suite import Frozen, Suite, load_frozen
from bfenv.parallel.sweep import check_where, share, sweep
from bfenv.parallel.worker_process import TIMEOUT, Died, close_cell, in_cell

LONGEST_WARM_UP = 120.0  # seconds for a policy to be compiled and tried
AGENT_COST = 2e-3  # seconds per job, assumed


class Outcome(NamedTuple):
    """What a run did."""

    made: list[dict[str, Any]]  # rows, in the order they were done
    there: list[dict[str, Any]]  # rows that were there already


def run(
    suite: Suite,
    policies: Sequence[str] = (),
    agents: Sequence[str] = (),
    *,
    out: str | os.PathLike,
    seeds: int | None = None,
    timeout: float = TIMEOUT,
    trust: bool = False,
    keep_schedules: bool = False,
    retry: bool = False,
    shard: tuple[int, int] = (1, 1),
    argv: Sequence[str] = (),
    begin: Callable[[int, float], None] = lambda rows, cost: None,
    done: Callable[[dict[str, Any], float], None] = lambda row, cost: None,
    **where,
) -> Outcome:
    """Make the rows of these policies and agents on the suite that are not in the folder `out` yet.

    `seeds` restricts the suite's seeds to the first so many. A row takes at most `timeout` seconds;
    one that failed stays, unless `retry` makes it again. Saved models are opened only with `trust`.
    `shard` (i, n) does the i-th share of n. `begin` hears how many rows are to be made and what
    they are estimated to cost in all, `done` each row and its cost. `where` are the options of
    `bfenv.parallel.sweep.sweep`: jobs, backend, scheduler.

    Raises BfenvError for wrong input and for a trace that is not at hand or not the suite's; never
    for what a policy or an agent does.
    """
    check_where(**where)
    if not (math.isfinite(timeout) and 0 < timeout <= 1e6):
        raise BfenvError(f"the time limit is seconds up to a million, not {timeout}")
    for name in agents:
        if read_agent(name).saved and not trust:
            raise BfenvError(
                f"{name} is a saved model, and to open it is to run whatever is in it; --trust "
                "says that you know where it comes from"
            )
    mine = share(plan(suite, policies, agents, seeds), shard)
    folder = _opened(Path(out), suite)
    found = {task.key: _row_there(folder, task, retry) for task in mine}
    tasks = [task for task in mine if found[task.key] is None]
    there, made = [row for row in found.values() if row is not None], []
    if not tasks:
        return Outcome(made, there)
    costs = _prepared(tasks, timeout, check=where.get("backend", "loky") == "loky")
    tasks.sort(key=lambda task: _turn(task, costs))
    begin(len(tasks), sum(_cost(task, costs) for task in tasks))
    facts = {
        "argv": list(argv),
        "workers": str(where.get("scheduler") or where.get("jobs", 1)),
    }
    calls = [(task, timeout, keep_schedules) for task in tasks]
    try:
        with closing(sweep(make_row, calls, **where)) as results:
            for place, result in results:
                _write(folder, tasks[place].key, result, facts)
                made.append(result.row)
                done(result.row, _cost(tasks[place], costs))
    finally:
        close_cell()
    return Outcome(made, there)


def plan(
    suite: Suite, policies: Sequence[str], agents: Sequence[str], seeds: int | None = None
) -> list[Task]:
    """Every row that a suite wants of these policies and agents, in a fixed order.

    A seed stands for a trace of the suite, or, where an entry has one trace only, for the decisions
    of a stochastic policy; where it stands for neither there is one row.

    Raises BfenvError for more seeds than the suite has, a name that is none or stands for a policy
    and an agent, and an agent where the suite's jobs may be those it was trained on.
    """
    if seeds is not None and not 1 <= seeds <= suite.seeds:
        raise BfenvError(f"{suite.name} has 1 to {suite.seeds} seeds, not {seeds}")
    if agents and not suite.unseen:
        raise BfenvError(
            f"{suite.name} takes no agents: its jobs are not kept apart from those to train on"
        )
    for name in set(policies) & set(agents):  # in a ranking they would be one
        raise BfenvError(f"{name} is asked for as a policy and as an agent: choose one")
    players = [("policy", name, find_policy(name).stochastic) for name in policies]
    players += [("agent", name, is_random(name)) for name in agents]
    codes = {(kind, name): code_hash(kind, name) for kind, name, _ in players}
    tasks = {}
    for entry in suite.entries:
        for kind, name, random in players:
            several = len(entry.traces) > 1
            for seed in range(seeds or suite.seeds if several or random else 1):
                trace = entry.traces[seed if several else 0]
                code = codes[kind, name]
                task = Task(suite.name, kind, name, entry.label, entry.load, trace, seed, code)
                tasks[task.key] = task  # a policy named twice counts once
    return list(tasks.values())


def spent(folder: str | os.PathLike) -> dict[str, list[tuple[str, int, float]]]:
    """Where the time went: by "policy" and "workload", name, rows and seconds, longest first.

    What cannot be read is left out: times are not needed for anything else.
    """
    seconds: dict[str, dict[str, list[float]]] = {"policy": {}, "workload": {}}
    for file in sorted((Path(folder) / "timings").glob("*.json")):
        with suppress(ValueError, KeyError, TypeError):
            timing = json.loads(file.read_bytes())
            took = float(timing["row_seconds"])
            for column, several in seconds.items():
                several.setdefault(timing[column], []).append(took)
    return {
        column: sorted(
            ((name, len(each), sum(each)) for name, each in several.items()),
            key=lambda line: (-line[2], line[0]),
        )
        for column, several in seconds.items()
    }


def _opened(folder: Path, suite: Suite) -> Path:
    """The folder, made if it is not there; BfenvError if it is another suite's."""
    text = _json(suite.description())
    try:
        for part in ("rows", "timings"):
            (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BfenvError(f"{folder}: cannot be made a folder: {error.strerror}") from error
    file = folder / "suite.json"
    if not file.exists() or not any((folder / "rows").iterdir()):
        write_atomically(file, text)
    elif file.read_bytes() != text:
        raise BfenvError(
            f"{folder} holds the rows of another suite or version, see {file}; "
            f"{suite.name} needs a folder of its own"
        )
    return folder


def _row_there(folder: Path, task: Task, retry: bool) -> dict[str, Any] | None:
    """A file that cannot be read, as a disk may leave it that was full or cut off, is no row."""
    try:
        row = json.loads((folder / "rows" / f"{task.key}.json").read_bytes())
        again = row.get("code") != task.code or (retry and row["status"] == "failed")
        return None if again else row
    except (FileNotFoundError, ValueError, AttributeError, KeyError):
        return None


def _prepared(tasks: Iterable[Task], timeout: float, check: bool) -> dict[str, float]:
    """Compile each policy once, before the workers would each do it: name -> seconds per job.

    `check` looks first whether all traces are at hand and the suite's. Both are done in a cell:
    a policy that crashes or loops here, too, costs only itself.
    """
    costs = {}
    try:
        if check:
            traces = sorted({task.trace for task in tasks})
            in_cell(_check, traces, timeout=TIMEOUT)
        if any(task.kind == "agent" for task in tasks):
            in_cell(warm_environment, timeout=TIMEOUT)
        for name in sorted({task.policy for task in tasks if task.kind == "policy"}):
            try:
                limit = min(timeout, LONGEST_WARM_UP)
                costs[name] = in_cell(warm_seconds, name, timeout=limit)
            except Died:
                costs[name] = limit
    finally:
        close_cell()
    return costs


def _check(traces: Sequence[Frozen]) -> None:
    for trace in traces:
        load_frozen(trace.source, trace.hash)


def _cost(task: Task, costs: dict[str, float]) -> float:
    return costs.get(task.policy, AGENT_COST) * task.trace.jobs


def _turn(task: Task, costs: dict[str, float]) -> tuple:
    """Long rows first; of like length workload by workload, for the traces workers have loaded."""
    return -math.frexp(_cost(task, costs))[1], task.trace.source, task.key


def _write(folder: Path, key: str, made: Made, facts: dict[str, Any]) -> None:
    if made.arrays:
        (folder / "schedules").mkdir(exist_ok=True)
        packed = io.BytesIO()
        np.savez_compressed(packed, **made.arrays)
        write_atomically(folder / "schedules" / f"{key}.npz", packed.getvalue())
    now = datetime.now(UTC).isoformat(timespec="seconds")
    timing = made.timing | facts | {"date": now}
    write_atomically(folder / "timings" / f"{key}.json", _json(timing))
    write_atomically(folder / "rows" / f"{key}.json", _json(made.row))


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()
