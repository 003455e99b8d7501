"""Slots: which of the waiting jobs an agent sees and can start.

If the queue is no longer than the window, all waiting jobs are in slots. Otherwise the oldest jobs
and the first ones of some orders are; an order is named or an expression, as in
`bfenv.baselines.easy_variants.easy`. Jobs that cannot start because of an outage only take what is
left. In either case the slots are in queue order.
"""

from typing import NamedTuple

import numpy as np

from bfenv.baselines.expression_order import find_order_or_expression
from bfenv.baselines.expression_program import parse_expression, score_jobs
from bfenv.baselines.packed_program import pack_program, program_of
from bfenv.baselines.priorities import EXPRESSION, LXF, ORDERS, SJF, SQF, formula
from bfenv.baselines.user_history import count_jobs
from bfenv.core.cluster import now, waiting
from bfenv.core.kernel import kernel, shared_kernel
from bfenv.envs.batch_state import (
    CANDIDATE,
    CANDIDATE_KEY,
    CHOICES,
    IN_WINDOW,
    LOG_ESTIMATE,
    MET,
    OLDEST,
    SHARE,
    SLOT_ESTIMATE,
    SLOT_REQUESTED_START,
    SLOT_SIZE,
    SLOT_SUBMIT,
    TRACE,
    VALUE,
    columns_of,
    history_of,
)
from bfenv.envs.outages import is_hidden

ORDER_NAMES = tuple(name for name, order in ORDERS.items() if not order.stochastic)
WINDOW_ORDERS = ("mixed", "oldest", *ORDER_NAMES)
LARGEST = 2**63 - 1  # int64


class WindowRule(NamedTuple):
    """How many slots are for the oldest jobs, and how many for the first of each order."""

    oldest_slots: int
    order_slots: int
    orders: np.ndarray  # (k,) int64 codes of bfenv.baselines.priorities
    order_weight: float
    expression: np.ndarray  # (p,) int64, see `pack_program`; (0,) if no order is an expression


