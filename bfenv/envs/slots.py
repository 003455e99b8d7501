"""Slots: which of the waiting jobs an agent sees and can start.

If the queue is no longer than the window, all waiting jobs are in slots. Otherwise the oldest jobs
and the first ones of some orders are; an order is named or an expression, as in
`bfenv.baselines.easy_orders.easy`. Jobs that cannot start because of an outage only take what is
left. In either case the slots are in queue order.
"""

from typing import NamedTuple

import numpy as np

import bfenv.envs.batch_state as at
import bfenv.knowledge.expression_program as xp
from bfenv.baselines.queue_order import find_order_or_expression
from bfenv.core.cluster import now, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel, shared_kernel
from bfenv.envs.batch_state import columns_of, history_of
from bfenv.envs.legal_actions import longest_allowed_wait
from bfenv.envs.outages import is_hidden
from bfenv.knowledge.priorities import EXPRESSION, LXF, ORDERS, SJF, SQF, formula
from bfenv.knowledge.user_history import count_jobs, note_age_limit

ORDER_NAMES = tuple(name for name, order in ORDERS.items() if not order.stochastic)
WINDOW_ORDERS = ("mixed", "oldest", *ORDER_NAMES)
LARGEST = 2**63 - 1  # int64; the key of a job that an order may not take
NEAR = 4  # places from the wanted key at which it is looked for place by place


class WindowRule(NamedTuple):
    """How many slots are for the oldest jobs, and how many for the first of each order."""

    oldest_slots: int
    order_slots: int
    orders: np.ndarray  # (k,) int64 codes of bfenv.knowledge.priorities
    order_weight: float | None  # None unless an order is named or an expression
    expression: np.ndarray | None  # (p,) int64, see `pack_program`


