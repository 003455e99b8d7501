"""Other readings of LOS, kept to show what they would change.

`bfenv.baselines.los` has the reading that counts. Here the lookahead leaves out, besides the jobs
too large for the free processors, those that the shadow time excludes: it counts only jobs that
may be selected.
"""

from dataclasses import replace

from bfenv.baselines.los import gain_of, los, start_best
from bfenv.core.cluster import free, now, start, waiting
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import shadow


@kernel
def examine(cluster, jobs, memory, shadow_time, extra):
    """Note the first jobs that may be selected, as many as the lookahead says."""
    rows = 0
    for job in waiting(cluster)[1:]:
        size = jobs.size[job]
        if size > free(cluster):
            continue
        if rows == memory.lookahead[0]:
            break
        ssize = 0 if now(cluster) + jobs.estimate[job] <= shadow_time else size
        if ssize > extra:
            continue
        memory.candidate[rows] = job
        memory.size[rows] = size
        memory.ssize[rows] = ssize
        memory.gain[rows] = gain_of(cluster, jobs, memory.merit[0], job)
        rows += 1
    return rows


@kernel
def decide(cluster, jobs, memory):
    """One pass of LOS with this lookahead."""
    queue = waiting(cluster)
    if len(queue) == 0 or free(cluster) == 0:
        return
    shadow_time, extra = FOREVER, 0
    if jobs.size[queue[0]] <= free(cluster):
        start(cluster, jobs, queue[0])
    else:
        shadow_time, extra = shadow(cluster, jobs, queue[0])
    start_best(cluster, jobs, memory, examine(cluster, jobs, memory, shadow_time, extra), extra)


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def _reading(policy: Policy, name: str) -> Policy:
    name = f"bfenv.reproduce.los_readings:{name}"
    return replace(policy, name=name, decide=decide, run=run)


selectable_only = _reading(los(), "selectable_only")
selectable_only_max_slowdown = _reading(los(merit="slowdown"), "selectable_only_max_slowdown")
