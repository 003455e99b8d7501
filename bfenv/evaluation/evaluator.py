"""The evaluator: every competitor on every case, one row for each pair.

A case is a trace with a seed: `workload_cases` makes them of a workload and `variant_cases` of
changed copies of a trace.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from bfenv.analysis.calibration import calibrate
from bfenv.analysis.logged import LOGGED, logged_schedule
from bfenv.analysis.summary import json_ready, metrics, summarize
from bfenv.baselines.registry import find_policy, simulate
from bfenv.core.arguments import check_integer
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.partitions import Partitions, partitions_of, with_partitions
from bfenv.core.policy import COMPLETION, Policy, division_of, plans_for
from bfenv.core.schedule import TAU, Schedule
from bfenv.evaluation.row import Row, new_row
from bfenv.evaluation.summary import FAIR, REFERENCE
from bfenv.parallel.failures import as_policy_error
from bfenv.parallel.shards import take_shard
from bfenv.parallel.sweep import portable, run_tasks, warm_up
from bfenv.workloads.load import load_workload, takes_seed


class Case(NamedTuple):
    """The jobs that competitors are compared on, and a seed for their decisions."""

    source: str | Trace  # what `load_workload` takes, or the trace itself
    options: tuple[tuple[str, Any], ...] = ()  # of `load_workload`
    seed: int = 0  # of the decisions, and of the jobs if they are generated
    label: str = ""  # name of the workload in its rows; "" for the trace's own
    is_generated: bool = False  # its seed has made the jobs as well

    def trace(self) -> Trace:
        """Return the trace, loaded once in a process."""
        if isinstance(self.source, Trace):
            return self.source
        return load_workload(self.source, **dict(self.options))


def workload_cases(
    workload: str, seeds: int = 1, load: float | None = None, **options: Any
) -> list[Case]:
    """Return a case of a workload for each seed.

    Args:
        workload: Name or path, for `load_workload`.
        seeds: How many seeds, from 0. A seed determines the jobs of a generated workload and the
            decisions of a stochastic policy.
        load: Offered load to scale the workload to; None for its own.
        **options: Others of `load_workload`.

    Raises:
        BfenvError: If the workload is unknown, or `seeds` is below 1.
    """
    options |= {} if load is None else {"load": load}
    is_generated = takes_seed(workload)
    return [
        Case(
            workload,
            tuple((options | ({"seed": seed} if is_generated else {})).items()),
            seed,
            is_generated=is_generated,
        )
        for seed in range(check_integer("seeds", seeds, 1))
    ]


def variant_cases(variants: Mapping[str, Trace]) -> list[Case]:
    """Return a case of each of several traces, in this order.

    Args:
        variants: The traces by label.
    """
    return [Case(trace, label=label) for label, trace in variants.items()]


def evaluate(
    competitors: Sequence[str | Policy],
    cases: Sequence[Case],
    *,
    full: bool = False,
    tau: int = TAU,
    keep_schedules: bool = False,
    shard: tuple[int, int] = (1, 1),
    done: Callable[[Row], None] = lambda row: None,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
) -> list[Row]:
    """Run every competitor on every case.

    Args:
        competitors: What `find_policy` takes, and LOGGED for what a log records, if it records its
            starts. A policy that is not stochastic runs once on jobs that no seed has made.
        cases: What to run on.
        full: Also compare with EASY, and compute what charts show; see `bfenv.analysis.summarize`.
        tau: Bound of the slowdowns in seconds, see `bfenv.metrics`.
        keep_schedules: Let each row have its schedule.
        shard: (i, n): run only the i-th of n parts.
        done: Called with each row as soon as it is there.
        jobs, backend, scheduler: Where to run, see `bfenv.parallel.sweep.run_tasks`.

    Returns:
        Case by case, in the order of the competitors. If a policy fails, its row has the status
        "failed" and the error.

    Raises:
        BfenvError: If a policy is unknown, a workload cannot be loaded, or `jobs`, `backend` or
            `scheduler` is wrong.

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
    rows: dict[int, Row] = {}
    with closing(
        run_tasks(
            _evaluate,
            [(*pair, full, tau, keep_schedules) for pair in plan],
            warm=dict.fromkeys(policy for policy, _ in plan if policy != LOGGED),
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
        )
    ) as results:
        for i, (row, columns) in results:
            if columns:
                row = replace(row, schedule=Schedule(plan[i][1].trace(), **columns))
            rows[i] = row
            done(row)
    return [rows[i] for i in sorted(rows)]


