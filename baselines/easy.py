"""EASY: aggressive backfilling with a reservation for the head of the queue.

Lifka 1995, as stated by Zotkin, Keleher and Perkovic 2000 (section 2) and Shmueli 2003
(Algorithm 8). Both restart the scan of the queue after each backfilled job; as free processors
and extra nodes only shrink while the clock stands still, a job once refused stays refused, and one
scan gives the same starts.
"""

from bfenv.core.cluster import free, now, shadow, start, waiting
from bfenv.core.events import advance
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy


@kernel
def decide(cluster, jobs, memory):
    """Start jobs in queue order until one, the head, must wait; then backfill behind it."""
    queue = waiting(cluster)
    head = 0
    while head < len(queue) and jobs.size[queue[head]] <= free(cluster):
        start(cluster, jobs, queue[head])
        head += 1
    if head + 1 >= len(queue) or free(cluster) == 0:
        return
    shadow_time, extra_nodes = shadow(cluster, jobs, queue[head])  # Algorithm 8, step 1
    for job in queue[head + 1 :]:  # step 2
        size = jobs.size[job]
        if size > free(cluster):
            continue
        is_over = now(cluster) + jobs.estimate[job] <= shadow_time
        if is_over or size <= extra_nodes:
            start(cluster, jobs, job)
            extra_nodes -= 0 if is_over else size


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


EASY = Policy(
    name="easy",
    decide=decide,
    run=run,
    summary="backfills whatever does not delay the head of the queue",
    source="Lifka 1995; Shmueli 2003, Algorithm 8",
)
POLICIES = (EASY,)
FAMILIES = ()  # `bfenv.baselines.easy_orders` makes policies from options
