"""Which actions are legal: starts that delay no reservation, choices of a head, and the pass."""

from bfenv.baselines.age_guard import limit_by_backlog
from bfenv.core.cluster import FREE, PROCESSORS, may_start, now, waiting
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.profile import Profile, anchor_point, fits, rebuild, reserve, shadow
from bfenv.envs.batch_state import HEAD, LARGEST_BACKLOG, LEGAL_STARTS, PLAN_STEPS

IDLE = ("never", "reserved", "always")  # EnvRules.idle is an index into these
NEVER, RESERVED, ALWAYS = range(3)


@kernel
def write_mask(state, cluster, jobs, rules, i):
    """Write the mask of environment i, whose machine and requests are `cluster` and `jobs`."""
    mask, slots, line = state.mask[i], state.slots[i], waiting(cluster)
    window = len(slots)
    mask[:] = 0
    state.counters[i, LEGAL_STARTS] = 0
    overdue = is_overdue(state, cluster, jobs, rules, i)
    head = state.counters[i, HEAD]
    if len(line) > 0 and cluster.state[FREE] > 0:
        if overdue and may_start(cluster, jobs, line[0]):
            mask[0] = 1
        elif head >= 0 and not overdue:
            _allow_beside(state, cluster, jobs, head, i)
        elif rules.reservation_depth == 1 or (overdue and rules.reservation_depth == 0):
            _allow_beside(state, cluster, jobs, line[0], i)
        elif rules.reservation_depth == 0:
            for slot in range(min(window, len(line))):
                mask[slot] = may_start(cluster, jobs, slots[slot])
        else:
            _allow_beside_plan(state, cluster, jobs, rules, i)
        starts = 0
        for slot in range(min(window, len(line))):
            starts += mask[slot]
        state.counters[i, LEGAL_STARTS] = starts
    mask[window] = _may_pass(state, rules, i, overdue)
    if rules.chosen_head and head < 0 and not overdue and state.counters[i, LEGAL_STARTS] > 0:
        for slot in range(min(window, len(line))):
            mask[slot] = 1  # those that may not start may become the head


@kernel
def is_overdue(state, cluster, jobs, rules, i):
    """Tell whether the oldest waiting job has waited so long that it must come next."""
    line = waiting(cluster)
    if len(line) == 0 or rules.max_age == FOREVER:
        return False
    return now(cluster) - jobs.submit[line[0]] > longest_allowed_wait(state, cluster, rules, i)


@kernel
def longest_allowed_wait(state, cluster, rules, i):
    """Return the wait (s) beyond which the oldest job is the head: the age guard's limit."""
    largest = state.sums[i, LARGEST_BACKLOG]
    return limit_by_backlog(1.0, rules.max_age, largest, cluster.state[PROCESSORS])


@kernel
def _may_pass(state, rules, i, overdue):
    """Tell whether the clock may run on, given the legal starts in the mask."""
    if state.counters[i, LEGAL_STARTS] == 0:
        return True
    if rules.idle == NEVER:
        return False
    depth = rules.reservation_depth
    if overdue and depth == 0:
        depth = 1
    window = len(state.slots[i])
    reserved = window if depth < 0 else min(depth, window)  # these are in the first slots
    for slot in range(reserved):
        if state.mask[i, slot]:
            return False
    return True


@kernel
def _allow_beside(state, cluster, jobs, head, i):
    """Allow the head, and the starts that do not delay its reservation."""
    mask, slots = state.mask[i], state.slots[i]
    shadow_time, extra_nodes = shadow(cluster, jobs, head)
    time = now(cluster)
    for slot in range(min(len(slots), len(waiting(cluster)))):
        job = slots[slot]
        mask[slot] = may_start(cluster, jobs, job) and (
            job == head or time + jobs.estimate[job] <= shadow_time or jobs.size[job] <= extra_nodes
        )


@kernel
def _allow_beside_plan(state, cluster, jobs, rules, i):
    """Reserve for the first waiting jobs one by one; a start must respect the reservations."""
    mask, slots, line = state.mask[i], state.slots[i], waiting(cluster)
    window = len(slots)
    steps = state.counters[i, PLAN_STEPS : PLAN_STEPS + 1]
    plan = Profile(state.plan[i, 0], state.plan[i, 1], steps)
    rebuild(plan, cluster, jobs)
    depth = rules.reservation_depth if rules.reservation_depth >= 0 else len(line)
    for slot in range(min(depth, len(line))):
        job = line[slot]
        earliest = max(now(cluster), jobs.requested_start[job])
        anchor = anchor_point(plan, jobs.size[job], jobs.estimate[job], earliest)
        reserve(plan, jobs.size[job], anchor, anchor + jobs.estimate[job])
        if slot < window:
            mask[slot] = anchor == now(cluster)
    for slot in range(depth, min(window, len(line))):
        job = slots[slot]
        mask[slot] = may_start(cluster, jobs, job) and fits(
            plan, jobs.size[job], jobs.estimate[job], now(cluster)
        )
