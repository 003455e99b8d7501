"""Which actions are legal: starts that delay no reservation, and the pass."""

from bfenv.core.cluster import FREE, may_start, now, waiting
from bfenv.core.kernel import kernel
from bfenv.core.profile import Profile, anchor_point, fits, rebuild, reserve, shadow
from bfenv.envs.batch_state import PLAN_STEPS


@kernel
def write_mask(state, cluster, jobs, rules, i):
    """Write the mask of environment i, whose machine and requests are `cluster` and `jobs`."""
    mask = state.mask[i]
    line = waiting(cluster)
    window = len(mask) - 1
    mask[:] = 0
    mask[window] = 1
    if len(line) == 0 or cluster.state[FREE] == 0:
        return
    seen = min(window, len(line))
    if rules.reservation_depth == 0:
        for slot in range(seen):
            mask[slot] = may_start(cluster, jobs, line[slot])
    elif rules.reservation_depth == 1:
        shadow_time, extra_nodes = shadow(cluster, jobs, line[0])
        mask[0] = may_start(cluster, jobs, line[0])
        for slot in range(1, seen):
            job = line[slot]
            mask[slot] = may_start(cluster, jobs, job) and (
                now(cluster) + jobs.estimate[job] <= shadow_time or jobs.size[job] <= extra_nodes
            )
    else:
        _write_mask_by_plan(state, cluster, jobs, rules, i)


@kernel
def _write_mask_by_plan(state, cluster, jobs, rules, i):
    """Reserve for the first waiting jobs one by one; a start must respect the reservations."""
    mask = state.mask[i]
    line = waiting(cluster)
    window = len(mask) - 1
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
        job = line[slot]
        mask[slot] = may_start(cluster, jobs, job) and fits(
            plan, jobs.size[job], jobs.estimate[job], now(cluster)
        )
