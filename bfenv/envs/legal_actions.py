"""Which actions are legal: starts that delay no reservation, choices of a head, and the pass."""

import numpy as np

import bfenv.envs.batch_state as at
from bfenv.baselines.easy_orders.order_pass import takes_trial
from bfenv.core.cluster import FREE, free, may_start, now, waiting
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.profile import Profile, anchor_point, fits, rebuild, reserve, shadow
from bfenv.envs.outages import is_hidden, is_withheld, leaves_enough, oldest, reserve_room


@kernel
def write_mask(state, cluster, jobs, rules, i):
    """Write the mask of environment i, whose machine and requests are `cluster` and `jobs`."""
    mask, line = state.mask[i], waiting(cluster)
    window = len(state.slots[i])
    if rules.trial_limit is not None:
        mask[window + 1 :] = 0
    state.counters[i, at.LEGAL_STARTS] = 0
    state.counters[i, at.LEGAL_TRIALS] = 0
    overdue = is_overdue(state, cluster, jobs, rules, i)
    head, first = state.counters[i, at.HEAD], oldest(state, cluster, i)
    reserved = 0  # a legal start in a slot before this one starts a job with a reservation
    if (first >= 0 or rules.reservation_depth == 0) and cluster.state[FREE] > 0:
        if head < 0 or overdue:
            head = first if rules.reservation_depth == 1 or overdue else -1
        if overdue and may_start(cluster, jobs, first):
            mask[:window] = 0
            reserved = _slot_of(state, i, first) + 1
            mask[reserved - 1] = 1
        elif state.plan is None:
            reserved = _allow_beside(state, cluster, jobs, rules, head, i)
        else:
            reserved = _allow_beside_plan(state, cluster, jobs, rules, i)
        starts = 0
        for slot in range(window):
            starts += mask[slot]
        state.counters[i, at.LEGAL_STARTS] = starts
    else:
        mask[:window] = 0
    mask[window] = _may_pass(state, rules, i, reserved)
    chooses = rules.chosen_head and state.counters[i, at.HEAD] < 0 and not overdue
    if chooses and state.counters[i, at.LEGAL_STARTS] > 0:
        for slot in range(min(window, len(line))):  # those that may not start may become the head
            mask[slot] = 1
            if state.outages is not None:
                mask[slot] = not is_withheld(state, cluster, jobs, i, state.slots[i, slot])


@kernel
def may_any_start(state, cluster, jobs, rules, i):
    """Tell whether a waiting job may start; True in doubt.

    It is asked at every scheduling pass, to save slots and a mask. A choice of slots takes much
    longer than the shadow time, so where one would be due, EASY's condition is looked at, too.
    """
    line, time, available = waiting(cluster), now(cluster), free(cluster)
    if len(line) == 0 or available == 0:
        return False
    shadow_time, extra_nodes = FOREVER, 0
    reserved = rules.reservation_depth == 1 and state.counters[i, at.HEAD] < 0
    around = state.counters[i, at.MET] > 0  # the head is then not known yet
    if rules.trial_limit is None:
        if len(line) > len(state.slots[i]) and reserved and not around:
            if may_start(cluster, jobs, line[0]):
                return True
            shadow_time, extra_nodes = shadow(cluster, jobs, line[0])
    for job in line:
        size = jobs.size[job]
        if size <= available and jobs.requested_start[job] <= time:
            length = _length(cluster, jobs, rules, job)
            if time + length <= shadow_time or size <= extra_nodes:
                if state.outages is None or not is_hidden(state, i, job):
                    return True
    return False


@kernel
def is_overdue(state, cluster, jobs, rules, i):
    """Tell whether the oldest waiting job has waited so long that it must come next."""
    if rules.guard_code is None:
        return False
    first = oldest(state, cluster, i)
    limit = longest_allowed_wait(state, rules, i)
    return first >= 0 and now(cluster) - jobs.submit[first] > limit


