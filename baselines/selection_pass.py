"""One scheduling pass of EASY in the order of an expression, without a sorted queue.

It makes the pass of `bfenv.baselines.easy_pass` with one reservation. Only the head and the jobs
that may be backfilled need exact values, so the time of a pass depends on the number of those jobs
and of those whose bounds have changed (`bfenv.baselines.best_score`), and hardly on the queue.

`memory` is that of `bfenv.baselines.expression_order`.
"""

import math

from bfenv.baselines.best_score import begin_pass, find_best, make_known
from bfenv.baselines.easy_pass import may_backfill, start_or_try, try_backfill
from bfenv.baselines.expression_program import score_jobs
from bfenv.core.cluster import free, now, waiting
from bfenv.core.kernel import kernel
from bfenv.core.profile import shadow


@kernel
def selection_pass(cluster, jobs, memory):
    """Start jobs in order until one, the head, must wait; then backfill behind it."""
    if write_fitting(cluster, jobs, memory) == 0:
        return
    begin_pass(memory.queue, memory.history, cluster, jobs, waiting(cluster))
    head = _first(cluster, jobs, memory)
    while head >= 0 and jobs.size[head] <= free(cluster):
        start_or_try(cluster, jobs, memory.easy.trial, head)
        head = _first(cluster, jobs, memory)
    if head < 0 or free(cluster) == 0:
        return
    memory.easy.cautious[0] = _is_overdue(cluster, jobs, memory, head)
    count = write_fitting(cluster, jobs, memory)
    if memory.scored[2]:
        believe(cluster, jobs, memory, count)
    _backfill(cluster, jobs, memory, head, count)


@kernel
def write_fitting(cluster, jobs, memory):
    """Write the waiting jobs that fit now to `memory.fitting`; return their number."""
    count = 0
    if free(cluster) > 0:
        for job in waiting(cluster):
            if jobs.size[job] <= free(cluster) and cluster.start[job] < 0:
                memory.fitting[count] = job
                count += 1
    return count


@kernel
def believe(cluster, jobs, memory, count):
    """Write how long the first `count` jobs of `memory.fitting` are believed to run."""
    fitting, belief = memory.fitting[:count], memory.belief
    score_jobs(belief.program, belief.columns, memory.history, cluster, jobs, fitting, belief.value)
    for job in fitting:
        runtime = min(belief.value[job], float(jobs.estimate[job]))
        memory.easy.believed[job] = max(1, math.ceil(runtime))


@kernel
def _is_overdue(cluster, jobs, memory, job):
    return now(cluster) - jobs.submit[job] > memory.easy.queue.age_limit[0]


@kernel
def _first(cluster, jobs, memory):
    """Return the job that comes first; -1 if none waits."""
    queue = waiting(cluster)
    for job in queue:
        if not _is_overdue(cluster, jobs, memory, job):
            break
        if cluster.start[job] < 0:
            return job
    return find_best(memory.queue, memory.history, cluster, jobs, queue)


@kernel
def _backfill(cluster, jobs, memory, head, count):
    """Start, one by one, the first of the fitting jobs that does not delay the head."""
    shadow_time, extra_nodes = shadow(cluster, jobs, head)
    fitting = memory.fitting
    count = _drop(cluster, jobs, memory, count, shadow_time, extra_nodes)
    make_known(memory.queue, memory.history, cluster, jobs, fitting[:count])
    while count > 0:
        job = fitting[0]
        for other in fitting[1:count]:
            if _comes_before(cluster, jobs, memory, other, job):
                job = other
        extra_nodes -= try_backfill(cluster, jobs, memory.easy, job, False, shadow_time)
        count = _drop(cluster, jobs, memory, count, shadow_time, extra_nodes)


@kernel
def _comes_before(cluster, jobs, memory, job, other):
    """Return whether a job, whose value is known, comes before another in the order."""
    overdue = _is_overdue(cluster, jobs, memory, job)
    if overdue or _is_overdue(cluster, jobs, memory, other):
        return overdue and (job < other or not _is_overdue(cluster, jobs, memory, other))
    value = memory.queue.value
    return value[job] < value[other] or (value[job] == value[other] and job < other)


@kernel
def _drop(cluster, jobs, memory, count, shadow_time, extra_nodes):
    """Drop the fitting jobs that may not be backfilled; return the number of the others."""
    kept = 0
    for job in memory.fitting[:count]:
        if may_backfill(cluster, jobs, memory.easy, job, shadow_time, extra_nodes):
            memory.fitting[kept] = job
            kept += 1
    return kept
