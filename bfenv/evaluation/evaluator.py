"""The evaluator: every competitor on every case, one row for each pair.

A case is a trace or some episodes, see `bfenv.evaluation.cases`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from bfenv.agents.agent_policy import AgentCompetitor
from bfenv.agents.player import Played
from bfenv.analysis.calibration import calibrate
from bfenv.analysis.logged import LOGGED, logged_schedule
from bfenv.analysis.summary import json_ready, metrics, summarize
from bfenv.baselines.registry import find_competitor, simulate
from bfenv.core.arguments import check_integer
from bfenv.core.competitor import Competitor
from bfenv.core.durations import TAU
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.kernel import uncompiled_calls
from bfenv.core.partitions import Partitions, is_partitioned, partitions_of, with_partitions
from bfenv.core.policy import COMPLETION, Policy, Watch, division_of, plans_for
from bfenv.core.schedule import Schedule
from bfenv.evaluation.cases import Case, Episodes
from bfenv.evaluation.episodes import row_of_episodes, score_episodes
from bfenv.evaluation.row import Row, new_row
from bfenv.evaluation.summary import FAIR, REFERENCE
from bfenv.parallel.failures import describe_error
from bfenv.parallel.shards import take_shard
from bfenv.parallel.shares import Shares, reporting
from bfenv.parallel.sweep import portable, run_tasks, warm_up

FAILURES = (Exception, SystemExit)  # of the code of others

C = TypeVar("C", Case, Episodes, Case | Episodes)
Named = str | Policy | Competitor  # what `find_competitor` takes, or LOGGED


def evaluate(
    competitors: Sequence[Named],
    cases: Sequence[Case | Episodes],
    *,
    full: bool = False,
    tau: int = TAU,
    keep_schedules: bool = False,
    shard: tuple[int, int] = (1, 1),
    done: Callable[[Row], None] = lambda row: None,
    watch: Watch = lambda share: None,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
) -> list[Row]:
    """Run every competitor on every case.

    Args:
        competitors: What `find_competitor` takes, such as "easy", a Policy or an agent of
            `find_agent_competitor`; and LOGGED for what a log records, if it records its starts. A
            competitor that is not stochastic runs once on jobs that no seed has made.
        cases: Traces, or episodes.
        full: On traces, also compare with EASY, and compute what charts show; see
            `bfenv.analysis.summarize`.
        tau: Bound of the slowdowns of traces in seconds, see `bfenv.metrics`.
        keep_schedules: Let each row of a trace have its schedule.
        shard: (i, n): run only the i-th of n parts.
        done: Called with each row as soon as it is there.
        watch: Called once, with a function that returns the fraction of all jobs that have started.
            Workers of other machines report a run when it is over.
        jobs, backend, scheduler: Where to run, see `bfenv.parallel.sweep.run_tasks`.

    Returns:
        Case by case, in the order of the competitors. If a competitor fails, its row has the status
        "failed" and the error. It fails as well if its schedule is not possible on the machine, or
        has trials that it has not declared.

    Raises:
        BfenvError: If a competitor is unknown, a workload cannot be loaded, an agent was trained on
            jobs of a case, or `jobs`, `backend` or `scheduler` is wrong.

    Examples:
        >>> from bfenv.evaluation import evaluate, workload_cases
        >>> rows = evaluate(["fcfs", "easy"], workload_cases("lublin:jobs=500,load=0.9"))
        >>> [row.policy for row in rows]
        ['fcfs', 'easy']
        >>> rows[1].metrics["mean_wait"] < rows[0].metrics["mean_wait"]
        True
    """
    cases = with_known_partitions(competitors, cases)
    check_integer("tau", tau, 1)
    plan = take_shard(plan_runs(competitors, cases), shard)
    shares, weights = Shares(len(plan)), np.array([case.jobs for _, case in plan], dtype=float)
    watch(lambda: float(shares.values()[: len(plan)] @ weights / max(weights.sum(), 1.0)))
    rows: dict[int, Row] = {}
    try:
        with closing(
            run_tasks(
                _evaluate,
                [(*pair, full, tau, keep_schedules, shares.path, i) for i, pair in enumerate(plan)],
                competitors=[named for named in dict(plan) if named != LOGGED],
                workloads=[log for _, case in plan for log in case.workloads],
                jobs=jobs,
                backend=backend,
                scheduler=scheduler,
            )
        ) as results:
            for i, (row, columns) in results:
                case = plan[i][1]
                if columns and isinstance(case, Case):
                    row = replace(row, schedule=Schedule(case.trace(), **columns))
                rows[i] = row
                shares.finish(i)
                done(row)
    finally:
        shares.close()
    return [rows[i] for i in sorted(rows)]


def plan_runs(
    competitors: Sequence[Named], cases: Sequence[Case | Episodes]
) -> list[tuple[Named, Case | Episodes]]:
    """List what `evaluate` runs, in its order: the same in every process.

    Raises BfenvError if a competitor is unknown.
    """
    stochastic = {
        named for named in competitors if named != LOGGED and find_competitor(named).stochastic
    }

    def is_run(named: Named, case: Case | Episodes) -> bool:
        if isinstance(case, Episodes):
            return True
        if case.seed > 0 and not (case.is_generated or case.is_frozen or named in stochastic):
            return False  # the same schedule as with seed 0
        if named != LOGGED:
            return True
        return not case.is_generated and logged_schedule(case.trace()) is not None

    return [
        (portable(named), case) for case in cases for named in competitors if is_run(named, case)
    ]


def with_known_partitions(competitors: Sequence[Named], cases: Sequence[C]) -> list[C]:
    """Return the cases with the partitions that a competitor knows, so that all keep to them.

    A case whose workload says how large its partitions are stays as it is, and so do frozen cases
    and episodes.

    Args:
        competitors: What `find_competitor` takes, and LOGGED.
        cases: Any cases.

    Raises:
        BfenvError: If a competitor is unknown, or a workload cannot be loaded.
    """
    layouts = [find_competitor(named).partitions for named in competitors if named != LOGGED]
    readers = [partitions for partitions in layouts if partitions is not None]
    if not readers:
        return list(cases)
    return [
        _with_partitions(case, readers) if isinstance(case, Case) and not case.is_frozen else case
        for case in cases
    ]


def _with_partitions(case: Case, readers: Sequence[Callable[[Trace], str]]) -> Case:
    trace = case.trace()
    if partitions_of(trace) != Partitions():
        return case
    for partitions in readers:
        try:
            text = partitions(trace)
        except PolicyError:  # the policy does not fit the trace, as its row will say
            continue
        if not text:
            return case
        if isinstance(case.source, Trace):
            return case._replace(source=with_partitions(trace, text))
        return case._replace(options=(*case.options, ("partitions", text)))
    return case


def compatible_policies(names: Sequence[str], cases: Sequence[Case | Episodes]) -> list[str]:
    """Return the policies that can schedule the jobs of all cases."""
    requests = [
        trace.jobs
        for case in cases
        for trace in ([case.trace()] if isinstance(case, Case) else case.traces)
    ]
    return [
        name for name in names if all(plans_for(find_competitor(name), jobs) for jobs in requests)
    ]


def _evaluate(
    named: Named,
    case: Case | Episodes,
    full: bool,
    tau: int,
    keep_schedule: bool,
    shares: Path | None,
    i: int,
) -> tuple[Row, dict[str, Any]]:
    """Return a row, and the fields of its schedule but its trace if it is to be kept."""
    with reporting(shares, i) as watch:
        if isinstance(case, Episodes):
            competitor = find_competitor(named)
            try:
                return score_episodes(competitor, case, watch), {}
            except FAILURES as error:
                return _failed(row_of_episodes(competitor, case), error), {}
        row = _evaluate_trace(named, case, full, tau, watch)
    columns = row.schedule.columns() if keep_schedule and row.schedule is not None else {}
    return replace(row, schedule=None), columns


def _evaluate_trace(named: Named, case: Case, full: bool, tau: int, watch: Watch) -> Row:
    """Return the row of a competitor on a trace, with its schedule."""
    trace = case.trace()
    row = new_row(
        trace,
        policy=named if isinstance(named, str) else named.name,
        kind="policy",
        workload=case.label or trace.name,
        source=case.source if isinstance(case.source, str) else trace.name,
        seed=case.seed,
        division=COMPLETION,
    )
    logged = _logged(case) if named == LOGGED else None
    if logged is not None:
        return with_schedule(replace(row, kind="log", seconds=0.0), logged, case, full, tau)
    try:
        competitor = find_competitor(named)
        division = division_of(competitor.trials, trace)
        row = replace(row, policy=competitor.name, kind=competitor.kind, division=division)
        schedule, notes, row = _run(competitor, trace, row, watch)
    except FAILURES as error:
        return _failed(row, error)
    return with_schedule(row, schedule, case, full, tau, notes)


def _failed(row: Row, error: BaseException) -> Row:
    """Return the row of a run that failed; raise an error that is not the competitor's."""
    if isinstance(error, BfenvError) and not isinstance(error, PolicyError):
        raise error
    return replace(row, status="failed", error=describe_error(error))


