"""Run policies on a workload and collect one row of metrics per run."""

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from bfenv.analysis.schedule_metrics import metrics
from bfenv.baselines.registry import find_policy, simulate
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
from bfenv.core.schedule import Schedule
from bfenv.parallel.sweep import portable, share, sweep, warm_up
from bfenv.parallel.worker_process import reason
from bfenv.workloads.load import load_workload, takes_seed

Row = dict[str, Any]


class Run(NamedTuple):
    """One row's worth of work, in names and numbers."""

    workload: str
    options: dict[str, Any]  # of load_workload
    policy: Policy | str  # by name where it has one
    seed: int


def evaluate(
    workload: str,
    policies: Sequence[str | Policy],
    *,
    seeds: int = 1,
    load: float | None = None,
    shard: tuple[int, int] = (1, 1),
    done: Callable[[Row], None] = lambda row: None,
    **where,
) -> list[Row]:
    """One row per policy and seed, on the same jobs for every policy of a seed.

    A seed draws the jobs of a workload that is generated, and the decisions of a stochastic
    policy; where neither is the case, one seed says it all and the others are left out. `done` is
    called with each row as soon as there is one; what is returned is in the order of seeds, then
    policies. `shard` (i, n) does the i-th share of n. `where` are the options of
    `bfenv.parallel.sweep.sweep`: jobs, backend, scheduler.

    Raises what `load_workload`, `find_policy` and `simulate` raise, and PolicyError for a policy
    that raises anything else.
    """
    mine = share(runs(workload, policies, seeds, load), shard)
    rows: dict[int, Row] = {}
    with closing(sweep(row, mine, warm=policies, **where)) as results:
        for place, rows[place] in results:
            done(rows[place])
    return [rows[place] for place in sorted(rows)]


def runs(
    workload: str, policies: Sequence[str | Policy], seeds: int, load: float | None
) -> list[Run]:
    """What `evaluate` runs, all shards together."""
    options = {} if load is None else {"load": load}
    drawn = takes_seed(workload)
    random = [drawn or find_policy(policy).stochastic for policy in policies]
    return [
        Run(workload, options | ({"seed": seed} if drawn else {}), portable(policy), seed)
        for seed in range(seeds)
        for policy, several in zip(policies, random, strict=True)
        if seed == 0 or several
    ]


def row(workload: str, options: dict[str, Any], policy: Policy | str, seed: int) -> Row:
    """The row of a run; its seconds are those of the simulation alone."""
    policy = find_policy(policy)
    trace = load_workload(workload, **options)
    with failures_told(policy):
        warm_up(policy)  # so that no compilation is timed
        begin = time.perf_counter()
        schedule = simulate(trace, policy, seed)
        seconds = time.perf_counter() - begin
    return {
        "policy": policy.name,
        "workload": trace.name,
        "processors": trace.processors,
        "jobs": len(trace),
        "offered_load": trace.offered_load,
        "seed": seed,
        "seconds": seconds,
        **metrics(schedule),
    }


def simulated(trace: Trace, policy: str | Policy, seed: int) -> Schedule:
    """What `simulate` makes; PolicyError, in one line, whatever goes wrong in the policy."""
    policy = find_policy(policy)
    with failures_told(policy):
        return simulate(trace, policy, seed)


@contextmanager
def failures_told(policy: Policy) -> Iterator[None]:
    """Make a PolicyError, in one line with the place, of whatever goes wrong in a policy."""
    try:
        yield
    except BfenvError:
        raise
    except (Exception, SystemExit) as error:
        raise PolicyError(f"{policy.name} failed, {reason(error)}{_where(error)}") from error


def _where(error: BaseException) -> str:
    """The line of the policy that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
