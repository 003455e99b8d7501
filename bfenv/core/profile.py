"""Availability profile: free processors over future time, by estimates.

The profile is a staircase: `free[i]` processors from `time[i]` until `time[i + 1]`, the last step
without end. The functions change it in place. Times and durations are in seconds. Shadow time and
extra nodes are here as well: the reservation of EASY, which needs no profile but only the running
jobs.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import expected_ends, free, now, running
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel


class Profile(NamedTuple):
    """Steps of free processors."""

    time: np.ndarray  # (s,) int64 seconds, ascending, where the steps begin
    free: np.ndarray  # (s,) int64 processors from there on
    steps: np.ndarray  # (1,) int64 number of steps in use


def new_profile(running: int, reservations: int) -> Profile:
    """Make a profile with room for `running` jobs and `reservations`."""
    steps = 2 + running + 2 * reservations  # a reservation may add two, a running job one
    return Profile(
        np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64), np.ones(1, dtype=np.int64)
    )


@kernel
def shadow(cluster, jobs, head):
    """Return shadow time and extra nodes of a waiting job that cannot start now.

    The shadow time is the earliest time, by estimates, at which the job fits and may start. The
    extra nodes are the processors free then beyond its need; all jobs expected to end at that time
    count. Shmueli 2003, sections 3.2.1 and 3.3.1.
    """
    available = free(cluster)
    need = jobs.size[head]
    runs = running(cluster)
    ends = expected_ends(cluster)
    time = max(now(cluster), jobs.requested_start[head])
    for i in range(len(runs)):
        if available >= need and ends[i] > time:
            break
        available += jobs.size[runs[i]]
        time = max(time, ends[i])
    return time, available - need


@kernel
def rebuild(profile, cluster, jobs):
    """Make the profile hold the running jobs alone, each until its expected end."""
    profile.time[0] = now(cluster)
    profile.free[0] = free(cluster)
    last = 0
    ends = expected_ends(cluster)
    runs = running(cluster)
    for i in range(len(runs)):
        if ends[i] > profile.time[last]:
            last += 1
            profile.time[last] = ends[i]
            profile.free[last] = profile.free[last - 1]
        profile.free[last] += jobs.size[runs[i]]
    profile.steps[0] = last + 1


@kernel
def begin_at(profile, time):
    """Drop the past: the profile then begins at `time`."""
    steps = profile.steps[0]
    past = 0
    while past + 1 < steps and profile.time[past + 1] <= time:
        past += 1
    _move_down(profile.time, 0, steps, past)
    _move_down(profile.free, 0, steps, past)
    profile.time[0] = time
    profile.steps[0] -= past


@kernel
def copy(profile, other):
    """Copy this profile into another."""
    for step in range(profile.steps[0]):
        other.time[step] = profile.time[step]
        other.free[step] = profile.free[step]
    other.steps[0] = profile.steps[0]


@kernel
def anchor_point(profile, size, duration, earliest):
    """Return the first time from `earliest` at which `size` processors are free for `duration`.

    The profile must begin at `earliest` or before, and the machine have `size` processors.
    """
    return _first_fit(profile, size, duration, earliest, FOREVER)


@kernel
def anchor_before(profile, size, duration, earliest, reserved):
    """Return the anchor point of a job whose own reservation, at `reserved`, is in the profile.

    Its own processors count as free, so it fits from `reserved` on.
    """
    return _first_fit(profile, size, duration, earliest, reserved)


@kernel
def _first_fit(profile, size, duration, earliest, latest):
    """Return the anchor point, or `latest` if that comes first: the job fits from there on."""
    steps = profile.steps[0]
    step = _step_at(profile, earliest)
    anchor = earliest
    while step < steps and anchor < latest and profile.time[step] < min(anchor + duration, latest):
        if profile.free[step] < size:
            anchor = profile.time[step + 1]
        step += 1
    return min(anchor, latest)


@kernel
def _step_at(profile, time):
    """Return the step that `time` is in; it is most often the first."""
    if time == profile.time[0]:
        return 0
    return np.searchsorted(profile.time[: profile.steps[0]], time, side="right") - 1


@kernel
def fits(profile, size, duration, begin):
    """Tell whether `size` processors are free from `begin` for `duration`."""
    steps = profile.steps[0]
    step = _step_at(profile, begin)
    while step < steps and profile.time[step] < begin + duration:
        if profile.free[step] < size:
            return False
        step += 1
    return True


@kernel
def place(profile, size, duration, earliest):
    """Reserve `size` processors for `duration` at the anchor point, and return that."""
    steps = profile.steps[0]
    first = step = _step_at(profile, earliest)
    anchor = earliest
    while step < steps and profile.time[step] < anchor + duration:
        step += 1
        if profile.free[step - 1] < size:
            first, anchor = step, profile.time[step]
    _take(profile, size, first, anchor, step, anchor + duration)
    return anchor


@kernel
def reserve(profile, size, begin, end):
    """Take `size` processors out of the profile from `begin` until `end`.

    Steps that become equal are joined: they would fill a profile that is kept.
    """
    steps = profile.steps[0]
    first = _step_at(profile, begin)
    last = np.searchsorted(profile.time[:steps], end)
    _take(profile, size, first, begin, last, end)


@kernel
def _take(profile, size, first, begin, last, end):
    """Reserve; `begin` is in the step `first`, and `last` is the first step from `end` on."""
    _split(profile, last, end)
    if profile.time[first] < begin:
        first += 1
        last += 1
        _split(profile, first, begin)
    for step in range(first, last):
        profile.free[step] -= size
    _join(profile, last)
    _join(profile, first)


@kernel
def release(profile, size, begin, end):
    """Give back what `reserve` took."""
    reserve(profile, -size, begin, end)


@kernel
def _join(profile, step):
    """Drop a step that equals the one before."""
    if step > 0 and profile.free[step] == profile.free[step - 1]:
        _move_down(profile.time, step, profile.steps[0], 1)
        _move_down(profile.free, step, profile.steps[0], 1)
        profile.steps[0] -= 1


@kernel
def _split(profile, step, time):
    """Make `step`, the first that begins at `time` or later, begin at `time`."""
    steps = profile.steps[0]
    if step == steps or profile.time[step] > time:
        _move_up(profile.time, step, steps)
        _move_up(profile.free, step, steps)
        profile.time[step] = time
        profile.free[step] = profile.free[step - 1]
        profile.steps[0] += 1


@kernel
def _move_up(values, first, end):
    """Move the values from `first` up to `end` by one, to make room at `first`.

    The compiler moves many values in one instruction only if the loop has one array and indices
    that cannot be negative. With hundreds of steps this is ten times as fast.
    """
    i, one = np.uint64(end), np.uint64(1)
    for _ in range(end - first):
        values[i] = values[i - one]
        i -= one


@kernel
def _move_down(values, first, end, by):
    """Take `by` values out at `first`: those behind them, up to `end`, move down."""
    i, one, distance = np.uint64(first), np.uint64(1), np.uint64(by)
    for _ in range(end - first - by):
        values[i] = values[i + distance]
        i += one
