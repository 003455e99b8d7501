"""Run a trace under a policy, from its first arrival to its last end.

`bfenv.core.cluster` states the semantics of the machine.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from bfenv.core.cluster import LAST_JOB, NEXT_JOB, QUEUE_BEGIN, QUEUE_END, STARTED, Cluster
from bfenv.core.detour import around_outages
from bfenv.core.errors import StarvationError
from bfenv.core.events import new_cluster
from bfenv.core.illegal_start import raise_illegal_start
from bfenv.core.jobs import Trace, check_trace
from bfenv.core.outages import new_machine
from bfenv.core.partitions import per_partition, runs_by_partition
from bfenv.core.passes import run_passes
from bfenv.core.policy import Policy, Watch, check_plans_for, new_memory
from bfenv.core.schedule import Schedule


def ignore(share: Callable[[], float]) -> None:
    """Do not watch a run."""


def simulate(
    trace: Trace,
    policy: Policy,
    seed: int = 0,
    *,
    event_order: str = "standard",
    watch: Watch = ignore,
) -> Schedule:
    """Run a trace under a Policy, and return its schedule; all else is as of `bfenv.simulate`.

    On a trace with partitions, a policy that does not know them runs on each by itself.
    """
    check_trace(trace)
    check_plans_for(policy, trace)
    # Lines of the header name partitions.
    if trace.header and runs_by_partition(policy.partitions, trace):

        def run(part: Trace, watch: Watch) -> Schedule:
            return simulate(part, policy, seed, event_order=event_order, watch=watch)

        return per_partition(trace, policy.name, run, watch)
    if trace.outages or trace.records is not None:
        policy = around_outages(policy, trace, event_order)
    make = new_machine if trace.outages else new_cluster
    cluster, jobs, truth = make(trace, event_order=event_order)
    memory = new_memory(policy, jobs, trace.processors, seed)
    watch(partial(share_started, cluster))
    try:
        run_passes(policy, cluster, jobs, truth, memory)
    except ValueError as error:
        raise_illegal_start(error, cluster, jobs, policy.name)
    job_range = slice(len(trace))  # without the outages
    lost = np.flatnonzero(cluster.end[job_range] < 0)
    if len(lost):
        raise StarvationError(lost.tolist(), policy.name)
    tried = cluster.trial_end[job_range] >= 0
    return Schedule(
        trace,
        policy.name,
        seed,
        cluster.start[job_range],
        cluster.end[job_range],
        np.where(tried, cluster.trial_start[job_range], -1),
        np.where(tried, cluster.trial_end[job_range], -1),
        {} if policy.records is None else policy.records(memory),
    )


def share_started(cluster: Cluster) -> float:
    """Return which share of the jobs has started."""
    state = cluster.state
    waiting = state[QUEUE_END] - state[QUEUE_BEGIN] - state[STARTED]
    return float((state[NEXT_JOB] - waiting) / max(1, state[LAST_JOB]))
