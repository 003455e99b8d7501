"""One row of the leaderboard: a policy or an agent on a frozen trace.

What is in the row depends on the task and the versions of the programs alone; what differs from
run to run, the times, is kept apart.
"""

import hashlib
import json
import shlex
import socket
import time
from contextlib import suppress
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from bfenv.analysis.summary import summarize
from bfenv.baselines.registry import find_policy, simulate
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.leaderboard.agents import agent_schedule, read_agent
from bfenv.leaderboard.provenance import commit, versions
from bfenv.leaderboard.replay import kept_arrays
from bfenv.leaderboard.standings import REFERENCE
from bfenv.leaderboard.store import SCHEMA, safe_name
from bfenv.leaderboard.suite import Frozen, load_frozen
from bfenv.parallel.sweep import warm_up
from bfenv.parallel.worker_process import Died, in_cell, reason
from bfenv.workloads.load import load_workload

FAIR = "fcfs"  # whose order of starts is held to be fair
TRIED = "lublin:procs=128,jobs=1000,load=0.9"


class Task(NamedTuple):
    """One row's worth of work, in names and numbers."""

    suite: str
    kind: str  # "policy" or "agent"
    policy: str  # its name or expression
    workload: str  # the label of the suite's entry
    load: float | None
    trace: Frozen
    seed: int
    code: str | None = None  # hash of a saved model, or of a module outside bfenv

    @property
    def key(self) -> str:
        """A file name, safe everywhere, that no other row of a suite has."""
        exact = json.dumps([self.kind, self.policy, self.workload, self.seed])
        digest = hashlib.sha256(exact.encode()).hexdigest()[:12]
        return f"{safe_name(self.policy, 40)}_{safe_name(self.workload, 40)}_{self.seed}_{digest}"


class Made(NamedTuple):
    """A row, the times of making it, and the schedule's arrays where they are asked for."""

    row: dict[str, Any]
    timing: dict[str, Any]
    arrays: dict[str, np.ndarray]


def make_row(task: Task, timeout: float, keep: bool) -> Made:
    """The row of a task, made in a process of its own.

    Whatever the policy or agent does, crash or loop beyond `timeout` seconds, is told in its row.
    Raises BfenvError where the fault is not theirs: a trace that is not at hand, or not the
    suite's.
    """
    begin = time.perf_counter()
    try:
        return in_cell(_made, task, keep, timeout=timeout)
    except Died as error:
        trace = load_frozen(task.trace.source, task.trace.hash)
        failed = _frame(task, trace) | {"status": "failed", "error": str(error)}
        return Made(failed, _timing(task, time.perf_counter() - begin), {})


def _made(task: Task, keep: bool) -> Made:
    begin, busy = time.perf_counter(), time.process_time()
    trace, reference, fair = _frozen(task.trace)
    row, arrays = _frame(task, trace), {}
    timing: dict[str, Any] = {}
    try:
        schedule, timing = _run(task, trace)
        row |= summarize(schedule.check(), reference, fcfs=fair)
        if keep:
            arrays = kept_arrays(schedule)
    except BaseException as error:  # a KeyboardInterrupt, too: no Ctrl-C is heard in a cell
        row |= {"status": "failed", "error": reason(error)}
    timing["cpu_seconds"] = time.process_time() - busy
    return Made(row, _timing(task, time.perf_counter() - begin, **timing), arrays)


def _run(task: Task, trace: Trace) -> tuple[Schedule, dict[str, float]]:
    """The schedule, the seconds it took, and those of a decision: a pass, or an action."""
    if task.kind == "agent":
        begin = time.perf_counter()
        schedule, decisions = agent_schedule(trace, task.policy, task.seed)
        return schedule, {
            "seconds": time.perf_counter() - begin,
            "decision_mean": float(decisions.mean()),
            "decision_p99": float(np.percentile(decisions, 99)),
        }
    policy = find_policy(task.policy)
    warm_up(policy)
    begin = time.perf_counter()
    schedule = simulate(trace, policy, task.seed)
    seconds = time.perf_counter() - begin
    passes = len(np.unique(np.concatenate([trace.jobs.submit, schedule.end])))
    return schedule, {"seconds": seconds, "decision_mean": seconds / passes}


def warm_seconds(policy: str) -> float:
    """Compile a policy, and say how many seconds per job it takes on a short trace."""
    trace = load_workload(TRIED)
    begin = end = time.perf_counter()
    with suppress(BaseException):  # what it does wrong is for its rows to say
        found = find_policy(policy)
        warm_up(found)
        begin = time.perf_counter()
        schedule = simulate(trace, found)
        end = time.perf_counter()
        summarize(schedule, schedule, fcfs=schedule)  # compiled, too
    return (end - begin) / len(trace)


@lru_cache(maxsize=2)
def _frozen(frozen: Frozen) -> tuple[Trace, Schedule | None, Schedule | None]:
    """A trace and the schedules that others are compared with; None if these cannot do it."""
    trace = load_frozen(frozen.source, frozen.hash)
    if trace.jobs.requested_start.any():
        return trace, None, None
    return trace, simulate(trace, REFERENCE), simulate(trace, FAIR)


def _frame(task: Task, trace: Trace) -> dict[str, Any]:
    """All of a row but its results."""
    load = trace.offered_load
    saved = task.kind == "agent" and read_agent(task.policy).saved
    option = "--agent" if task.kind == "agent" else "--policy"
    words = ["bfenv", "leaderboard", "run", "--suite", task.suite, option, task.policy]
    return {
        "schema": SCHEMA,
        "suite": task.suite,
        "policy": task.policy,
        "kind": task.kind,
        "workload": task.workload,
        "source": task.trace.source,
        "workload_hash": task.trace.hash,
        "processors": trace.processors,
        "jobs": len(trace),
        "load": task.load,
        "offered_load": load if np.isfinite(load) else None,
        "seed": task.seed,
        "status": "ok",
        "error": "",
        "versions": versions() | (learned() if saved else {}),
        "commit": commit(),
        "command": shlex.join([*words, *(["--trust"] if saved else []), "--out", "DIR"]),
    } | ({"code": task.code} if task.code else {})


def _timing(task: Task, total: float, **seconds: float) -> dict[str, Any]:
    return {
        "policy": task.policy,
        "workload": task.workload,
        "seed": task.seed,
        "host": socket.gethostname(),
        "row_seconds": total,
        **seconds,
    }


@cache
def learned() -> dict[str, str]:
    """What the decisions of a saved model may depend on besides."""
    return {name: version(name) for name in ("torch", "stable-baselines3", "sb3-contrib")}
