"""First come, first served: the policy that backfilling improves on."""

from bfenv.core.cluster import free, start, waiting
from bfenv.core.events import advance
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy


@kernel
def decide(cluster, jobs, memory):
    """Start jobs in queue order until one does not fit (Shmueli 2003, chapter 2)."""
    for job in waiting(cluster):
        if jobs.size[job] > free(cluster):
            break
        start(cluster, jobs, job)


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


FCFS = Policy(
    name="fcfs",
    decide=decide,
    run=run,
    summary="first come, first served, no backfilling",
    source="Shmueli 2003, chapter 2",
)
POLICIES = (FCFS,)
FAMILIES = ()
