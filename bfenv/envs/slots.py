"""What an agent may choose: which waiting jobs are in slots, and which actions are legal.

If the queue is no longer than the window, all waiting jobs are in slots. Otherwise the oldest jobs
and the first ones of some orders are. In either case the slots are in queue order, so the oldest
waiting job is in slot 0. Starts that delay no reservation are legal, and under some conditions
choices of a head, and the pass.
"""

from typing import NamedTuple

import numpy as np

import bfenv.envs.batch_state as at
from bfenv.core.arguments import check_choice
from bfenv.core.cluster import Cluster, free, may_start, now, shadow, waiting
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.envs.batch_state import BatchState, EnvRules, TraceTables
from bfenv.knowledge.priorities import LXF, SAF, SJF, SQF

# The orders that share the slots with the oldest jobs
WINDOW_ORDERS = {"mixed": (SJF, SQF, LXF), "oldest": (), "saf": (SAF,)}


class WindowRule(NamedTuple):
    """How many slots are for the oldest jobs, and how many for the first of each order."""

    oldest_slots: int
    order_slots: int
    orders: np.ndarray  # (k,) int64 codes of bfenv.knowledge.priorities


def find_window_rule(order: str, window: int) -> WindowRule:
    """Return the rule of a window order, one of WINDOW_ORDERS, for a number of slots.

    Raises BfenvError if there is no such order.
    """
    check_choice("window_order", order, WINDOW_ORDERS)
    codes = np.array(WINDOW_ORDERS[order], dtype=np.int64)
    if order == "oldest":
        return WindowRule(window, 0, codes)
    if order == "saf":
        return WindowRule(1, window - 1, codes)
    oldest = max(window // 4, 1)
    return WindowRule(oldest, min((window - oldest) // len(codes), window // 4), codes)


@kernel
def write_slots(
    state: BatchState, tables: TraceTables, cluster: Cluster, jobs: Jobs, rules: EnvRules, i: int
) -> None:
    """Choose the jobs in the slots of environment i, and copy what they ask for.

    Writes: slots, slot_requests, slot_features; per_job[TAKEN] and [CHOSEN], value and best, which
    are only used here.
    """
    slots, line = state.slots[i], waiting(cluster)
    chosen, count = line, len(line)
    if count > len(slots):
        chosen, count = state.per_job[i, at.CHOSEN], len(slots)
        _choose(state, cluster, jobs, rules, i)
    slot = 0  # most often the first ones stay where they are
    while slot < count and slots[slot] == chosen[slot]:
        slot += 1
    features, requests = tables.features[state.counters[i, at.TRACE]], state.slot_requests[i]
    while slot < count:
        job = chosen[slot]
        slots[slot] = job
        requests[at.SLOT_SIZE, slot] = jobs.size[job]
        requests[at.SLOT_ESTIMATE, slot] = jobs.estimate[job]
        requests[at.SLOT_SUBMIT, slot] = jobs.submit[job]
        requests[at.SLOT_REQUESTED_START, slot] = jobs.requested_start[job]
        state.slot_features[i, at.SHARE, slot] = features[job, at.SHARE]
        state.slot_features[i, at.LOG_ESTIMATE, slot] = features[job, at.LOG_ESTIMATE]
        slot += 1
    while slot < len(slots) and slots[slot] >= 0:  # empty slots
        slots[slot] = -1
        requests[at.SLOT_SIZE, slot] = FOREVER
        slot += 1


@kernel
def _choose(state: BatchState, cluster: Cluster, jobs: Jobs, rules: EnvRules, i: int) -> None:
    """Choose the jobs in slots where more wait than there are slots.

    Writes: per_job[CHOSEN], the jobs in queue order; per_job[TAKEN], value and best.
    """
    line, taken, chosen = waiting(cluster), state.per_job[i, at.TAKEN], state.per_job[i, at.CHOSEN]
    window = len(state.slots[i])
    for place in range(len(line)):
        taken[place] = place < rules.oldest_slots
    left = window - rules.oldest_slots
    for order in rules.orders:
        left -= _take_first(state, cluster, jobs, i, order, min(rules.order_slots, left))
    place = rules.oldest_slots
    while left > 0:  # what the orders leave is for the oldest jobs
        left -= 1 - taken[place]
        taken[place] = 1
        place += 1
    slot = 0
    for place in range(len(line)):  # without a branch, which would often be mispredicted
        chosen[slot] = line[place]
        slot += taken[place]


@kernel
def _take_first(
    state: BatchState, cluster: Cluster, jobs: Jobs, i: int, order: int, most: int
) -> int:
    """Take the first jobs of an order among those not taken yet; of two equal ones the older.

    Return how many they are, at most `most`. Writes: per_job[TAKEN], value and best.
    """
    line, taken = waiting(cluster), state.per_job[i, at.TAKEN]
    value, best = state.value[i], state.best[i]
    for place in range(len(line)):  # as `bfenv.knowledge.priorities.formula`
        job = line[place]
        estimate, size = jobs.estimate[job], jobs.size[job]
        if order == LXF:
            value[place] = -((now(cluster) - jobs.submit[job] + estimate) / estimate)
        elif order == SAF:
            value[place] = float(estimate) * size
        else:
            value[place] = estimate if order == SJF else size
    count = 0  # best[:count] are places in the queue, by value
    for place in range(len(line)):
        if taken[place] or most == 0 or (count == most and value[place] >= value[best[most - 1]]):
            continue
        slot = min(count, most - 1)
        while slot > 0 and value[best[slot - 1]] > value[place]:
            best[slot] = best[slot - 1]
            slot -= 1
        best[slot] = place
        count = min(count + 1, most)
    for slot in range(count):
        taken[best[slot]] = 1
    return count


@kernel
def write_mask(state: BatchState, cluster: Cluster, jobs: Jobs, rules: EnvRules, i: int) -> None:
    """Write which actions are legal in environment i.

    1. The head is the job that the agent has named in this pass, or the oldest job under EASY's
       rule.
    2. A start is legal if the job fits and delays no head: it is over by the head's shadow time, or
       needs no more than the extra nodes. Without a head, whatever fits may start.
    3. The pass is legal if no start is. With `may_idle` it is also legal beside starts, but not
       beside the start of a head.
    4. While a start is legal and no head is named, any other waiting job may become the head.

    Writes: mask, counters[LEGAL_STARTS].
    """
    mask, counters, line = state.mask[i], state.counters[i], waiting(cluster)
    window, head = len(state.slots[i]), counters[at.HEAD]
    requests, time, available = state.slot_requests[i], now(cluster), free(cluster)
    size, estimate = requests[at.SLOT_SIZE], requests[at.SLOT_ESTIMATE]
    requested_start = requests[at.SLOT_REQUESTED_START]
    head_starts, starts = False, 0
    mask[:window] = 0
    if len(line) > 0 and available > 0:
        if head < 0 and rules.oldest_is_head:
            head = line[0]  # it is in slot 0
            head_starts = may_start(cluster, jobs, head)
        shadow_time, extra_nodes = FOREVER, 0
        if head >= 0:
            shadow_time, extra_nodes = shadow(cluster, jobs, head)
        # Over all slots, empty or not: the end of the loop is then no surprise to the processor.
        for slot in range(window):
            beside = (time + estimate[slot] <= shadow_time) | (size[slot] <= extra_nodes)
            fits = (size[slot] <= available) & (requested_start[slot] <= time)
            mask[slot] = beside & fits
        if head_starts:
            mask[0] = 1
        for slot in range(window):
            starts += int(mask[slot])  # uncompiled, a sum of int8 would overflow
    counters[at.LEGAL_STARTS] = starts
    mask[window] = starts == 0 or (rules.may_idle and not head_starts)
    if rules.chosen_head and head < 0 and starts > 0:
        mask[: min(window, len(line))] = 1


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
