"""Make one row of a leaderboard: run a policy or an agent on a frozen trace, and measure it."""

import shlex
import socket
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bfenv.agents.agent_names import WHOLE_TRACE, open_agent, read_agent
from bfenv.agents.agent_policy import AgentCompetitor
from bfenv.agents.card import read_card
from bfenv.agents.player import Played
from bfenv.agents.seen_jobs import check_unseen
from bfenv.analysis.logged import logged_schedule
from bfenv.analysis.summary import summarize
from bfenv.baselines.registry import find_competitor, simulate
from bfenv.core.competitor import Competitor
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace, make_trace
from bfenv.core.policy import Policy, division_of
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import ignore
from bfenv.envs.backfill import BackfillEnv
from bfenv.evaluation.evaluator import references
from bfenv.evaluation.row import Row, new_row
from bfenv.leaderboard.competitors import card_of
from bfenv.leaderboard.foresight import NONE_FOUND, NOT_CHECKED, foresight_of_agent
from bfenv.leaderboard.limits import DEFAULT, PlayerLimits, hide_memory
from bfenv.leaderboard.provenance import commit, model_versions, sources_hash, versions
from bfenv.leaderboard.referee import find_referee
from bfenv.leaderboard.replay import schedule_arrays, schedule_hash
from bfenv.leaderboard.suite import FrozenTrace, load_frozen
from bfenv.leaderboard.task import Task
from bfenv.parallel.failures import describe_error
from bfenv.parallel.sweep import warm_up
from bfenv.parallel.worker_process import WorkerDiedError, call_in_worker
from bfenv.workloads.load import load_workload


def agent_schedule(
    trace: Trace, name: str, seed: int, remote: Any = None
) -> tuple[Schedule, Played]:
    """Run an agent on a whole trace, from an empty machine, in one episode.

    * `trace`: the jobs; there are no others.
    * `name`: see `bfenv.agents.agent_names.read_agent`.
    * `seed`: for the environment, for agents that take one, and for models that sample actions.
    * `remote`: the agent in its player; None for bfenv's own agents.

    Raises PolicyError at the first illegal action that cannot be replaced, and if a player fails.
    Raises BfenvError if there is no such agent, a saved model does not fit the environment, or the
    agent was trained on some of the jobs.
    """
    if remote is not None:
        played = find_referee().play_remotely(trace, remote, seed)
        return played.times.schedule(trace, name, seed), played
    competitor = AgentCompetitor(open_agent(name), name, read_agent(name).deterministic)
    return competitor.play(trace, seed, ignore)


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
    task: Task, timeout: float, keep_schedule: bool, limits: PlayerLimits = DEFAULT
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
    trace, _, _, logged = _load_trace(task.trace)
    row, arrays = _row_without_results(task, trace, limits), {}
    seconds: dict[str, float] = {}
    try:
        notes: dict[str, float] = {}
        if task.kind == "log" and logged is not None:
            schedule = logged  # which need not be what this machine allows
        else:
            if task.error:
                raise PolicyError(task.error)
            needs_player = task.kind == "agent" and task.command  # to load a model takes seconds
            with (
                find_referee().remote_agent(task.policy, task.command, limits)
                if needs_player
                else nullcontext()
            ) as remote:
                schedule, seconds, notes = _run(task, trace, limits, remote)
                if (schedule.trial_end >= 0).any() and not task.trials:
                    raise PolicyError("it starts jobs for trials, and has not declared it")
                schedule.check()
                row = replace(row, foresight=_foresight(task, trace, limits, remote))
        row = with_schedule(row, schedule, task.trace, notes)
        if keep_schedule:
            arrays = schedule_arrays(schedule)
    except BaseException as error:  # KeyboardInterrupt, too: Ctrl-C does not reach this process
        row = replace(row, status="failed", error=describe_error(error))
    seconds["cpu_seconds"] = time.process_time() - busy
    return MadeRow(row, _timing(task, time.perf_counter() - begin, **seconds), arrays)


def with_schedule(
    row: Row, schedule: Schedule, frozen: FrozenTrace, notes: Mapping[str, float | None]
) -> Row:
    """Return a row with all results that follow from its schedule, and with an agent's notes."""
    _, reference, fair, logged = _load_trace(frozen)
    if row.kind == "log":
        logged = schedule
    results = summarize(schedule, reference, fcfs=fair, logged=logged)
    row = row.with_results(results | {"metrics": {**results["metrics"], **notes}})
    return replace(row, schedule_hash=schedule_hash(schedule))


def _run(
    task: Task, trace: Trace, limits: PlayerLimits, remote: Any
) -> tuple[Schedule, dict[str, float], dict[str, float]]:
    """Make the schedule; also return its seconds and those per decision, and an agent's notes.

    A decision is a pass of a policy, or an action of an agent.
    """
    if task.kind == "agent":
        begin = time.perf_counter()
        schedule, played = agent_schedule(trace, task.policy, task.seed, remote)
        seconds = {
            "seconds": time.perf_counter() - begin,
            "decision_mean": float(played.seconds.mean()),
            "decision_p99": float(np.percentile(played.seconds, 99)),
        }
        return schedule, seconds, {name: float(value) for name, value in played.notes.items()}
    competitor: Policy | Competitor
    if task.command:
        competitor = find_referee().policy_of_program(
            task.command,
            task.policy,
            limits,
            trials=bool(task.trials),
            requested_starts=task.requested_starts,
        )
    else:
        competitor = find_competitor(task.policy)
        warm_up(competitor)
    if card := card_of(competitor):
        check_unseen(competitor.name, read_card(card).seen_jobs, trace, source=task.trace.source)
    begin = time.perf_counter()
    schedule = simulate(trace, competitor, task.seed)
    total = time.perf_counter() - begin
    passes = len(np.unique(np.concatenate([trace.jobs.submit, schedule.end])))
    return schedule, {"seconds": total, "decision_mean": total / passes}, {}


def _foresight(task: Task, trace: Trace, limits: PlayerLimits, remote: Any) -> str | None:
    """Return what an agent or a player foresees; PolicyError if it foresees anything."""
    if remote is not None:
        found = find_referee().foresight_of_remote_agent(task.policy, trace, task.seed, remote)
    elif task.kind == "agent":
        found = foresight_of_agent(task.policy, trace, task.seed)
    elif task.command:
        found = find_referee().foresight_of(task.policy, task.command, trace, task.seed, limits)
    else:
        return None
    if found != NONE_FOUND and not found.startswith(NOT_CHECKED):
        raise PolicyError(found)
    return found


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


@lru_cache(maxsize=2)
def _load_trace(
    frozen: FrozenTrace,
) -> tuple[Trace, Schedule | None, Schedule | None, Schedule | None]:
    """Load a trace; return it, what `references` returns, and the log's schedule or None."""
    trace = load_frozen(frozen.source, frozen.hash)
    return trace, *references(trace), logged_schedule(trace)


def _row_without_results(task: Task, trace: Trace, limits: PlayerLimits) -> Row:
    is_saved = task.kind == "agent" and read_agent(task.policy).is_saved
    on = ["--workload", task.trace.source] if task.is_own else ["--suite", task.suite]
    words = ["bfenv", "leaderboard", "run", *on]
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
        versions=versions() | {"sources": sources_hash()} | (model_versions() if is_saved else {}),
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
