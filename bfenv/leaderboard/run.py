"""Run a suite: make the rows that a folder does not have yet.

Only timings depend on how the work is split. Interrupted runs resume: existing rows are skipped.
"""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from bfenv.agents.agent_names import read_agent
from bfenv.core.arguments import check_number
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.evaluation.row import Row
from bfenv.leaderboard.defaults import TIMEOUT
from bfenv.leaderboard.limits import DEFAULT_LIMITS, PlayerLimits
from bfenv.leaderboard.make_row import make_row, warm_environment, warm_seconds
from bfenv.leaderboard.referee import find_referee
from bfenv.leaderboard.store import CONTENTS, continued_suite, find_row, open_store, write_row
from bfenv.leaderboard.suite import FrozenTrace, Suite, load_frozen
from bfenv.leaderboard.task import Task, plan_rows
from bfenv.parallel.shards import take_shard
from bfenv.parallel.sweep import check_workers, run_tasks
from bfenv.parallel.worker_process import WorkerDiedError, call_in_worker, close_worker

LONGEST_TIMEOUT = 1e6  # seconds
LONGEST_WARM_UP = 120.0  # seconds for a policy to be compiled and tried
AGENT_COST = 2e-3  # seconds per job of agents and players, assumed


class SuiteRun(NamedTuple):
    """The rows of a run."""

    new_rows: list[Row]  # in the order they were done
    existing_rows: list[Row]  # that were in the folder before


def run_suite(
    suite: Suite,
    policies: Sequence[str] = (),
    agents: Sequence[str] = (),
    *,
    out: str | os.PathLike[str],
    seeds: int | None = None,
    timeout: float = TIMEOUT,
    trust: bool = False,
    keep_schedules: bool = False,
    retry: bool = False,
    players: Sequence[str] = (),
    limits: PlayerLimits = DEFAULT_LIMITS,
    shard: tuple[int, int] = (1, 1),
    argv: Sequence[str] = (),
    waiting: Callable[[str], None] = lambda text: None,
    begin: Callable[[int, float], None] = lambda rows, cost: None,
    done: Callable[[Row, float], None] = lambda row, cost: None,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
) -> SuiteRun:
    """Make the rows of a suite that are not in a folder yet, and return those made and those there.

    Args:
        suite, policies, agents, players, seeds: What to run, see `plan_rows`.
        out: The folder, see `bfenv.leaderboard.store`; made if it does not exist. Logs of someone's
            own keep the labels that they have in it, also if their files are elsewhere now.
        timeout: Seconds that a row may take.
        trust: Open saved models, which may run any code.
        keep_schedules: Also write the start and end of every job.
        retry: Make failed rows again.
        limits: What a player may use: code that is not bfenv's own.
        shard: (i, n): make only the i-th of n parts of the rows.
        argv: The command line, noted with the timings.
        waiting: Called with what is waited for before any row is made.
        begin: Called with the number of rows to make and their estimated cost.
        done: Called with each row and its part of that cost.
        jobs, backend, scheduler: Where to run, see `bfenv.parallel.sweep.run_tasks`.

    Raises:
        BfenvError: For wrong input, and for a trace that is missing or not the suite's. If a policy
            or agent fails, only its row fails, and it records the reason.

    Examples:
        >>> from bfenv.leaderboard import find_suite, rank_policies, read_leaderboard, run_suite
        >>> outcome = run_suite(find_suite("smoke-v1"), ["easy", "easy-sjf"], out="results")
        >>> for standing in rank_policies(read_leaderboard("results").rows):
        ...     print(standing.rank, standing.policy)
        1 easy-sjf
        1 easy
    """
    check_workers(jobs, backend, scheduler)
    check_number("timeout", timeout, most=LONGEST_TIMEOUT, positive=True)
    for name in agents:
        if read_agent(name).is_saved and not trust:
            raise BfenvError(
                f"{name} is a saved model, and opening it runs whatever code is in it; add --trust "
                "if you know where it comes from"
            )
    folder = Path(out)
    suite = continued_suite(folder, suite)
    limits = limits.hiding([*(folder / part for part in CONTENTS), *suite.files])
    plan = take_shard(plan_rows(suite, policies, agents, seeds, players, limits, waiting), shard)
    open_store(folder, suite)
    existing = {task.key: _existing_row(folder, task, retry) for task in plan}
    tasks = [task for task in plan if existing[task.key] is None]
    outcome = SuiteRun([], [row for row in existing.values() if row is not None])
    if not tasks:
        return outcome
    workers = {"argv": list(argv), "workers": str(scheduler or jobs)}
    try:
        costs = _warm_up(tasks, timeout, waiting, check=backend == "loky")
        # Long rows first, then by workload, because workers keep the traces they loaded.
        tasks.sort(
            key=lambda task: (-math.frexp(_cost(task, costs))[1], task.trace.source, task.key)
        )
        begin(len(tasks), sum(_cost(task, costs) for task in tasks))
        calls = [(task, timeout, keep_schedules, limits) for task in tasks]
        with closing(
            run_tasks(
                make_row,
                calls,
                jobs=jobs,
                backend=backend,
                scheduler=scheduler,
                competitors=[task.policy for task in tasks if task.kind in ("policy", "agent")],
                warm=False,  # `_warm_up` has done it, and code of others is not imported here
                workloads=[(task.trace.source, {}) for task in tasks],
            )
        ) as results:
            for i, result in results:
                date = datetime.now(UTC).isoformat(timespec="seconds")
                timing = result.timing | workers | {"date": date}
                write_row(folder, result.row, timing, result.arrays)
                outcome.new_rows.append(result.row)
                done(result.row, _cost(tasks[i], costs))
    finally:
        close_worker()
    if any(task.command for task in plan):  # without a sandbox, players can write to the folder
        rows = [*outcome.new_rows, *outcome.existing_rows]
        changed = [row for row in rows if find_row(folder, row.key) != row]
        for row in changed:
            write_atomically(folder / "rows" / f"{row.key}.json", row.to_json())
        if changed:
            names = ", ".join(dict.fromkeys(row.policy for row in changed))
            raise BfenvError(
                f"{folder}: rows were changed during the run, and are written again: {names}"
            )
    return outcome


