"""The kernels that write what an agent sees; `bfenv.envs.features` says what each number is.

Everything is computed from requests, the clock, expected ends and jobs that have ended.
"""

import math

import numpy as np

import bfenv.envs.batch_state as at
import bfenv.envs.features as f
import bfenv.knowledge.user_history as h
from bfenv.core.cluster import (
    PROCESSORS,
    Cluster,
    expected_ends,
    free,
    now,
    running,
    shadow,
    waiting,
)
from bfenv.core.durations import DAY
from bfenv.core.jobs import Jobs
from bfenv.core.kernel import kernel
from bfenv.envs.batch_state import BatchState, EnvRules, StepBuffers, TraceTables, history_of
from bfenv.knowledge.user_history import count_jobs, quantity

ROOT_HALF = int(np.float64(math.sqrt(0.5)).view(np.int64))  # its bits
FRACTION_BITS = 52
LOG_TWO = math.log(2.0)
THIRD, FIFTH, SEVENTH, NINTH = 1 / 3, 1 / 5, 1 / 7, 1 / 9
PER_LOG_LONGEST, PER_LOG_MOST = 1.0 / f.LOG_LONGEST, 1.0 / f.LOG_MOST
PER_LOG_LARGEST = 1.0 / f.LOG_LARGEST_EXPANSION


@kernel
def log(x: float) -> float:
    """Return the natural logarithm of a positive normal number, to within 1e-9.

    The compiler handles several slots with one instruction, unlike with `math.log`; and the result
    is the same on every machine. It uses the series of log((1 + s) / (1 - s)). Uncompiled, Python's
    numbers take half of the time of numpy's.
    """
    bits = int(np.float64(x).view(np.int64))
    exponent = (bits - ROOT_HALF) >> FRACTION_BITS
    mantissa = float(np.int64(bits - (exponent << FRACTION_BITS)).view(np.float64))  # 0.7 to 1.4
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    series = 1.0 + z * (THIRD + z * (FIFTH + z * (SEVENTH + z * NINTH)))
    return exponent * LOG_TWO + 2.0 * s * series


@kernel
def log_time(seconds: float) -> float:
    """Map 0 s to 0 and 100 days or more to 1, on a logarithmic scale."""
    share: float = min(1.0, log(1.0 + seconds) * PER_LOG_LONGEST)
    return share


@kernel
def log_count(number: float) -> float:
    """Map 0 to 0 and 10,000 or more to 1, on a logarithmic scale."""
    share: float = min(1.0, log(1.0 + number) * PER_LOG_MOST)
    return share


@kernel
def log_expansion(ratio: float) -> float:
    """Map 1 to 0 and 10,000 or more to 1, on a logarithmic scale."""
    share: float = min(1.0, log(ratio) * PER_LOG_LARGEST)
    return share


ARC = 300  # seconds
ANGLES = np.arange(DAY) * (2 * np.pi / DAY)  # of the seconds of a day
# (k, 2) float64: sine and cosine of the angles that are ARC apart, and of the first ones
ARCS, FIRST_ARC = (np.stack([np.sin(x), np.cos(x)], 1) for x in (ANGLES[::ARC], ANGLES[:ARC]))
# The values of neighbouring columns by the bits of SLOT_FLAGS: one look-up instead of conversions
FLAG_VALUES = ((np.arange(16)[:, None] >> np.arange(4)) & 1).astype(np.float32)  # (16, 4)
STEP_BITS = 49  # bits of a float64 behind its exponent and three bits of its fraction
FIRST_BITS = int(np.float64(1).view(np.int64)) >> STEP_BITS
LAST_BITS = int(np.float64(f.AHEAD[-1] + 1).view(np.int64)) >> STEP_BITS
# By the leading bits of 1 + a time ahead: the first step that the least such time reaches; the
# largest reaches at most the next one
STEPS = np.searchsorted(
    f.AHEAD + 1, (np.arange(FIRST_BITS, LAST_BITS + 1) << STEP_BITS).view(np.float64)
)
LANES = 8  # slots: a multiple of how many the compiler handles with one instruction


