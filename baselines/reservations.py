"""Reservations that are kept from pass to pass: planned starts of waiting jobs, in one profile.

Conservative backfilling, CONS+RS, slack-based, relaxed and selective backfilling keep such a plan;
multiple-queue backfilling keeps its promised starts in one. Policies that plan from scratch in
every pass need none of this.

A pass brings the plan up to now, checks that the machine is as planned, moves jobs up after early
ends, reserves for new jobs, and starts the jobs that are due. Each of these steps is a function
below; which jobs have a reservation, and when one is given up, is the policy's own decision.
"""

from typing import NamedTuple

import numpy as np

import bfenv.core.openings as op
import bfenv.core.profile as pr
from bfenv.core.cluster import finished, free, may_start, now, start, waiting
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel, shared_kernel
from bfenv.knowledge.following import has_missed_pass

NONE = -1  # planned start of a job without a reservation


class Reservations(NamedTuple):
    """The planned starts, and the profile that they are part of."""

    profile: pr.Profile  # running jobs up to their expected ends, waiting jobs as planned
    planned_start: np.ndarray  # (n,) int64 seconds; NONE without a reservation
    last_pass: np.ndarray  # (1,) int64: number of the last pass of this policy
    missed_pass: np.ndarray  # (1,) bool: another policy decided in a pass since then
    openings: op.Openings  # where the profile may have room
    most_steps: np.ndarray  # (1,) int64: with more, equal steps of the profile are joined


def new_reservations(
    jobs: Jobs, processors: int, long: int = op.LONG, slots: int = op.SLOTS
) -> Reservations:
    """Return the plan of an empty machine, with room for every job.

    `long` and `slots` are as in `new_openings`.
    """
    count = len(jobs.submit)
    profile = pr.new_profile(min(count, processors), count)
    profile.time[0], profile.free[0] = 0, processors
    return Reservations(
        profile,
        np.full(count, NONE, dtype=np.int64),
        last_pass=np.zeros(1, dtype=np.int64),
        missed_pass=np.zeros(1, dtype=np.bool_),
        openings=op.new_openings(jobs, processors, long, slots),
        most_steps=np.zeros(1, dtype=np.int64),
    )


# From one pass to the next --------------------------------------------------------------------


@kernel
def bring_up_to_now(reservations, cluster, jobs):
    """Drop what is past and release what early ends leave free; return whether there were any."""
    profile, openings, time = reservations.profile, reservations.openings, now(cluster)
    op.note_from_now(openings, len(waiting(cluster)))
    reservations.missed_pass[0] = has_missed_pass(cluster, reservations.last_pass)
    pr.begin_at(profile, time)
    any_early = False
    for job in finished(cluster):
        if cluster.kill_time[job] > time:
            pr.release(profile, jobs.size[job], time, cluster.kill_time[job])
            op.note_gain(openings, profile, jobs.size[job], time, cluster.kill_time[job], 0)
            any_early = True
    return any_early


@kernel
def followed(reservations, cluster, jobs):
    """Return whether no pass or planned start was missed and the machine is as full as planned.

    So it is as long as this policy alone starts jobs. In the environment others may start some.
    """
    if reservations.missed_pass[0]:
        return False
    planned_free = reservations.profile.free[0]
    for job in waiting(cluster):
        planned = reservations.planned_start[job]
        if planned == now(cluster):  # the profile holds its processors already
            planned_free += jobs.size[job]
        elif NONE < planned < now(cluster):
            return False
    return planned_free == free(cluster)


@kernel
def keep_running(reservations, cluster, jobs):
    """Make the profile hold the running jobs alone."""
    pr.rebuild(reservations.profile, cluster, jobs)
    op.note_from_now(reservations.openings, len(waiting(cluster)))
    op.forget_fronts(reservations.openings)


@kernel
def cancel_all(reservations, cluster, jobs):
    """Keep the running jobs only: every waiting job loses its reservation."""
    keep_running(reservations, cluster, jobs)
    for job in waiting(cluster):
        reservations.planned_start[job] = NONE


@kernel
def keep_all(reservations, cluster, jobs):
    """Put the reservations beside what really runs; a missed planned start becomes now.

    Where there is no room for them all, the profile goes below zero until jobs end.
    """
    keep_running(reservations, cluster, jobs)
    for job in waiting(cluster):
        planned = reservations.planned_start[job]
        if planned != NONE:
            planned = max(planned, now(cluster))
            reservations.planned_start[job] = planned
            pr.reserve(reservations.profile, jobs.size[job], planned, planned + jobs.estimate[job])
    forget(reservations, waiting(cluster))


# Reservations -----------------------------------------------------------------------------------