def _existing_row(folder: Path, task: Task, retry: bool) -> Row | None:
    """Return the row of a task; None if there is none, or it must be made again."""
    row = find_row(folder, task.key)
    if row is None or (retry and not row.ok):
        return None
    made_of = (row.suite, row.code, row.workload_hash)
    is_this = made_of == (task.suite, task.code, task.trace.hash)
    is_here = task.is_own or row.source == task.trace.source  # files of one's own may move
    return row if is_this and is_here else None


def _warm_up(
    tasks: Iterable[Task], timeout: float, waiting: Callable[[str], None], check: bool
) -> dict[str, float]:
    """Compile each policy once, before every worker would: seconds per job by policy.

    With `check`, first check that all traces are there and the suite's. Both are done in a worker
    process, in case a policy crashes or loops; a single worker also makes the rows there.
    """
    costs = {}
    if check:
        waiting("preparing traces")
        traces = sorted({task.trace for task in tasks})
        call_in_worker(_check_traces, traces, timeout=TIMEOUT)
    if any(task.kind == "agent" for task in tasks):
        call_in_worker(warm_environment, timeout=TIMEOUT)
    if any(task.command for task in tasks):
        call_in_worker(find_referee().warm_up, timeout=TIMEOUT)
    limit = min(timeout, LONGEST_WARM_UP)
    policies = {task.policy for task in tasks if task.kind == "policy" and not task.command}
    for name in sorted(policies):
        waiting(f"compiling {name}")
        try:
            costs[name] = call_in_worker(warm_seconds, name, timeout=limit)
        except WorkerDiedError:
            costs[name] = limit
    return costs


def _check_traces(traces: Iterable[FrozenTrace]) -> None:
    for trace in traces:
        load_frozen(trace.source, trace.hash)


def _cost(task: Task, costs: dict[str, float]) -> float:
    """The estimated seconds of a row."""
    return costs.get(task.policy, AGENT_COST) * task.trace.jobs
