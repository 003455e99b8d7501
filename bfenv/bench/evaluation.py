"""Run policies on a workload and collect one row of metrics per run (bench layer)."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bfenv.bench.metrics import metrics
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy, find_policy
from bfenv.core.simulator import simulate
from bfenv.workloads.load import load_workload, takes_seed

Row = dict[str, Any]


def evaluate(
    workload: str,
    policies: Sequence[str | Policy],
    *,
    seeds: int = 1,
    load: float | None = None,
    done: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """One row per policy and seed, on the same jobs for every policy of a seed.

    A seed draws the jobs of a workload that is generated, and the decisions of a stochastic
    policy; where neither is the case, one seed says it all and the others are left out. `done` is
    called with each row as soon as there is one.

    Raises what `load_workload`, `find_policy` and `simulate` raise.
    """
    policies = [find_policy(policy) for policy in policies]
    rows = []
    warm = set()
    for trace, policy, seed in runs(workload, policies, seeds, load):
        if policy.name not in warm:
            simulate(trace[:1], policy)  # so that no compilation is timed
            warm.add(policy.name)
        begin = time.perf_counter()
        schedule = simulate(trace, policy, seed)
        seconds = time.perf_counter() - begin
        rows.append(
            {
                "policy": policy.name,
                "workload": trace.name,
                "processors": trace.processors,
                "jobs": len(trace),
                "offered_load": trace.offered_load,
                "seed": seed,
                "seconds": seconds,
                **metrics(schedule),
            }
        )
        done(rows[-1])
    return rows


def runs(
    workload: str, policies: Sequence[Policy], seeds: int, load: float | None
) -> Iterator[tuple[Trace, Policy, int]]:
    """What `evaluate` runs: trace, policy and seed."""
    options = {} if load is None else {"load": load}
    drawn = takes_seed(workload)
    for seed in range(seeds):
        trace = load_workload(workload, **options, **({"seed": seed} if drawn else {}))
        for policy in policies:
            if seed == 0 or drawn or policy.stochastic:
                yield trace, policy, seed