@kernel
def longest_allowed_wait(state, rules, i):
    """Return the guard's limit on waits, in seconds; infinity without a guard."""
    return np.inf if rules.guard_code is None else state.sums[i, at.GUARD_LIMIT]


@kernel
def _may_pass(state, rules, i, reserved):
    """Tell whether the clock may run on, given the legal starts in the mask.

    Those before the slot `reserved` are of jobs with reservations.
    """
    if state.counters[i, at.LEGAL_STARTS] == 0:
        return True
    if not rules.may_idle:
        return False
    for slot in range(reserved):
        if state.mask[i, slot]:
            return False
    return True


@kernel
def _allow_beside(state, cluster, jobs, rules, head, i):
    """Allow the head, and the starts that do not delay its reservation; -1 is for no head.

    Return one past the slot of the head if it may start, else 0.
    """
    shadow_time, extra_nodes, reserved = FOREVER, 0, 0
    if head >= 0:
        shadow_time, extra_nodes = shadow(cluster, jobs, head)
        if may_start(cluster, jobs, head):
            reserved = _slot_of(state, i, head) + 1
            if state.outages is not None:
                reserve_room(state, cluster, jobs, i, head)
    _allow_fitting(state, cluster, jobs, rules, i, shadow_time, extra_nodes)
    if reserved > 0:
        state.mask[i, reserved - 1] = 1
    if rules.trial_limit is not None:
        _allow_trials(state, cluster, jobs, rules, head, i, shadow_time, extra_nodes)
    return reserved


@kernel
def _slot_of(state, i, job):
    """Return the slot of a job that is in one."""
    slot = 0
    while state.slots[i, slot] != job:
        slot += 1
    return slot


@kernel
def _allow_trials(state, cluster, jobs, rules, head, i, shadow_time, extra_nodes):
    """Allow the trials that fit, and are over by the shadow time or within the extra nodes."""
    limit, window = rules.trial_limit, len(state.slots[i])
    in_time = now(cluster) + limit <= shadow_time
    for slot in range(min(window, len(waiting(cluster)))):
        if _may_try(state, cluster, jobs, limit, slot, i) and state.slots[i, slot] != head:
            legal = in_time or state.slot_requests[i, at.SLOT_SIZE, slot] <= extra_nodes
            state.mask[i, window + 1 + slot] = legal
            state.counters[i, at.LEGAL_TRIALS] += legal


@kernel
def _may_try(state, cluster, jobs, limit, slot, i):
    """Tell whether the job in a slot fits now and may have a trial."""
    requests, time, job = state.slot_requests[i], now(cluster), state.slots[i, slot]
    if state.outages is not None:
        if is_hidden(state, i, job) or not leaves_enough(
            state, cluster, jobs, i, at.LEFT, job, limit
        ):
            return False
    return (
        cluster.trial_start[job] < 0
        and requests[at.SLOT_ESTIMATE, slot] > limit
        and requests[at.SLOT_SIZE, slot] <= free(cluster)
        and requests[at.SLOT_REQUESTED_START, slot] <= time
    )


@kernel
def _allow_fitting(state, cluster, jobs, rules, i, shadow_time, extra_nodes):
    """Allow what fits, and is over by the shadow time or within the extra nodes.

    It must leave outages to come enough, too, beside the head if that may start. The loop goes over
    all slots, empty or not: its end is then no surprise to the processor.
    """
    mask, requests = state.mask[i], state.slot_requests[i]
    size, estimate = requests[at.SLOT_SIZE], requests[at.SLOT_ESTIMATE]
    requested_start = requests[at.SLOT_REQUESTED_START]
    time, available = now(cluster), free(cluster)
    for slot in range(len(size)):
        beside = (time + estimate[slot] <= shadow_time) | (size[slot] <= extra_nodes)
        may_be_started = (size[slot] <= available) & (requested_start[slot] <= time)
        mask[slot] = beside & may_be_started
    if rules.first_trial is not None:
        for slot in range(min(len(size), len(waiting(cluster)))):
            job = state.slots[i, slot]
            if takes_trial(cluster, jobs, rules.first_trial, job):
                over = time + _length(cluster, jobs, rules, job) <= shadow_time
                mask[slot] = may_start(cluster, jobs, job) and (over or size[slot] <= extra_nodes)
    if state.outages is not None and state.counters[i, at.MET] > 0:
        for slot in range(min(len(size), len(waiting(cluster)))):
            if mask[slot]:
                mask[slot] = _leaves_enough_left(state, cluster, jobs, i, slot)


