"""Run a trace under a policy from its first arrival to its last end.

The semantics of the machine are stated in `bfenv.core.cluster`.
"""

import numpy as np

from bfenv.core.cluster import OFFENDER, advance, new_cluster
from bfenv.core.errors import PolicyError, WorkloadError
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy, able, new_memory
from bfenv.core.schedule import Schedule


def simulate(
    trace: Trace, policy: Policy, seed: int = 0, *, event_order: str = "standard"
) -> Schedule:
    """The schedule that `policy` makes of `trace`; `bfenv.simulate` also takes its name.

    `seed` matters to stochastic policies only. `event_order="pyss"` follows the event order of
    the simulator pyss, for comparison with published schedules.

    Raises BfenvError for a seed that is none, WorkloadError for a trace that is none, and
    PolicyError when the policy makes an illegal start, leaves jobs waiting for ever, or does not
    plan for requested start times while the trace has some.
    """
    if not isinstance(trace, Trace):
        given = repr(trace) if isinstance(trace, str) else type(trace).__name__
        raise WorkloadError(f"not a Trace but {given}; load_workload makes one of a name or a file")
    if not able(policy, trace.jobs):
        raise PolicyError(
            f"{policy.name} does not plan for requested start times, and job "
            f"{np.argmax(trace.jobs.requested_start > 0)} of {trace.name} has one"
        )
    jobs = trace.jobs
    cluster, truth = new_cluster(trace, event_order=event_order)
    memory = new_memory(policy, jobs, trace.processors, seed)
    try:
        if policy.run is not None:
            policy.run(cluster, jobs, truth, memory)
        else:
            while advance(cluster, jobs, truth):
                policy.decide(cluster, jobs, memory)
    except ValueError as error:
        job = cluster.state[OFFENDER]
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