def find_window_rule(order: str, window: int, reserved: int) -> WindowRule:
    """Return the rule of a window order.

    * `order`: one of WINDOW_ORDERS, or an expression, the smallest values first.
    * `window`: Slots.
    * `reserved`: how many of the oldest jobs have reservations; they are in slots as far as these
      go.

    Raises BfenvError if there is no such order, or the expression cannot be read; the message
    points at the column.
    """
    codes: list[int] = []
    weight: float | None = None
    expression: np.ndarray | None = None
    oldest = window
    if order == "mixed":
        codes, oldest = [SJF, SQF, LXF], window // 4
    elif order != "oldest":
        found = find_order_or_expression(order, "window_order", WINDOW_ORDERS)
        if found.stochastic:
            raise PolicyError(f"window_order must not draw random numbers, got {order!r}")
        codes, weight, oldest = [found.code], found.weight, 1
        if found.code == EXPRESSION:
            expression = xp.pack_program(xp.parse_expression(order, "window_order"))
    oldest = min(window, max(oldest, reserved, 1))
    share = (window - oldest) // len(codes) if codes else 0
    if order == "mixed":
        share = min(share, window // 4)
    return WindowRule(oldest, share, np.array(codes, dtype=np.int64), weight, expression)


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
    for slot in range(same, len(line)):
        slots[slot] = line[slot]
    _write_requests(state, tables, jobs, i, same, len(line))
    slot = len(line)
    while slot < len(slots) and slots[slot] >= 0:
        slots[slot] = -1
        state.slot_requests[i, at.SLOT_SIZE, slot] = FOREVER
        slot += 1


@kernel
def _write_requests(state, tables, jobs, i, first, end):
    """Copy what is asked for by the jobs in the slots from `first` up to `end`."""
    slots, known = state.slots[i], tables.features[state.counters[i, at.TRACE]]
    size, estimate = state.slot_requests[i, at.SLOT_SIZE], state.slot_requests[i, at.SLOT_ESTIMATE]
    submit = state.slot_requests[i, at.SLOT_SUBMIT]
    requested_start = state.slot_requests[i, at.SLOT_REQUESTED_START]
    share, log_estimate = state.slot_features[i, at.SHARE], state.slot_features[i, at.LOG_ESTIMATE]
    for slot in range(first, end):
        job = slots[slot]
        size[slot] = jobs.size[job]
        estimate[slot] = jobs.estimate[job]
        submit[slot] = jobs.submit[job]
        requested_start[slot] = jobs.requested_start[job]
        share[slot] = known[job, at.SHARE]
        log_estimate[slot] = known[job, at.LOG_ESTIMATE]


@kernel
def _choose(state, tables, cluster, jobs, rules, i):
    """Choose the jobs in slots where more wait than there are slots."""
    slots, line = state.slots[i], waiting(cluster)
    taken, left = state.per_job[i, at.TAKEN], len(slots)
    taken[: len(line)] = 0
    counters = state.counters[i]
    if state.outages is not None and counters[at.MET] > 0 and counters[at.OLDEST] >= 0:
        taken[np.searchsorted(line, counters[at.OLDEST])] = 1
        left -= 1
    left -= _take_oldest(state, cluster, i, min(left, rules.oldest_slots), False)
    for k in range(len(rules.orders)):
        left -= _take_first(state, tables, cluster, jobs, rules, i, k, left)
    left -= _take_oldest(state, cluster, i, left, False)
    if state.outages is not None:
        _take_oldest(state, cluster, i, left, True)
    chosen, slot = state.per_job[i, at.KEY], 0
    for place in range(len(line)):  # without a branch, which would often be mispredicted
        chosen[slot] = line[place]
        slot += taken[place]
    same = 0
    while same < len(slots) and slots[same] == chosen[same]:
        same += 1
    for slot in range(same, len(slots)):
        slots[slot] = chosen[slot]
    _write_requests(state, tables, jobs, i, same, len(slots))


@shared_kernel
def _take_oldest(state, cluster, i, most, hidden_too):
    """Take the oldest jobs among those not taken yet; return how many they are."""
    taken, line = state.per_job[i, at.TAKEN], waiting(cluster)
    around, count = state.counters[i, at.MET] > 0 and not hidden_too, 0
    for place in range(len(line)):
        if count == most:
            break
        if taken[place]:
            continue
        if state.outages is None or not (around and is_hidden(state, i, line[place])):
            taken[place] = 1
            count += 1
    return count


@kernel
def _take_first(state, tables, cluster, jobs, rules, i, k, left):
    """Take the first jobs of an order among those not taken yet and not hidden.

    Return how many they are, at most `left`.
    """
    taken, key, line = state.per_job[i, at.TAKEN], state.per_job[i, at.KEY], waiting(cluster)
    count = _write_keys(state, tables, cluster, jobs, rules, i, rules.orders[k])
    wanted = min(rules.order_slots, count, left)
    if wanted == 0:
        return 0
    last = _nth(key, len(line), wanted, state.last_keys[i, k])
    state.last_keys[i, k] = last
    surplus = -wanted
    for place in range(len(line)):
        taken[place] |= key[place] <= last
        surplus += key[place] <= last
    place = len(line)
    while surplus > 0:  # of the jobs with the last key, the oldest are taken
        place -= 1
        if key[place] == last:
            taken[place] = 0
            surplus -= 1
    return wanted


@kernel
def _write_keys(state, tables, cluster, jobs, rules, i, order):
    """Write the keys of the jobs that the order may take; return how many they are."""
    taken, key, line = state.per_job[i, at.TAKEN], state.per_job[i, at.KEY], waiting(cluster)
    time, count = now(cluster), 0
    if rules.expression is not None:
        program, columns = xp.program_of(rules.expression), columns_of(state, rules, i)
        history, value = history_of(state, tables, i), state.per_job[i, at.VALUE].view(np.float64)
        count_jobs(history, cluster, jobs, program.counts[0], program.counts[1])
        note_age_limit(history, longest_allowed_wait(state, rules, i))
        xp.score_jobs(program, columns, history, cluster, jobs, line, value)
    for place in range(len(line)):
        job = line[place]
        estimate, size = jobs.estimate[job], jobs.size[job]
        waited = time - jobs.submit[job]
        if rules.expression is not None:
            value = state.per_job[i, at.VALUE].view(np.float64)[job]
        elif rules.order_weight is not None:
            number = tables.order_number[state.counters[i, at.TRACE]]
            own = number[job] if len(number) > 0 else 0.0
            submit, weight = jobs.submit[job], rules.order_weight
            value = formula(order, waited, estimate, size, submit, own, weight)
        else:  # the orders of "mixed", without a branch
            value = float(estimate if order == SJF else size)
            value = -((waited + estimate) / estimate) if order == LXF else value
        bits = np.float64(value + 0.0).view(np.int64)  # -0.0 is 0.0; the value is not NaN
        sortable = bits ^ ((bits >> 63) & LARGEST)  # an integer in the order of the values
        key[place] = sortable if taken[place] == 0 else LARGEST  # without a branch
        count += 1 - taken[place]
    if state.outages is not None and state.counters[i, at.MET] > 0:
        for place in range(len(line)):
            if is_hidden(state, i, line[place]):
                count -= key[place] < LARGEST
                key[place] = LARGEST
    return count


@kernel
def _nth(keys, count, n, guess):
    """Return the n-th smallest of the first `count` keys, by bisection of their range.

    LARGEST is no key. The compiler counts several keys with one instruction, so for the lengths of
    queues this is faster than a heap. A good guess, the key of the last choice, leaves few steps.
    """
    low, high, middle = -LARGEST, LARGEST, guess
    while low < high:
        up_to, below, above = 0, low, high  # the number of keys up to it, and its neighbours
        for slot in range(count):
            key = keys[slot]
            up_to += key <= middle
            below = max(below, key if key <= middle else low)
            above = min(above, key if key > middle else high)
        if up_to == n:
            return below
        if up_to == n - 1:
            return above
        if up_to < n:
            low = above
        else:
            high = below
        middle = (low & high) + ((low ^ high) >> 1)  # the mean, rounded down
        if abs(up_to - n) < NEAR:
            middle = low if up_to < n else high - 1
    return high