@kernel
def observe(
    state: BatchState,
    tables: TraceTables,
    rules: EnvRules,
    cluster: Cluster,
    jobs: Jobs,
    i: int,
    buffers: StepBuffers,
) -> None:
    """Write the observation of environment i.

    Writes: its places in the buffers, and slot_requests[SLOT_FLAGS], slot_features[LOG_WAIT] and
    [LOG_EXPANSION], which are only used here.
    """
    line = waiting(cluster)
    head, shadow_time, extra_nodes = -1, now(cluster), cluster.state[PROCESSORS]
    if len(line) > 0:
        head = state.counters[i, at.HEAD]
        head = head if head >= 0 else line[0]
        shadow_time, extra_nodes = shadow(cluster, jobs, head)
    _write_queue(state, cluster, i, head, shadow_time, extra_nodes, buffers.queue[i])
    write_profile(cluster, jobs, buffers.profile[i])

    time, waits, window = now(cluster), len(line), len(state.slots[i])
    queue, slots = buffers.queue[i], state.slots[i, : min(window, waits)]
    if rules.user_column is not None:
        history = history_of(state, tables, i)
        _write_users(history, rules.user_column, cluster, jobs, slots, queue)
    if rules.priority_column is not None:
        for slot in range(len(slots)):
            priority = jobs.priority[slots[slot]]
            queue[slot, rules.priority_column] = priority / (1.0 + abs(priority))
    if rules.start_column is not None:
        for slot in range(len(slots)):
            ahead = max(jobs.requested_start[slots[slot]] - time, 0)
            queue[slot, rules.start_column] = log_time(ahead)

    row, processors, ends = buffers.cluster[i], cluster.state[PROCESSORS], expected_ends(cluster)
    second = (time + tables.time_of_day[state.counters[i, at.TRACE]]) % DAY
    row[f.CLUSTER_FREE] = free(cluster) / processors
    row[f.CLUSTER_QUEUE] = log_count(waits)
    row[f.CLUSTER_OUTSIDE] = max(waits - window, 0) / max(waits, 1)
    row[f.CLUSTER_BACKLOG] = log_time(max(0.0, state.sums[i, at.BACKLOG]) / processors)
    row[f.CLUSTER_SHADOW] = log_time(shadow_time - time)
    row[f.CLUSTER_EXTRA] = extra_nodes / processors
    row[f.CLUSTER_NEXT_END] = 1.0
    if len(ends) > 0:
        row[f.CLUSTER_NEXT_END] = log_time(ends[0] - time)
    row[f.CLUSTER_DAY_SIN], row[f.CLUSTER_DAY_COS] = sine_and_cosine(second)
    if rules.pass_column >= 0:
        row[rules.pass_column] = state.mask[i, window]


