"""Make one row of a leaderboard: evaluate an entrant on a frozen trace, in a process of its own."""

import shlex
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bfenv.agents.agent_names import WHOLE_TRACE, open_agent, read_agent
from bfenv.agents.agent_policy import AgentCompetitor
from bfenv.agents.card import read_card
from bfenv.agents.seen_jobs import check_unseen
from bfenv.analysis.logged import LOGGED
from bfenv.analysis.summary import summarize
from bfenv.baselines.registry import find_competitor, simulate
from bfenv.core.competitor import Competitor
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace, make_trace
from bfenv.core.policy import division_of
from bfenv.core.schedule import Schedule
from bfenv.core.versions import sources_hash, versions
from bfenv.envs.backfill import BackfillEnv
from bfenv.evaluation.cases import Case
from bfenv.evaluation.evaluator import evaluate
from bfenv.evaluation.row import Row, new_row
from bfenv.leaderboard.entrants import card_of, distribution_of, player_command
from bfenv.leaderboard.foresight import NONE_FOUND, NOT_CHECKED, foresight_of_agent
from bfenv.leaderboard.limits import DEFAULT_LIMITS, PlayerLimits, hide_memory
from bfenv.leaderboard.provenance import commit, distribution_versions, model_versions
from bfenv.leaderboard.referee import find_referee
from bfenv.leaderboard.replay import schedule_arrays, schedule_hash
from bfenv.leaderboard.suite import load_frozen
from bfenv.leaderboard.task import Task
from bfenv.parallel.failures import describe_error
from bfenv.parallel.sweep import warm_up
from bfenv.parallel.worker_process import WorkerDiedError, call_in_worker
from bfenv.workloads.load import load_workload


def warm_environment() -> None:
    """Compile what an episode needs, or load its compiled code."""
    env = BackfillEnv(make_trace([0], [1], [1], 1), **WHOLE_TRACE)
    env.reset(seed=0)
    env.step(0)


PROBE = "lublin:procs=128,jobs=1000,load=0.9"  # on which a policy's speed is measured


class MadeRow(NamedTuple):
    """A row, how long it took, and the schedule's arrays if they are to be kept."""

    row: Row
    timing: dict[str, Any]
    arrays: dict[str, np.ndarray]


def make_row(
    task: Task, timeout: float, keep_schedule: bool, limits: PlayerLimits = DEFAULT_LIMITS
) -> MadeRow:
    """Make the row of a task in a separate process, which is the referee.

    Code that is not bfenv's own runs in a player, a process of the referee. If the policy or agent
    raises, crashes or takes more than `timeout` seconds, the row has the status "failed" and the
    reason.

    Raises BfenvError if the trace cannot be loaded, or is not the suite's.
    """
    begin = time.perf_counter()
    try:
        return call_in_worker(_make_row, task, keep_schedule, limits, timeout=timeout)
    except WorkerDiedError as error:
        trace = load_frozen(task.trace.source, task.trace.hash)
        row = _row_without_results(task, trace, limits)
        row = replace(row, status="failed", error=str(error))
        return MadeRow(row, _timing(task, time.perf_counter() - begin), {})


def _make_row(task: Task, keep_schedule: bool, limits: PlayerLimits) -> MadeRow:
    hide_memory()
    begin, busy = time.perf_counter(), time.process_time()
    trace = load_frozen(task.trace.source, task.trace.hash)
    row, arrays = _row_without_results(task, trace, limits), {}
    seconds: dict[str, float] = {}
    try:
        if task.error:
            raise PolicyError(task.error)
        with _opened(task, limits) as competitor:
            evaluated = _evaluated(competitor, task, trace)
            schedule = evaluated.schedule
            assert schedule is not None
            seconds = _seconds(evaluated, schedule)
            foresight = _foresight(competitor, task, trace)
        row = replace(
            row,
            metrics=evaluated.metrics,
            classes=evaluated.classes,
            versus=evaluated.versus,
            curves=evaluated.curves,
            foresight=foresight,
            schedule_hash=schedule_hash(schedule),
        )
        if keep_schedule:
            arrays = schedule_arrays(schedule)
    except BaseException as error:  # KeyboardInterrupt, too: Ctrl-C does not reach this process
        row = replace(row, status="failed", error=describe_error(error))
    seconds["cpu_seconds"] = time.process_time() - busy
    return MadeRow(row, _timing(task, time.perf_counter() - begin, **seconds), arrays)


