"""One scheduling pass of EASY in the order of an expression, without a sorted queue.

It makes the pass of `bfenv.baselines.easy_pass` with at most one reservation. The next job is
selected each time (`bfenv.knowledge.best_score`): few start in a pass.

`bfenv.baselines.expression_order` makes `memory`.
"""

import math

from bfenv.baselines.easy_pass import may_backfill, room, start_or_try, try_backfill
from bfenv.core.cluster import free, now, waiting
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.profile import shadow_of_room
from bfenv.knowledge.best_score import find_best, write_firsts
from bfenv.knowledge.expression_program import score_jobs
from bfenv.knowledge.user_history import count_jobs


@kernel
def selection_pass(cluster, jobs, memory):
    """Start jobs in order until one, the head, must wait; then backfill behind it."""
    count = write_fitting(cluster, jobs, memory)
    if count == 0:
        return
    count_jobs(memory.history, cluster, jobs, memory.counts[0], memory.counts[1])
    if memory.scored[3]:
        _write_keep(cluster, jobs, memory, memory.fitting[:count])
        count = _drop(cluster, jobs, memory, count, FOREVER, 0)  # what leaves too few free
        if count == 0:
            return
    head, starts = -1, True
    while starts:
        head = _first(cluster, jobs, memory)
        starts = head >= 0 and jobs.size[head] <= free(cluster)
        if starts:  # what the head leaves free is known only of a head that fits
            starts = room(cluster, jobs, memory.easy, head) <= free(cluster)
        if starts:
            start_or_try(cluster, jobs, memory.easy.trial, head)
    if head < 0 or free(cluster) == 0:
        return
    memory.easy.cautious[0] = _is_overdue(cluster, jobs, memory, head)
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
def _write_keep(cluster, jobs, memory, part):
    """Write how many processors some jobs leave free, if any do."""
    keep, value = memory.keep, memory.easy.keep
    if memory.scored[3]:
        score_jobs(keep.program, keep.columns, memory.history, cluster, jobs, part, value)


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
    for job in waiting(cluster):
        if not _is_overdue(cluster, jobs, memory, job):
            break
        if cluster.start[job] < 0:
            return job
    queue, history = waiting(cluster), memory.history
    count = write_firsts(memory.queue, history, cluster, jobs, queue, memory.firsts)
    return find_best(memory.queue, memory.history, cluster, jobs, memory.firsts[:count])


@kernel
def _backfill(cluster, jobs, memory, head, count):
    """Start, one by one, the first of the fitting jobs that does not delay the head."""
    fitting, queue, history = memory.fitting, memory.queue, memory.history
    if memory.scored[2]:
        count = _drop(cluster, jobs, memory, count, FOREVER, 0)  # what started left less room
        believe(cluster, jobs, memory, count)
    memory.firsts[0] = head
    _write_keep(cluster, jobs, memory, memory.firsts[:1])
    need = room(cluster, jobs, memory.easy, head)
    shadow_time, extra_nodes = FOREVER, 0
    if memory.easy.reservations[0] > 0 or memory.easy.cautious[0]:
        shadow_time, extra_nodes = shadow_of_room(cluster, jobs, head, need)
    while count > 0:
        count = _drop(cluster, jobs, memory, count, shadow_time, extra_nodes)
        if count > 0:
            job = fitting[0]  # the oldest
            if not _is_overdue(cluster, jobs, memory, job):
                some = write_firsts(queue, history, cluster, jobs, fitting[:count], memory.firsts)
                job = find_best(queue, history, cluster, jobs, memory.firsts[:some])
            extra_nodes -= try_backfill(cluster, jobs, memory.easy, job, False, shadow_time)


@kernel
def _drop(cluster, jobs, memory, count, shadow_time, extra_nodes):
    """Drop the fitting jobs that may not be backfilled; return the number of the others."""
    kept = 0
    for job in memory.fitting[:count]:
        if may_backfill(cluster, jobs, memory.easy, job, shadow_time, extra_nodes):
            memory.fitting[kept] = job
            kept += 1
    return kept