@kernel
def _write_queue(
    state: BatchState,
    cluster: Cluster,
    i: int,
    head: int,
    shadow_time: int,
    extra_nodes: int,
    queue: np.ndarray,
) -> None:
    """Write the columns of QUEUE.

    What can be computed for several slots with one instruction is in small loops of its own, over
    whole instructions: what these make of the empty slots behind the jobs is not looked at.

    Writes: queue, and as `observe`.
    """
    slots, mask, requests = state.slots[i], state.mask[i], state.slot_requests[i]
    size, estimate = requests[at.SLOT_SIZE], requests[at.SLOT_ESTIMATE]
    submit, requested_start = requests[at.SLOT_SUBMIT], requests[at.SLOT_REQUESTED_START]
    flags, features = requests[at.SLOT_FLAGS], state.slot_features[i]
    share, log_estimate = features[at.SHARE], features[at.LOG_ESTIMATE]
    log_wait, expansion = features[at.LOG_WAIT], features[at.LOG_EXPANSION]
    time, available = now(cluster), free(cluster)
    seen = min(len(slots), len(waiting(cluster)))
    lanes = min(len(slots), (seen + LANES - 1) // LANES * LANES)
    for slot in range(lanes):
        log_wait[slot] = log_time(time - submit[slot])
    for slot in range(lanes):
        expansion[slot] = log_expansion(1.0 + (time - submit[slot]) / estimate[slot])
    for slot in range(lanes):  # the bits are the columns from JOB_FITS to JOB_WITHIN_EXTRA
        fits = (size[slot] <= available) & (requested_start[slot] <= time)
        before_shadow = time + estimate[slot] <= shadow_time
        flags[slot] = (
            fits
            | (np.int64(slots[slot] == head) << 1)
            | (np.int64(before_shadow) << 2)
            | (np.int64(size[slot] <= extra_nodes) << 3)
        )
    queue[seen:] = 0.0
    for slot in range(seen):
        row, values = queue[slot], FLAG_VALUES[flags[slot]]
        # All are read before any is written, so that the compiler moves them at once.
        fits, is_head, before_shadow, within_extra = values[0], values[1], values[2], values[3]
        row[f.JOB_PRESENT] = 1.0
        row[f.JOB_LEGAL] = mask[slot]
        row[f.JOB_SIZE] = share[slot]
        row[f.JOB_ESTIMATE] = log_estimate[slot]
        row[f.JOB_WAIT] = log_wait[slot]
        row[f.JOB_EXPANSION] = expansion[slot]
        row[f.JOB_FITS] = fits
        row[f.JOB_HEAD] = is_head
        row[f.JOB_BEFORE_SHADOW] = before_shadow
        row[f.JOB_WITHIN_EXTRA] = within_extra


@kernel
def _write_users(
    history: h.UserHistory,
    first: int,
    cluster: Cluster,
    jobs: Jobs,
    slots: np.ndarray,
    queue: np.ndarray,
) -> None:
    """Write the columns of USERS from `first` on, scaled as `features.USERS` says.

    Writes: queue, user_jobs.
    """
    count_jobs(history, cluster, jobs, h.COUNTS_OF_USERS)
    for slot in range(len(slots)):
        for k in range(len(f.USER_QUANTITIES)):
            kind = f.USER_QUANTITIES[k]
            value = quantity(history, cluster, jobs, slots[slot], kind)
            if kind == h.PREDICTED_EXPANSION:
                value = log_expansion(value)
            elif kind in (h.USER_QUEUED, h.USER_RUNNING, h.USER_ENDED):
                value = log_count(value)
            elif kind != h.ACCURACY:
                value = log_time(value)
            queue[slot, first + k] = value


@kernel
def write_profile(cluster: Cluster, jobs: Jobs, profile: np.ndarray) -> None:
    """Write the availability profile by the estimates of running jobs. Writes: profile."""
    runs, ends, processors = running(cluster), expected_ends(cluster), cluster.state[PROCESSORS]
    time, available = now(cluster), free(cluster)
    profile[0] = available / processors
    profile[1:] = -np.inf
    for k in range(len(runs)):
        ahead = ends[k] - time
        if ahead > f.AHEAD[len(f.AHEAD) - 1]:
            break
        # The first step that is at least so far ahead, by a look-up and a comparison: the
        # processor would mispredict when a search ends.
        step = STEPS[(np.float64(1 + max(ahead, 0)).view(np.int64) >> STEP_BITS) - FIRST_BITS]
        step += f.AHEAD[step] < ahead
        available += jobs.size[runs[k]]
        profile[step] = available / processors
    share = profile[0]  # it never falls, so the steps at which no job ends take the largest so far
    for step in range(len(f.AHEAD)):
        share = max(share, profile[step])
        profile[step] = share


@kernel
def sine_and_cosine(second: int) -> tuple[float, float]:
    """Return both for the angle of a second of the day, by the theorem of addition.

    It takes a fraction of the time of the library's functions, and gives the same float32.
    """
    arc, remainder = second // ARC, second % ARC
    sine = ARCS[arc, 0] * FIRST_ARC[remainder, 1] + ARCS[arc, 1] * FIRST_ARC[remainder, 0]
    return sine, ARCS[arc, 1] * FIRST_ARC[remainder, 1] - ARCS[arc, 0] * FIRST_ARC[remainder, 0]
