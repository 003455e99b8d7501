"""The kernels that write what an agent sees; `bfenv.envs.features` says what each number is.

Everything is computed from requests, the clock, expected ends and jobs that have ended.
"""

import math

import numpy as np

from bfenv.baselines import user_history
from bfenv.baselines.user_history import quantity
from bfenv.core.cluster import PROCESSORS, expected_ends, free, may_start, now, running, waiting
from bfenv.core.durations import DAY
from bfenv.core.kernel import kernel
from bfenv.core.profile import shadow
from bfenv.envs.batch_state import BACKLOG, HEAD, TRACE, history_of
from bfenv.envs.features import (
    AHEAD,
    CLUSTER_BACKLOG,
    CLUSTER_DAY_COS,
    CLUSTER_DAY_SIN,
    CLUSTER_EXTRA,
    CLUSTER_FREE,
    CLUSTER_NEXT_END,
    CLUSTER_OUTSIDE,
    CLUSTER_PASS_LEGAL,
    CLUSTER_QUEUE,
    CLUSTER_SHADOW,
    JOB_BEFORE_SHADOW,
    JOB_ESTIMATE,
    JOB_EXPANSION,
    JOB_FITS,
    JOB_HEAD,
    JOB_LEGAL,
    JOB_PRESENT,
    JOB_SIZE,
    JOB_WAIT,
    JOB_WITHIN_EXTRA,
    LOG_LARGEST_EXPANSION,
    LOG_LONGEST,
    LOG_MOST,
    USER_ACCURACY,
    USER_LAST_RUNTIME,
    USER_RUNTIME,
    USER_SAME_ESTIMATE_RUNTIME,
    USER_USER_ENDED,
)
from bfenv.envs.legal_actions import longest_allowed_wait


@kernel
def log_time(seconds):
    """Map 0 s to 0 and 100 days or more to 1, on a logarithmic scale."""
    return min(1.0, math.log(1.0 + seconds) / LOG_LONGEST)


@kernel
def log_count(number):
    """Map 0 to 0 and 10,000 or more to 1, on a logarithmic scale."""
    return min(1.0, math.log(1.0 + number) / LOG_MOST)


@kernel
def observe(state, tables, rules, cluster, jobs, i, buffers):
    """Write the observation of environment i into its row of the buffers."""
    line = waiting(cluster)
    head, shadow_time, extra_nodes = -1, now(cluster), cluster.state[PROCESSORS]
    if len(line) > 0:
        head = state.counters[i, HEAD] if state.counters[i, HEAD] >= 0 else line[0]
        shadow_time, extra_nodes = shadow(cluster, jobs, head)
    _write_queue(state, tables, cluster, jobs, i, head, shadow_time, extra_nodes, buffers.queue[i])
    _write_groups(state, tables, rules, cluster, jobs, i, buffers.queue[i])
    _write_profile(cluster, jobs, buffers.profile[i])
    time_of_day = tables.time_of_day[state.counters[i, TRACE]]
    _write_cluster(state, cluster, i, time_of_day, shadow_time, extra_nodes, buffers.cluster[i])


@kernel
def _write_queue(state, tables, cluster, jobs, i, head, shadow_time, extra_nodes, queue):
    """Write the columns of QUEUE."""
    slots, mask, time = state.slots[i], state.mask[i], now(cluster)
    log_estimate = tables.log_estimate[state.counters[i, TRACE]]
    written_at, written = state.written_at[i], state.written[i]
    seen = min(len(slots), len(waiting(cluster)))
    queue[seen:] = 0.0
    for slot in range(seen):
        job = slots[slot]
        size, estimate = jobs.size[job], jobs.estimate[job]
        if written_at[job] != time:
            waited = time - jobs.submit[job]
            written_at[job] = time
            written[job, 0] = log_time(waited)
            written[job, 1] = min(1.0, math.log(1.0 + waited / estimate) / LOG_LARGEST_EXPANSION)
        row = queue[slot]
        row[JOB_PRESENT] = 1.0
        row[JOB_LEGAL] = mask[slot]
        row[JOB_SIZE] = size / cluster.state[PROCESSORS]
        row[JOB_ESTIMATE] = log_estimate[job]
        row[JOB_WAIT] = written[job, 0]
        row[JOB_EXPANSION] = written[job, 1]
        row[JOB_FITS] = may_start(cluster, jobs, job)
        row[JOB_HEAD] = job == head
        row[JOB_BEFORE_SHADOW] = time + estimate <= shadow_time
        row[JOB_WITHIN_EXTRA] = size <= extra_nodes


