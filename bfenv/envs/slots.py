"""Slots: which of the waiting jobs an agent sees and can start.

If the queue is no longer than the window, all waiting jobs are in slots. Otherwise the oldest jobs
and the first ones of some orders are. In either case the slots are in queue order, so the oldest
waiting job is in slot 0.
"""

from typing import NamedTuple

import numpy as np

import bfenv.envs.batch_state as at
from bfenv.core.arguments import check_choice
from bfenv.core.cluster import Cluster, now, waiting
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
