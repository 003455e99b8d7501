"""EASY in the order of a scorer: the kernels of one pass, one run and many runs."""

import math

from bfenv.agents.search.scoring import best_of, prepare, record_ended, write_scores
from bfenv.baselines.run_metrics import METRICS, measure
from bfenv.core.cluster import PROCESSORS, free, now, start, waiting
from bfenv.core.events import advance, reset
from bfenv.core.kernel import kernel
from bfenv.core.profile import shadow

__all__ = ["METRICS", "decide", "evaluate", "run"]


@kernel
def decide(cluster, jobs, memory):
    """Start jobs by descending score until one, the head, must wait; backfill behind it."""
    if memory.uses_accuracy[0]:
        record_ended(cluster, jobs, memory)
    if not _any_fits(cluster, jobs):
        return  # no score matters
    queue = waiting(cluster)
    head, count = write_scores(cluster, jobs, memory)
    while head >= 0 and jobs.size[queue[head]] <= free(cluster):
        start(cluster, jobs, queue[head])
        memory.score[head] = -math.inf
        head = best_of(memory.score, len(queue))
    if head >= 0 and free(cluster) > 0:
        _backfill(cluster, jobs, memory, head, count)


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


@kernel
def _any_fits(cluster, jobs):
    if free(cluster) > 0:
        for job in waiting(cluster):
            if jobs.size[job] <= free(cluster):
                return True
    return False


@kernel
def _backfill(cluster, jobs, memory, head, count):
    """Start the best of the `count` fitting jobs that does not delay the head, again and again."""
    queue, fitting = waiting(cluster), memory.fitting
    shadow_time, extra_nodes = shadow(cluster, jobs, queue[head])
    while count > 0:
        kept, best, highest = 0, -1, -math.inf
        for position in range(count):
            k = fitting[position]
            job = queue[k]
            if jobs.size[job] > free(cluster) or memory.score[k] == -math.inf:
                continue
            if now(cluster) + jobs.estimate[job] > shadow_time and jobs.size[job] > extra_nodes:
                continue
            fitting[kept] = k
            kept += 1
            if memory.score[k] > highest:
                best, highest = k, memory.score[k]
        count = kept
        if best >= 0:
            job = queue[best]
            start(cluster, jobs, job)
            memory.score[best] = -math.inf
            if now(cluster) + jobs.estimate[job] > shadow_time:
                extra_nodes -= jobs.size[job]


@kernel
def evaluate(cluster, jobs, truth, memory, thetas, results):
    """Run the trace with each row of `thetas` (k, d); write METRICS to that of `results` (k, m)."""
    processors = cluster.state[PROCESSORS]
    for i in range(len(thetas)):
        reset(cluster, truth, processors, 0, len(jobs.submit))
        prepare(memory, jobs, processors, thetas[i])
        run(cluster, jobs, truth, memory)
        measure(cluster, jobs, truth.runtime, 0, len(jobs.submit), processors, results[i])