def find_window_rule(order: str, window: int, reserved: int) -> WindowRule:
    """Return the rule of a window order.

    Parameters
    ----------
    order
        One of WINDOW_ORDERS, or an expression, the smallest values first.
    window
        Slots.
    reserved
        How many of the oldest jobs have reservations; they are in slots as far as these go.

    Raises
    ------
    BfenvError
        If there is no such order, or the expression cannot be read; the message points at the
        column.
    """
    codes, weight, expression = [], 0.0, np.empty(0, dtype=np.int64)
    oldest = window
    if order == "mixed":
        codes, oldest = [SJF, SQF, LXF], window // 4
    elif order != "oldest":
        found = find_order_or_expression(order, "window_order", WINDOW_ORDERS)
        codes, weight, oldest = [found.code], found.weight, 1
        if found.code == EXPRESSION:
            expression = pack_program(parse_expression(order, "window_order"))
    oldest = min(window, max(oldest, reserved, 1))
    share = (window - oldest) // len(codes) if codes else 0
    if order == "mixed":
        share = min(share, window // 4)
    return WindowRule(oldest, share, np.array(codes, dtype=np.int64), weight, expression)


@kernel
def forget_values(state, rules, i, first, end):
    """Forget what the window's expression made of the jobs first .. end - 1 in other episodes."""
    if len(rules.expression) > 0:
        columns_of(state, rules, i).version[first:end] = -1


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
    if state.counters[i, MET] > 0 and state.counters[i, OLDEST] >= 0:
        taken[state.counters[i, OLDEST]] = choice
        left -= 1
    left -= _take_oldest(state, cluster, i, min(left, rules.oldest_slots))
    for k in range(len(rules.orders)):
        left -= _take_first(state, tables, cluster, jobs, rules, i, k, left)
    if state.counters[i, MET] > 0:
        left -= _take_oldest(state, cluster, i, left)
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
def _take_oldest(state, cluster, i, most):
    """Take the oldest jobs among those not taken yet and not hidden; return how many they are."""
    taken, choice = state.per_job[i, IN_WINDOW], state.counters[i, CHOICES]
    around, count = state.counters[i, MET] > 0, 0
    for job in waiting(cluster):
        if count == most:
            break
        if taken[job] != choice and not (around and is_hidden(state, i, job)):
            taken[job] = choice
            count += 1
    return count


@kernel
def _take_first(state, tables, cluster, jobs, rules, i, k, left):
    """Take the first jobs of an order among those not taken yet and not hidden.

    Return how many they are, at most `left`.
    """
    taken, choice = state.per_job[i, IN_WINDOW], state.counters[i, CHOICES]
    candidates, keys = state.per_job[i, CANDIDATE], state.per_job[i, CANDIDATE_KEY]
    if len(rules.expression) > 0:
        _write_values(state, tables, cluster, jobs, rules, i)
        value = state.per_job[i, VALUE].view(np.float64)
        count = _list_candidates(state, cluster, jobs, rules, i, k, value)
    else:
        number = tables.order_number[state.counters[i, TRACE]]
        count = _list_candidates(state, cluster, jobs, rules, i, k, number)
    wanted = min(rules.order_slots, count, left)
    if wanted == 0:
        return 0
    last = _nth(keys, count, wanted)
    ties = wanted  # how many of the jobs with the last key are taken, the oldest of them
    for slot in range(count):
        ties -= keys[slot] < last
    for slot in range(count):
        if keys[slot] < last or (keys[slot] == last and ties > 0):
            taken[candidates[slot]] = choice
            ties -= keys[slot] == last
    return wanted


@kernel
def _list_candidates(state, cluster, jobs, rules, i, k, number):
    """List the jobs that order k may take into slots, with their keys; return how many they are.

    `number` is that of `formula` by job; if the order has none, it is empty.
    """
    taken, choice = state.per_job[i, IN_WINDOW], state.counters[i, CHOICES]
    candidates, keys = state.per_job[i, CANDIDATE], state.per_job[i, CANDIDATE_KEY]
    around, time, count = state.counters[i, MET] > 0, now(cluster), 0
    for job in waiting(cluster):
        if around and is_hidden(state, i, job):
            continue
        value = formula(
            rules.orders[k],
            time - jobs.submit[job],
            jobs.estimate[job],
            jobs.size[job],
            jobs.submit[job],
            number[job] if len(number) > 0 else 0.0,
            rules.order_weight,
        )
        candidates[count] = job
        keys[count] = _sortable(value)
        count += taken[job] != choice
    return count


@shared_kernel
def _write_values(state, tables, cluster, jobs, rules, i):
    """Write the values that the window's expression has for the waiting jobs."""
    program, columns = program_of(rules.expression), columns_of(state, rules, i)
    history, value = history_of(state, tables, i), state.per_job[i, VALUE].view(np.float64)
    count_jobs(history, cluster, jobs, program.counts[0], program.counts[1])
    score_jobs(program, columns, history, cluster, jobs, waiting(cluster), value)


@kernel
def _sortable(value):
    """Return an integer that is in the order of the values, which are not NaN."""
    bits = np.float64(value + 0.0).view(np.int64)  # -0.0 is 0.0
    return bits ^ ((bits >> 63) & LARGEST)


@kernel
def _nth(keys, count, n):
    """Return the n-th smallest of the first `count` keys, by bisection of their range.

    The compiler counts several keys with one instruction, so for the lengths of queues this is
    faster than a heap.
    """
    low = high = keys[0]
    for slot in range(count):
        low, high = min(low, keys[slot]), max(high, keys[slot])
    while low < high:
        middle = (low & high) + ((low ^ high) >> 1)  # the mean, rounded down
        up_to, below, above = 0, low, high  # the number of keys up to it, and its neighbours
        for slot in range(count):
            key = keys[slot]
            up_to += key <= middle
            below = max(below, key if key <= middle else low)
            above = min(above, key if key > middle else high)
        if up_to < n:
            low = above
        else:
            high = below
        if up_to == n:
            break
    return high
