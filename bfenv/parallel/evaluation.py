"""Run policies on a workload and collect one row of metrics per run."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from bfenv.analysis.calibration import calibrate
from bfenv.analysis.logged import LOGGED, logged_schedule
from bfenv.analysis.schedule_metrics import metrics
from bfenv.baselines.registry import find_policy, simulate
from bfenv.core.arguments import check_integer
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.policy import DIVISIONS, Policy, Watch, division_of
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import ignore
from bfenv.parallel.failures import as_policy_error
from bfenv.parallel.shards import take_shard
from bfenv.parallel.sweep import portable, run_tasks, warm_up
from bfenv.workloads.load import load_workload, takes_seed

Row = dict[str, Any]  # columns of identity, "seconds", and those of `metrics`


class Run(NamedTuple):
    """One policy on one workload with one seed, in names and numbers."""

    workload: str  # name or path
    options: dict[str, Any]  # of load_workload
    policy: Policy | str  # by name where it has one; LOGGED for what the log records
    seed: int  # of the workload if it is generated, and of the decisions


def evaluate(
    workload: str,
    policies: Sequence[str | Policy],
    *,
    seeds: int = 1,
    load: float | None = None,
    shard: tuple[int, int] = (1, 1),
    done: Callable[[Row], None] = lambda row: None,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
) -> list[Row]:
    """Run policies on a workload: `plan_evaluation`, then `run_plan` on a shard of it.

    Parameters
    ----------
    workload, policies, seeds, load
        What to run, see `plan_evaluation`.
    shard
        (i, n): run only the i-th of n parts of the plan.
    done, jobs, backend, scheduler
        How and where to run, see `run_plan`.

    Returns
    -------
    list[dict]
        One row of metrics per run, in the order of the plan.

    Raises
    ------
    BfenvError
        What the two functions raise.

    Examples
    --------
    >>> from bfenv.parallel import evaluate
    >>> rows = evaluate("lublin:jobs=500,load=0.9", ["fcfs", "easy"])
    >>> [row["policy"] for row in rows]
    ['fcfs', 'easy']
    >>> rows[1]["mean_wait"] < rows[0]["mean_wait"]
    True
    """
    plan = take_shard(plan_evaluation(workload, policies, seeds, load), shard)
    return run_plan(plan, done=done, jobs=jobs, backend=backend, scheduler=scheduler)


def plan_evaluation(
    workload: str,
    policies: Sequence[str | Policy],
    seeds: int = 1,
    load: float | None = None,
) -> list[Run]:
    """List the runs of policies on a workload, in the order of seeds, then policies.

    A seed determines the jobs of a generated workload and the decisions of a stochastic policy.
    Where it determines neither, only seed 0 is in the plan. All policies of a seed get the same
    jobs. If the workload is a log that records its starts, these are the first run.

    Parameters
    ----------
    workload
        Name or path, for `load_workload`.
    policies
        What `find_policy` takes.
    seeds
        How many seeds, from 0.
    load
        Offered load to scale the workload to; None for its own.

    Returns
    -------
    list[Run]
        The same in every process, so that it can be cut into shards.

    Raises
    ------
    BfenvError
        If a policy or the workload is unknown, or `seeds` is below 1.
    """
    seeds = check_integer("seeds", seeds, 1)
    options = {} if load is None else {"load": load}
    is_generated = takes_seed(workload)
    takes_seeds = [is_generated or find_policy(policy).stochastic for policy in policies]
    logged = [] if is_generated else _logged_run(workload, options)
    return logged + [
        Run(workload, options | ({"seed": seed} if is_generated else {}), portable(policy), seed)
        for seed in range(seeds)
        for policy, is_random in zip(policies, takes_seeds, strict=True)
        if seed == 0 or is_random
    ]


def _logged_run(workload: str, options: dict[str, Any]) -> list[Run]:
    """Return the run that repeats the log, if the log records its starts."""
    is_there = logged_schedule(load_workload(workload, **options)) is not None
    return [Run(workload, options, LOGGED, 0)] if is_there else []


def run_plan(
    plan: Sequence[Run],
    *,
    done: Callable[[Row], None] = lambda row: None,
    failed: Callable[[Run, PolicyError], None] | None = None,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: Any = None,
) -> list[Row]:
    """Simulate the runs of a plan.

    Parameters
    ----------
    plan
        What `plan_evaluation` returned, or a part of it.
    done
        Called with each row as soon as it is there.
    failed
        Called with each run whose policy fails, and the error, in the order of the plan. By
        default, the first error is raised.
    jobs, backend, scheduler
        Where to run, see `bfenv.parallel.sweep.run_tasks`.

    Returns
    -------
    list[dict]
        One row of metrics per run that did not fail, in the order of the plan.

    Raises
    ------
    PolicyError
        If a policy raises anything or makes an illegal start, and `failed` is not given.
    BfenvError
        If a workload cannot be loaded, or `jobs`, `backend` or `scheduler` is wrong.
    """
    policies = list({run.policy: None for run in plan if run.policy != LOGGED})
    rows: dict[int, Row] = {}
    errors: dict[int, PolicyError] = {}
    function = evaluate_run if failed is None else _row_or_error
    with closing(
        run_tasks(function, plan, warm=policies, jobs=jobs, backend=backend, scheduler=scheduler)
    ) as results:
        for i, result in results:
            if isinstance(result, PolicyError):
                errors[i] = result
            else:
                rows[i] = result
                done(result)
    if failed is not None:
        for i in sorted(errors):
            failed(plan[i], errors[i])
    return [rows[i] for i in sorted(rows)]


def _row_or_error(*run: Any) -> Row | PolicyError:
    try:
        return evaluate_run(*run)
    except PolicyError as error:
        return error


def evaluate_run(workload: str, options: dict[str, Any], policy: Policy | str, seed: int) -> Row:
    """Return the row of a run; its "seconds" are those of the simulation alone.

    If the log records its starts, the row has the columns of `calibrate` as well.
    """
    trace = load_workload(workload, **options)
    logged = logged_schedule(trace)
    if policy == LOGGED and logged is not None:
        schedule, seconds, division = logged, 0.0, DIVISIONS[0]
    else:
        resolved = find_policy(policy)
        schedule, seconds = _timed(trace, resolved, seed)
        division = division_of(resolved.trials, trace)
    return {
        "policy": schedule.policy,
        "division": division,
        "workload": trace.name,
        "processors": trace.processors,
        "jobs": len(trace),
        "offered_load": trace.offered_load,
        "seed": seed,
        "seconds": seconds,
        **metrics(schedule),
        **({} if logged is None else calibrate(schedule, logged)),
    }


def _timed(trace: Trace, policy: Policy, seed: int) -> tuple[Schedule, float]:
    with as_policy_error(policy.name):
        warm_up(policy)  # so that no compilation is timed
        begin = time.perf_counter()
        schedule = simulate(trace, policy, seed)
        return schedule, time.perf_counter() - begin


def simulate_safely(
    trace: Trace, policy: str | Policy, seed: int, watch: Watch = ignore
) -> Schedule:
    """Simulate, and raise a PolicyError of one line whatever goes wrong in the policy."""
    resolved = find_policy(policy)
    with as_policy_error(resolved.name):
        return simulate(trace, resolved, seed, watch=watch)
