"""Run a trace under a policy from its first arrival to its last end (core layer).

The semantics of the machine are stated in `bfenv.core.cluster`.
"""

import numpy as np

from bfenv.core.cluster import OFFENDER, advance, new_cluster
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy, find_policy
from bfenv.core.schedule import Schedule


def simulate(
    trace: Trace, policy: str | Policy, seed: int = 0, *, event_order: str = "standard"
) -> Schedule:
    """The schedule that `policy`, a registered name or a Policy, makes of `trace`.

    `seed` matters to stochastic policies only. `event_order="pyss"` follows the event order of
    the simulator pyss, for comparison with published schedules.

    Raises UnknownName for a policy nobody registered, and PolicyError when the policy makes an
    illegal start, leaves jobs waiting for ever, or does not plan for requested start times while
    the trace has some.
    """
    policy = find_policy(policy)
    wishes = np.flatnonzero(trace.jobs.requested_start)
    if len(wishes) and not policy.requested_starts:
        raise PolicyError(
            f"{policy.name} does not plan for requested start times, and job {wishes[0]} of "
            f"{trace.name} has one"
        )
    jobs = trace.jobs
    cluster, truth = new_cluster(trace, event_order=event_order)
    memory = policy.memory(jobs, trace.processors, np.random.default_rng(seed))
    try:
        if policy.run is not None:
            policy.run(cluster, jobs, truth, memory)
        else:
            while advance(cluster, jobs, truth):
                policy.decide(cluster, jobs, memory)
    except ValueError as error:
        job = cluster.clock[OFFENDER]
        if job < 0:  # not the machine's complaint but a fault of the policy's own
            raise
        raise PolicyError(f"{policy.name}: illegal start of job {job}: it {error}") from error
    lost = np.flatnonzero(cluster.end < 0)
    if len(lost):
        raise PolicyError(
            f"{policy.name} leaves {len(lost)} jobs waiting for ever, the first is job {lost[0]}"
        )
    tried = cluster.trial_end >= 0
    return Schedule(
        trace,
        policy.name,
        seed,
        cluster.start,
        cluster.end,
        np.where(tried, cluster.trial_start, -1),
        np.where(tried, cluster.trial_end, -1),
        policy.records(memory),
    )
