"""Slots: which of the waiting jobs an agent sees and can start.

If the queue is no longer than the window, all waiting jobs are in slots. Otherwise the oldest jobs
and the first ones of some orders are. In either case the slots are in queue order, so the oldest
waiting job is in slot 0.
"""

from typing import NamedTuple

import numpy as np

from bfenv.baselines.priorities import LXF, ORDERS, SJF, SQF, formula
from bfenv.core.arguments import check_choice
from bfenv.core.cluster import now, waiting
from bfenv.core.kernel import kernel
from bfenv.envs.batch_state import (
    CHOICES,
    IN_WINDOW,
    LOG_ESTIMATE,
    SHARE,
    SLOT_ESTIMATE,
    SLOT_REQUESTED_START,
    SLOT_SIZE,
    SLOT_SUBMIT,
    TRACE,
)

ORDER_NAMES = tuple(name for name, order in ORDERS.items() if not order.stochastic)
WINDOW_ORDERS = ("mixed", "oldest", *ORDER_NAMES)


class WindowRule(NamedTuple):
    """How many slots are for the oldest jobs, and how many for the first of each order."""

    oldest_slots: int
    order_slots: int
    orders: np.ndarray  # (k,) int64 codes of bfenv.baselines.priorities
    order_weight: np.ndarray  # (1,) float64


def find_window_rule(order: str, window: int, reserved: int) -> WindowRule:
    """Return the rule of a window order.

    Parameters
    ----------
    order
        One of WINDOW_ORDERS.
    window
        Slots.
    reserved
        How many of the oldest jobs have reservations; they are in slots as far as these go.

    Raises
    ------
    BfenvError
        If there is no such order.
    """
    check_choice("window_order", order, WINDOW_ORDERS)
    codes, weight = [], 0.0
    oldest = window
    if order == "mixed":
        codes, oldest = [SJF, SQF, LXF], window // 4
    elif order != "oldest":
        codes, weight, oldest = [ORDERS[order].code], ORDERS[order].weight, 1
    oldest = min(window, max(oldest, reserved, 1))
    share = (window - oldest) // len(codes) if codes else 0
    if order == "mixed":
        share = min(share, window // 4)
    return WindowRule(oldest, share, np.array(codes, dtype=np.int64), np.array([weight]))


@kernel
def write_slots(state, tables, cluster, jobs, rules, i):
    """Choose the jobs in the slots of environment i."""
    slots, line = state.slots[i], waiting(cluster)
    if len(line) > len(slots):
        _choose(state, tables, cluster, jobs, rules, i)
        return
    same = 0  # the oldest jobs are most often where they were
    while same < len(line) and slots[same] == line[same]:
        same += 1
    slots[len(line) :] = -1
    for slot in range(same, len(line)):
        slots[slot] = line[slot]
    _write_requests(state, tables, jobs, i, same, len(line))


@kernel
def _write_requests(state, tables, jobs, i, first, end):
    """Copy what is asked for by the jobs in the slots from `first` up to `end`."""
    slots, known = state.slots[i], tables.features[state.counters[i, TRACE]]
    size, estimate = state.slot_requests[i, SLOT_SIZE], state.slot_requests[i, SLOT_ESTIMATE]
    submit = state.slot_requests[i, SLOT_SUBMIT]
    requested_start = state.slot_requests[i, SLOT_REQUESTED_START]
    share, log_estimate = state.slot_features[i, SHARE], state.slot_features[i, LOG_ESTIMATE]
    for slot in range(first, end):
        job = slots[slot]
        size[slot] = jobs.size[job]
        estimate[slot] = jobs.estimate[job]
        submit[slot] = jobs.submit[job]
        requested_start[slot] = jobs.requested_start[job]
        share[slot] = known[SHARE, job]
        log_estimate[slot] = known[LOG_ESTIMATE, job]


@kernel
def _choose(state, tables, cluster, jobs, rules, i):
    """Choose the jobs in slots where more wait than there are slots."""
    slots, line = state.slots[i], waiting(cluster)
    state.counters[i, CHOICES] += 1
    taken, choice = state.per_job[i, IN_WINDOW], state.counters[i, CHOICES]
    left = len(slots)
    for slot in range(rules.oldest_slots):
        taken[line[slot]] = choice
        left -= 1
    for k in range(len(rules.orders)):
        left -= _take_first(state, tables, cluster, jobs, rules, i, k)
    slot = 0
    first = len(slots)  # the first slot that changes
    for job in line:
        if taken[job] != choice and left > 0:  # the oldest fill what is left
            taken[job] = choice
            left -= 1
        if taken[job] == choice:
            if slots[slot] != job:
                first = min(first, slot)
                slots[slot] = job
            slot += 1
    _write_requests(state, tables, jobs, i, first, len(slots))


@kernel
def _take_first(state, tables, cluster, jobs, rules, i, k):
    """Take the first jobs of an order among those not taken yet; return how many they are."""
    taken, choice = state.per_job[i, IN_WINDOW], state.counters[i, CHOICES]
    best, scores, time = state.best_jobs[i], state.best_scores[i], now(cluster)
    number = tables.order_number[state.counters[i, TRACE]]
    count = 0
    for job in waiting(cluster):
        if taken[job] == choice:
            continue
        value = formula(
            rules.orders[k],
            time - jobs.submit[job],
            jobs.estimate[job],
            jobs.size[job],
            jobs.submit[job],
            number[job] if len(number) > 0 else 0.0,
            rules.order_weight[0],
        )
        if count < rules.order_slots:
            _sift_up(best, scores, count, job, value)
            count += 1
        elif count > 0 and value < scores[0]:
            _replace_last(best, scores, count, job, value)
    for slot in range(count):
        taken[best[slot]] = choice
    return count


# The jobs found so far are a heap whose root is the last of them in the order, so most jobs of a
# long queue need one comparison. Among equal values the youngest is the last.


@kernel
def _sift_up(best, scores, slot, job, value):
    """Add a job, younger than all others, at the end of the heap."""
    while slot > 0 and scores[(slot - 1) // 2] <= value:
        parent = (slot - 1) // 2
        best[slot] = best[parent]
        scores[slot] = scores[parent]
        slot = parent
    best[slot] = job
    scores[slot] = value


@kernel
def _replace_last(best, scores, count, job, value):
    """Put a job in place of the root."""
    slot = 0
    while 2 * slot + 1 < count:
        child = 2 * slot + 1
        if child + 1 < count and _is_behind(best, scores, child + 1, scores[child], best[child]):
            child += 1
        if not _is_behind(best, scores, child, value, job):
            break
        best[slot] = best[child]
        scores[slot] = scores[child]
        slot = child
    best[slot] = job
    scores[slot] = value


@kernel
def _is_behind(best, scores, slot, value, job):
    """Tell whether the job at `slot` of the heap comes behind another one in the order."""
    return scores[slot] > value or (scores[slot] == value and best[slot] > job)