@kernel
def _length(cluster, jobs, rules, job):
    """Return how long (s) a job that starts now may run: a trial is short."""
    if rules.first_trial is not None and takes_trial(cluster, jobs, rules.first_trial, job):
        return rules.first_trial[0]
    return jobs.estimate[job]


@kernel
def _leaves_enough_left(state, cluster, jobs, i, slot):
    """Tell whether the job in a slot leaves outages enough beside what has a reservation now."""
    job = state.slots[i, slot]
    if is_hidden(state, i, job):
        return False
    return leaves_enough(state, cluster, jobs, i, at.LEFT, job, jobs.estimate[job])


@kernel
def _allow_beside_plan(state, cluster, jobs, rules, i):
    """Reserve for the first waiting jobs one by one; a start must respect the reservations.

    A job that would leave an outage too little beside those before it has no reservation in this
    pass. Return one past the last slot of a job with a reservation.
    """
    mask, slots, line = state.mask[i], state.slots[i], waiting(cluster)
    window = len(slots)
    mask[:window] = 0
    steps = state.counters[i, at.PLAN_STEPS : at.PLAN_STEPS + 1]
    plan = Profile(state.plan[i, 0], state.plan[i, 1], steps)
    rebuild(plan, cluster, jobs)
    depth = rules.reservation_depth if rules.reservation_depth >= 0 else len(line)
    around = state.counters[i, at.MET] > 0
    next_slot = 0  # the slots, too, are in queue order
    for job in line:
        if depth == 0:
            break
        slot = next_slot if next_slot < window and slots[next_slot] == job else -1
        next_slot += slot >= 0
        if state.outages is not None and around and is_hidden(state, i, job):
            continue
        earliest = max(now(cluster), jobs.requested_start[job])
        anchor = anchor_point(plan, jobs.size[job], jobs.estimate[job], earliest)
        if state.outages is not None and around and anchor == now(cluster):
            if not leaves_enough(state, cluster, jobs, i, at.LEFT, job, jobs.estimate[job]):
                continue
            reserve_room(state, cluster, jobs, i, job)
        depth -= 1
        reserve(plan, jobs.size[job], anchor, anchor + jobs.estimate[job])
        if slot >= 0:
            mask[slot] = anchor == now(cluster)
    for slot in range(next_slot, min(window, len(line))):
        job = slots[slot]
        mask[slot] = may_start(cluster, jobs, job) and fits(
            plan, jobs.size[job], jobs.estimate[job], now(cluster)
        )
        if state.outages is not None and around and mask[slot]:
            mask[slot] = _leaves_enough_left(state, cluster, jobs, i, slot)
    if rules.trial_limit is not None:
        _allow_trials_beside_plan(state, cluster, jobs, rules, plan, next_slot, i)
    return next_slot


@kernel
def _allow_trials_beside_plan(state, cluster, jobs, rules, plan, reserved, i):
    """Allow the trials that respect all reservations, the job's own included."""
    limit, window = rules.trial_limit, len(state.slots[i])
    for slot in range(min(window, len(waiting(cluster)))):
        size = state.slot_requests[i, at.SLOT_SIZE, slot]
        starts_now = slot < reserved and state.mask[i, slot] == 1
        if _may_try(state, cluster, jobs, limit, slot, i) and not starts_now:
            legal = fits(plan, size, limit, now(cluster))
            state.mask[i, window + 1 + slot] = legal
            state.counters[i, at.LEGAL_TRIALS] += legal