def _run(
    competitor: Competitor, trace: Trace, row: Row, watch: Watch
) -> tuple[Schedule, dict[str, float], Row]:
    """Return the schedule of a competitor, what it notes of its run, and the row with times."""
    if competitor.is_compiled:
        warm_up(competitor)  # so that no compilation is timed
    played: Played | None = None
    begin, calls = time.perf_counter(), uncompiled_calls()
    if isinstance(competitor, AgentCompetitor) and not is_partitioned(trace):
        schedule, played = competitor.play(trace, row.seed, watch)
    else:
        schedule = simulate(trace, competitor, row.seed, watch=watch)
    seconds = time.perf_counter() - begin
    row = replace(row, seconds=seconds, is_uncompiled=uncompiled_calls() > calls)
    if (schedule.trial_end >= 0).any() and not competitor.trials:
        raise PolicyError("it starts jobs for trials, and has not declared it")
    schedule.check()
    if played is None:
        return schedule, {}, row
    notes = {name: float(value) for name, value in played.notes.items()}
    return schedule, notes, replace(row, decision_seconds=played.seconds)


def with_schedule(
    row: Row,
    schedule: Schedule,
    case: Case,
    full: bool = True,
    tau: int = TAU,
    notes: Mapping[str, float | None] = MappingProxyType({}),
) -> Row:
    """Return a row with a schedule, and with all results that follow from it.

    Args:
        row: The row.
        schedule: Of the case's jobs.
        case: What the row is of.
        full, tau: As of `evaluate`.
        notes: What an agent notes of its run, for the metrics.
    """
    logged = schedule if row.kind == "log" else _logged(case)
    if full:
        easy, fair = (
            _references_of(case.source, case.options)
            if isinstance(case.source, str)
            else _simulate_references(case.source)
        )
        row = row.with_results(summarize(schedule, easy, fcfs=fair, logged=logged, tau=tau))
    else:
        fidelity = {} if logged is None else calibrate(schedule, logged)
        row = replace(row, metrics=json_ready(metrics(schedule, tau=tau) | fidelity))
    return replace(row, metrics={**row.metrics, **notes}, schedule=schedule)


def _logged(case: Case) -> Schedule | None:
    """Return the schedule that a log records; None for a trace that a program has changed."""
    if not isinstance(case.source, str):
        return None
    return _logged_of(case.source, case.options)


@lru_cache(maxsize=2)
def _logged_of(source: str, options: tuple[tuple[str, Any], ...]) -> Schedule | None:
    return logged_schedule(Case(source, options).trace())


@lru_cache(maxsize=2)
def _references_of(
    source: str, options: tuple[tuple[str, Any], ...]
) -> tuple[Schedule | None, Schedule | None]:
    return _simulate_references(Case(source, options).trace())


def _simulate_references(trace: Trace) -> tuple[Schedule | None, Schedule | None]:
    """Return EASY's schedule and the one that counts as fair; None if they cannot run."""
    if trace.jobs.requested_start.any() or partitions_of(trace).shared:
        return None, None
    return simulate(trace, REFERENCE), simulate(trace, FAIR)
