"""Which actions are legal: starts that delay no reservation, choices of a head, and the pass."""

import bfenv.envs.batch_state as at
from bfenv.core.cluster import Cluster, free, may_start, now, shadow, waiting
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.envs.batch_state import BatchState, EnvRules


@kernel
def write_mask(state: BatchState, cluster: Cluster, jobs: Jobs, rules: EnvRules, i: int) -> None:
    """Write which actions are legal in environment i.

    1. The head is the job that the agent has named in this pass, or the oldest job under EASY's
       rule.
    2. A start is legal if it delays no head.
    3. The pass is legal if no start is. With `may_idle` it is also legal beside starts, but not
       beside the start of a head.
    4. While a start is legal and no head is named, any other waiting job may become the head.

    Writes: mask, counters[LEGAL_STARTS].
    """
    mask, counters, line = state.mask[i], state.counters[i], waiting(cluster)
    window, head = len(state.slots[i]), counters[at.HEAD]
    head_starts, starts = False, 0
    mask[:window] = 0
    if len(line) > 0 and free(cluster) > 0:
        if head < 0 and rules.oldest_is_head:
            head = line[0]  # it is in slot 0
            head_starts = may_start(cluster, jobs, head)
        _allow_beside(state, cluster, jobs, head, i)
        if head_starts:
            mask[0] = 1
        for slot in range(window):
            starts += int(mask[slot])  # uncompiled, a sum of int8 would overflow
    counters[at.LEGAL_STARTS] = starts
    mask[window] = starts == 0 or (rules.may_idle and not head_starts)
    if rules.chosen_head and head < 0 and starts > 0:
        mask[: min(window, len(line))] = 1


@kernel
def _allow_beside(state: BatchState, cluster: Cluster, jobs: Jobs, head: int, i: int) -> None:
    """Allow the starts of jobs that fit, and do not delay the reservation of the head.

    A job does not delay it if it is over by the shadow time, or needs no more than the extra nodes.
    Without a head, -1, all that fits may start. The loop goes over all slots, empty or not: its end
    is then no surprise to the processor. Writes: mask.
    """
    mask, requests = state.mask[i], state.slot_requests[i]
    size, estimate = requests[at.SLOT_SIZE], requests[at.SLOT_ESTIMATE]
    requested_start = requests[at.SLOT_REQUESTED_START]
    time, available = now(cluster), free(cluster)
    shadow_time, extra_nodes = FOREVER, 0
    if head >= 0:
        shadow_time, extra_nodes = shadow(cluster, jobs, head)
    for slot in range(len(size)):
        beside = (time + estimate[slot] <= shadow_time) | (size[slot] <= extra_nodes)
        fits = (size[slot] <= available) & (requested_start[slot] <= time)
        mask[slot] = beside & fits


@kernel
def may_any_start(state: BatchState, cluster: Cluster, jobs: Jobs, rules: EnvRules, i: int) -> bool:
    """Tell whether a waiting job may start; True in doubt.

    It is asked at every scheduling pass, to save slots and a mask. A choice of slots takes much
    longer than the shadow time, so where one would be due, EASY's condition is looked at, too.
    """
    line, time, available = waiting(cluster), now(cluster), free(cluster)
    if len(line) == 0 or available == 0:
        return False
    shadow_time, extra_nodes = FOREVER, 0
    if rules.oldest_is_head and len(line) > len(state.slots[i]):
        if may_start(cluster, jobs, line[0]):
            return True
        shadow_time, extra_nodes = shadow(cluster, jobs, line[0])
    for job in line:
        size = jobs.size[job]
        if size <= available and jobs.requested_start[job] <= time:
            if time + jobs.estimate[job] <= shadow_time or size <= extra_nodes:
                return True
    return False