@kernel
def reserve_anchor_point(reservations, cluster, jobs, job):
    """Reserve a job's anchor point, not before its requested start; return it, in seconds."""
    openings = reservations.openings
    anchor = place_job(reservations.profile, openings, cluster, jobs, job)
    reservations.planned_start[job] = anchor
    openings.looked[job] = openings.gains[0]
    return anchor


@kernel
def place_job(profile, openings, cluster, jobs, job):
    """Take a job's processors out of the profile at its anchor point; return that, in seconds."""
    earliest = max(now(cluster), jobs.requested_start[job])
    search_from = max(earliest, op.front_of(openings, jobs, job))
    anchor = pr.place(profile, jobs.size[job], jobs.estimate[job], search_from)
    if earliest == now(cluster) < anchor:
        op.put_forward(openings, jobs, job, anchor)
    return anchor


@kernel
def first_fit(reservations, cluster, jobs, job):
    """Return the anchor point of a job that has no reservation, without reserving it."""
    search_from = max(now(cluster), op.front_of(reservations.openings, jobs, job))
    return pr.anchor_point(reservations.profile, jobs.size[job], jobs.estimate[job], search_from)


@kernel
def move_up(reservations, job, size, duration, earliest):
    """Move one reservation to its anchor point, never later; return whether it moved."""
    profile, planned = reservations.profile, reservations.planned_start[job]
    anchor = pr.anchor_before(profile, size, duration, earliest, planned)
    if anchor == planned:
        return False
    pr.release(profile, size, planned, planned + duration)
    pr.reserve(profile, size, anchor, anchor + duration)
    reservations.planned_start[job] = anchor
    return True


@shared_kernel
def close_up(reservations, jobs, line, time):
    """Move up the reservations of the jobs in `line` that are after `time`, one by one.

    Each moves to its anchor point, never later. Jobs that cannot have gained room are passed over.
    All that is given back otherwise must have been noted.
    """
    openings, profile = reservations.openings, reservations.profile
    if profile.steps[0] > reservations.most_steps[0]:
        pr.join_steps(profile)
        reservations.most_steps[0] = 3 * profile.steps[0]
    for job in line:
        planned = reservations.planned_start[job]
        if planned <= time:
            continue
        front = op.front_of(openings, jobs, job)
        if front >= planned and not op.may_slide(openings, job, planned):
            continue
        size, duration = jobs.size[job], jobs.estimate[job]
        earliest = max(time, jobs.requested_start[job])
        if not openings.noted[0]:
            anchor = pr.anchor_before(profile, size, duration, earliest, planned)
            step = pr.step_at(profile, anchor) if anchor < planned else 0
        else:
            step = pr.step_from_guess(profile, planned, openings.step[job])
            anchor = planned
            if front < planned:
                search_from = max(earliest, front)
                anchor, step = pr.fit_before(profile, size, duration, search_from, planned, step)
            # fronts do not count its own processors: a slide may begin before them
            anchor, step = pr.slide_point(profile, size, earliest, anchor, step)
            if front < planned and earliest == time < anchor:
                op.put_forward(openings, jobs, job, anchor)
        openings.step[job] = step
        if anchor < planned:
            end = planned + duration
            left, step = pr.bring_forward(profile, size, planned, end, anchor, step)
            op.note_gain(openings, profile, size, left, end, step)
            reservations.planned_start[job] = anchor
        openings.looked[job] = openings.gains[0]


@kernel
def give_up(reservations, jobs, job):
    """Take back the reservation of a job."""
    planned = reservations.planned_start[job]
    size, end = jobs.size[job], planned + jobs.estimate[job]
    pr.release(reservations.profile, size, planned, end)
    first = pr.step_at(reservations.profile, planned)
    op.note_gain(reservations.openings, reservations.profile, size, planned, end, first)
    reservations.planned_start[job] = NONE


@kernel
def copy_reservations(reservations, target, queue):
    """Make `target` the same plan for the jobs of `queue`; what is known of it is not copied."""
    pr.copy(reservations.profile, target.profile)
    for job in queue:
        target.planned_start[job] = reservations.planned_start[job]


@kernel
def forget(reservations, queue):
    """Forget where there may be room for the jobs of `queue`: the plan has changed unnoted."""
    op.forget_fronts(reservations.openings)
    for job in queue:
        reservations.openings.looked[job] = op.NEVER


# Starts -----------------------------------------------------------------------------------------


@kernel
def start_due(reservations, cluster, jobs):
    """Start the jobs whose planned start has come; return the next planned start, in seconds.

    Ask to be woken then: a planned start may be an instant at which nothing else happens.
    """
    next_start = FOREVER
    for job in waiting(cluster):
        planned = reservations.planned_start[job]
        if planned > now(cluster):
            next_start = min(next_start, planned)
        elif planned != NONE and may_start(cluster, jobs, job):
            start(cluster, jobs, job)
    return next_start