@contextmanager
def _opened(task: Task, limits: PlayerLimits) -> Iterator[Competitor | None]:
    """Open the competitor of a task; None of what a log records."""
    if task.kind == "log":
        yield None
    elif task.command:
        with find_referee().playing(
            task.kind,
            task.policy,
            player_command(task.kind, task.policy),  # with the paths of this machine
            limits,
            trials=bool(task.trials),
            requested_starts=task.requested_starts,
        ) as competitor:
            yield competitor
    elif task.kind == "agent":
        choice = read_agent(task.policy).deterministic
        yield AgentCompetitor(open_agent(task.policy), task.policy, choice)
    else:
        yield find_competitor(task.policy)


def _evaluated(competitor: Competitor | None, task: Task, trace: Trace) -> Row:
    """Evaluate a competitor on the trace of a task, and return the row with its schedule.

    Raises PolicyError if the competitor fails, or was trained on some of the jobs.
    """
    if competitor is not None and (card := card_of(competitor)):
        seen_jobs = read_card(card).seen_jobs
        check_unseen(competitor.name, seen_jobs, trace, source=task.trace.source)
    case = Case(task.trace.source, seed=task.seed, is_frozen=True)
    [row] = evaluate([competitor or LOGGED], [case], full=True, keep_schedules=True)
    if not row.ok:
        raise PolicyError(row.error)
    return row


def _seconds(row: Row, schedule: Schedule) -> dict[str, float]:
    """Return the seconds of a run, and those per decision: an action of an agent, else a pass."""
    assert row.seconds is not None
    if row.kind == "log":
        return {}
    if row.decision_seconds is not None:
        return {
            "seconds": row.seconds,
            "decision_mean": float(row.decision_seconds.mean()),
            "decision_p99": float(np.percentile(row.decision_seconds, 99)),
        }
    passes = len(np.unique(np.concatenate([schedule.trace.jobs.submit, schedule.end])))
    return {"seconds": row.seconds, "decision_mean": row.seconds / passes}


def _foresight(competitor: Competitor | None, task: Task, trace: Trace) -> str | None:
    """Return what an agent or a player foresees; PolicyError if it foresees anything."""
    if competitor is not None and task.command:
        foresight = find_referee().foresight_of(competitor, trace, task.seed)
    elif task.kind == "agent":
        foresight = foresight_of_agent(task.policy, trace, task.seed)
    else:
        return None
    if foresight != NONE_FOUND and not foresight.startswith(NOT_CHECKED):
        raise PolicyError(foresight)
    return foresight


def warm_seconds(name: str) -> float:
    """Compile a policy, and return the seconds per job that it takes on a short trace."""
    trace = load_workload(PROBE)
    begin = end = time.perf_counter()
    with suppress(BaseException):  # its rows will have the error
        policy = find_competitor(name)
        warm_up(policy)
        begin = time.perf_counter()
        schedule = simulate(trace, policy)
        end = time.perf_counter()
        summarize(schedule, schedule, fcfs=schedule)  # compile what measures it, too
    return (end - begin) / len(trace)


def _row_without_results(task: Task, trace: Trace, limits: PlayerLimits) -> Row:
    is_saved = task.kind == "agent" and read_agent(task.policy).is_saved
    on = ["--workload", task.trace.source] if task.is_own else ["--suite", task.suite]
    words = ["bfenv", "leaderboard", "run", *on]
    extra = distribution_of(task.policy) if task.kind in ("policy", "agent") else ""
    if task.kind != "log":
        words += [f"--{task.kind}", task.policy]
    return new_row(
        trace,
        suite=task.suite,
        policy=task.policy,
        kind=task.kind,
        workload=task.workload,
        source=task.trace.source,
        load=task.load,
        seed=task.seed,
        versions=versions()
        | {"sources": sources_hash()}
        | (model_versions() if is_saved else {})
        | (distribution_versions(extra) if extra else {}),
        commit=commit(),
        command=shlex.join([*words, *(["--trust"] if is_saved else []), "--out", "DIR"]),
        code=task.code,
        division=division_of(bool(task.trials), trace),
        sandbox=limits.sandbox if task.command else None,
    )


def _timing(task: Task, total: float, **seconds: float) -> dict[str, Any]:
    return {
        "policy": task.policy,
        "workload": task.workload,
        "seed": task.seed,
        "host": socket.gethostname(),
        "row_seconds": total,
        **seconds,
    }