def plan_runs(
    competitors: Sequence[str | Policy], cases: Sequence[Case]
) -> list[tuple[str | Policy, Case]]:
    """List what `evaluate` runs, in its order: the same in every process.

    Raises BfenvError if a policy is unknown.
    """
    is_random = {
        competitor: competitor != LOGGED and find_policy(competitor).stochastic
        for competitor in competitors
    }
    return [
        (portable(competitor), case)
        for case in cases
        for competitor in competitors
        if case.seed == 0 or case.is_generated or is_random[competitor]
        if competitor != LOGGED
        or (not case.is_generated and logged_schedule(case.trace()) is not None)
    ]


def with_known_partitions(competitors: Sequence[str | Policy], cases: Sequence[Case]) -> list[Case]:
    """Return the cases with the partitions that a competitor knows, so that all keep to them.

    A case whose workload says how large its partitions are stays as it is.

    Args:
        competitors: What `find_policy` takes, and LOGGED.
        cases: Any cases.

    Raises:
        BfenvError: If a policy is unknown, or a workload cannot be loaded.
    """
    known = [find_policy(one).partitions for one in competitors if one != LOGGED]
    asked = [partitions for partitions in known if partitions is not None]
    return [_with_partitions(case, asked) for case in cases] if asked else list(cases)


def _with_partitions(case: Case, asked: Sequence[Callable[[Trace], str]]) -> Case:
    trace = case.trace()
    if partitions_of(trace) != Partitions():
        return case
    for partitions in asked:
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


def able_policies(names: Sequence[str], cases: Sequence[Case]) -> list[str]:
    """Return the policies that can schedule the jobs of all cases."""
    traces = [case.trace().jobs for case in cases]
    return [name for name in names if all(plans_for(find_policy(name), jobs) for jobs in traces)]


def _evaluate(
    competitor: str | Policy, case: Case, full: bool, tau: int, keep_schedule: bool
) -> tuple[Row, dict[str, Any]]:
    """Return a row, and the fields of its schedule but its trace if it is to be kept."""
    trace = case.trace()
    logged = logged_schedule(trace) if isinstance(case.source, str) else None  # no changed copy
    row = new_row(
        trace,
        policy=competitor if isinstance(competitor, str) else competitor.name,
        kind="policy",
        workload=case.label or trace.name,
        source=case.source if isinstance(case.source, str) else trace.name,
        seed=case.seed,
        division=COMPLETION,
    )
    if competitor == LOGGED and logged is not None:
        schedule, row = logged, replace(row, kind="log", seconds=0.0)
    else:
        try:
            policy = find_policy(competitor)
            row = replace(row, policy=policy.name, division=division_of(policy.trials, trace))
            with as_policy_error(policy.name):
                warm_up(policy)  # so that no compilation is timed
                begin = time.perf_counter()
                schedule = simulate(trace, policy, case.seed)
                row = replace(row, seconds=time.perf_counter() - begin)
        except PolicyError as error:
            return replace(row, status="failed", error=str(error)), {}
    if full:
        easy, fair = _known_references(case) if isinstance(case.source, str) else references(trace)
        row = row.with_results(summarize(schedule, easy, fcfs=fair, logged=logged, tau=tau))
    else:
        fidelity = {} if logged is None else calibrate(schedule, logged)
        row = replace(row, metrics=json_ready(metrics(schedule, tau=tau) | fidelity))
    kept = vars(schedule) if keep_schedule else {}
    return row, {name: value for name, value in kept.items() if name != "trace"}


def references(trace: Trace) -> tuple[Schedule | None, Schedule | None]:
    """Return EASY's schedule and the one that counts as fair; None if they cannot run."""
    if trace.jobs.requested_start.any() or partitions_of(trace).shared:
        return None, None
    return simulate(trace, REFERENCE), simulate(trace, FAIR)


@lru_cache(maxsize=2)
def _known_references(case: Case) -> tuple[Schedule | None, Schedule | None]:
    return references(case.trace())