@kernel
def _write_groups(state, tables, rules, cluster, jobs, i, queue):
    """Write the columns behind those of QUEUE."""
    groups = rules.user_column, rules.priority_column, rules.start_column, rules.age_column
    if max(groups) < 0:
        return
    slots, time = state.slots[i], now(cluster)
    history, first = history_of(state, tables, i), rules.user_column
    for slot in range(min(len(slots), len(waiting(cluster)))):
        job, row = slots[slot], queue[slot]
        if first >= 0:
            row[first + USER_RUNTIME] = log_time(
                quantity(history, cluster, jobs, job, user_history.USER_RUNTIME)
            )
            row[first + USER_SAME_ESTIMATE_RUNTIME] = log_time(
                quantity(history, cluster, jobs, job, user_history.SAME_ESTIMATE_RUNTIME)
            )
            row[first + USER_LAST_RUNTIME] = log_time(
                quantity(history, cluster, jobs, job, user_history.LAST_RUNTIME)
            )
            row[first + USER_ACCURACY] = quantity(
                history, cluster, jobs, job, user_history.ACCURACY
            )
            row[first + USER_USER_ENDED] = log_count(
                quantity(history, cluster, jobs, job, user_history.USER_ENDED)
            )
        if rules.priority_column >= 0:
            priority = jobs.priority[job]
            row[rules.priority_column] = priority / (1.0 + abs(priority))
        if rules.start_column >= 0:
            row[rules.start_column] = log_time(max(jobs.requested_start[job] - time, 0))
        if rules.age_column >= 0:
            waited = time - jobs.submit[job]
            limit = longest_allowed_wait(state, cluster, rules, i)
            row[rules.age_column] = min(1.0, waited / max(limit, 1.0))


@kernel
def _write_profile(cluster, jobs, profile):
    runs = running(cluster)
    ends = expected_ends(cluster)
    time, processors = now(cluster), cluster.state[PROCESSORS]
    available, k = free(cluster), 0
    for step in range(len(AHEAD)):
        while k < len(runs) and ends[k] <= time + AHEAD[step]:
            available += jobs.size[runs[k]]
            k += 1
        profile[step] = available / processors


@kernel
def _write_cluster(state, cluster, i, time_of_day, shadow_time, extra_nodes, row):
    waits, window = len(waiting(cluster)), len(state.slots[i])
    processors, time, ends = cluster.state[PROCESSORS], now(cluster), expected_ends(cluster)
    angle = (time + time_of_day) % DAY * (2 * np.pi / DAY)
    row[CLUSTER_PASS_LEGAL] = state.mask[i, window]
    row[CLUSTER_FREE] = free(cluster) / processors
    row[CLUSTER_QUEUE] = log_count(waits)
    row[CLUSTER_OUTSIDE] = max(waits - window, 0) / max(waits, 1)
    row[CLUSTER_BACKLOG] = log_time(max(0.0, state.sums[i, BACKLOG]) / processors)
    row[CLUSTER_SHADOW] = log_time(shadow_time - time)
    row[CLUSTER_EXTRA] = extra_nodes / processors
    row[CLUSTER_NEXT_END] = 1.0
    if len(ends) > 0:
        row[CLUSTER_NEXT_END] = log_time(ends[0] - time)
    row[CLUSTER_DAY_SIN] = np.sin(angle)
    row[CLUSTER_DAY_COS] = np.cos(angle)
