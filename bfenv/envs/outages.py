"""Outages to come: what they hide in a scheduling pass, and what starts must leave them.

It applies the rule of `bfenv.core.detour` to starts that are decided one by one:

* At the begin of a pass, the waiting jobs are hidden that alone leave an outage too little.
* At each decision, a start must leave each outage enough beside all that runs.
* The jobs are then taken from the oldest on. Those that could start but leave an outage too little
  are skipped, and the first other one is the head of the queue. Where jobs have reservations, those
  that were skipped are hidden until the next pass.

Hidden jobs are seen, but no reservation is made for them.

Without outages to come, all this costs one comparison: MET is 0. If no trace has any, it is not
compiled: BatchState.outages is None.
"""

import bfenv.envs.batch_state as at
from bfenv.core.cluster import may_start, now, waiting
from bfenv.core.kernel import kernel
from bfenv.core.outages import find_room, has_room, start_outages, take_room


@kernel
def begin_pass(state, cluster, jobs, truth, i):
    """Begin the outages of this instant, and hide the jobs that alone leave later ones too little.

    To be called after each `advance` while there are outages to come.
    """
    counters, hidden_in = state.counters[i], state.outages[i, at.HIDDEN_IN]
    coming, last = counters[at.COMING], counters[at.LAST_OUTAGE]
    counters[at.COMING] = start_outages(cluster, jobs, truth, coming, last)
    counters[at.HIDINGS] += 1
    _find_room(state, cluster, jobs, i)
    if counters[at.MET] > 0:
        for job in waiting(cluster):
            if not leaves_enough(state, cluster, jobs, i, at.ROOM, job, jobs.estimate[job]):
                hidden_in[job] = counters[at.HIDINGS]


@kernel
def look_ahead(state, cluster, jobs, rules, i):
    """Find the room beside what runs by now, and the oldest job that is not hidden.

    To be called at each decision at which an outage can be met.
    """
    counters, hidden_in = state.counters[i], state.outages[i, at.HIDDEN_IN]
    _find_room(state, cluster, jobs, i)
    counters[at.OLDEST] = -1
    for job in waiting(cluster):
        if hidden_in[job] == counters[at.HIDINGS]:
            continue
        if not _is_too_many(state, cluster, jobs, i, job):
            counters[at.OLDEST] = job
            break
        if rules.reservation_depth != 0:
            hidden_in[job] = counters[at.HIDINGS]


@kernel
def _find_room(state, cluster, jobs, i):
    counters, room = state.counters[i], state.outages[i, at.ROOM]
    counters[at.MET] = find_room(cluster, jobs, counters[at.COMING], counters[at.LAST_OUTAGE], room)
    for outage in range(counters[at.MET]):
        state.outages[i, at.LEFT, outage] = room[outage]


@kernel
def oldest(state, cluster, i):
    """Return the head of the queue: the oldest waiting job that is not hidden; -1 for none."""
    if state.outages is not None and state.counters[i, at.MET] > 0:
        return state.counters[i, at.OLDEST]
    line = waiting(cluster)
    return line[0] if len(line) > 0 else -1


@kernel
def is_hidden(state, i, job):
    """Tell whether a waiting job cannot start in this pass because of an outage to come."""
    counters = state.counters[i]
    return counters[at.MET] > 0 and state.outages[i, at.HIDDEN_IN, job] == counters[at.HIDINGS]


@kernel
def is_withheld(state, cluster, jobs, i, job):
    """Tell whether an outage to come keeps a waiting job from starting now."""
    return is_hidden(state, i, job) or _is_too_many(state, cluster, jobs, i, job)


@kernel
def _is_too_many(state, cluster, jobs, i, job):
    """Tell whether only an outage to come keeps a job from starting."""
    enough = leaves_enough(state, cluster, jobs, i, at.ROOM, job, jobs.estimate[job])
    return may_start(cluster, jobs, job) and not enough


@kernel
def leaves_enough(state, cluster, jobs, i, row, job, length):
    """Tell whether a job that ran now for `length` seconds would leave each outage enough.

    `row` is ROOM or LEFT.
    """
    counters, room = state.counters[i], state.outages[i, row]
    end = now(cluster) + length
    return has_room(jobs, counters[at.COMING], counters[at.MET], room, jobs.size[job], end)


@kernel
def reserve_room(state, cluster, jobs, i, job):
    """Take what a job needs that may start now and has a reservation out of what is LEFT."""
    counters, left = state.counters[i], state.outages[i, at.LEFT]
    end = now(cluster) + jobs.estimate[job]
    take_room(jobs, counters[at.COMING], counters[at.MET], left, jobs.size[job], end)
