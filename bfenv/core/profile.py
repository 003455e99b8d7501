"""Availability profile: free processors over future time, by estimates.

The profile is a staircase: `free[i]` processors from `time[i]` until `time[i + 1]`, and from the
last step on for ever. The functions change it in place. Shadow time and extra nodes, which need
no profile, are here as well: they are the reservation of EASY read off the running jobs.
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
    """Room for so many running jobs and reservations, each of which may add two steps."""
    steps = 2 + running + 2 * reservations
    return Profile(
        np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64), np.ones(1, dtype=np.int64)
    )


@kernel
def shadow(cluster, jobs, head):
    """Shadow time (s) and extra nodes of a waiting job that cannot start now.

    The earliest time, by estimates, at which it fits and may start, and the processors free then
    beyond its need; all jobs expected to end at that time count (Shmueli 2003, sections 3.2.1 and
    3.3.1).
    """
    available = free(cluster)
    need = jobs.size[head]
    runs = running(cluster)
    ends = expected_ends(cluster)
    time = max(now(cluster), jobs.requested_start[head])
    for place in range(len(runs)):
        if available >= need and ends[place] > time:
            break
        available += jobs.size[runs[place]]
        time = max(time, ends[place])
    return time, available - need


@kernel
def rebuild(profile, cluster, jobs):
    """Make the profile that of the running jobs alone, each of them to its expected end."""
    profile.time[0] = now(cluster)
    profile.free[0] = free(cluster)
    last = 0
    ends = expected_ends(cluster)
    runs = running(cluster)
    for place in range(len(runs)):
        if ends[place] > profile.time[last]:
            last += 1
            profile.time[last] = ends[place]
            profile.free[last] = profile.free[last - 1]
        profile.free[last] += jobs.size[runs[place]]
    profile.steps[0] = last + 1


@kernel
def begin_at(profile, time):
    """Drop what is past: the profile begins at `time`, in seconds."""
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
    """Make `other` a profile like this one."""
    for step in range(profile.steps[0]):
        other.time[step] = profile.time[step]
        other.free[step] = profile.free[step]
    other.steps[0] = profile.steps[0]


@kernel
def anchor_point(profile, size, duration, earliest):
    """First time (s), not before `earliest`, at which `size` processors are free for `duration` s.

    `earliest` is not before the profile begins, and `size` no larger than the machine.
    """
    return _first_fit(profile, size, duration, earliest, FOREVER)


@kernel
def anchor_before(profile, size, duration, earliest, reserved):
    """The anchor point of a job whose reservation at `reserved` is in the profile itself.

    Its own processors count as free: from `reserved` on nothing stands in its way.
    """
    return _first_fit(profile, size, duration, earliest, reserved)


@kernel
def _first_fit(profile, size, duration, earliest, latest):
    """The anchor point, or `latest` if that is no later: all is free from there on."""
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
    """The step that `time` lies in; most often it is when the profile begins."""
    if time == profile.time[0]:
        return 0
    return np.searchsorted(profile.time[: profile.steps[0]], time, side="right") - 1


@kernel
def fits(profile, size, duration, begin):
    """Whether `size` processors are free from `begin` on for `duration` seconds."""
    steps = profile.steps[0]
    step = _step_at(profile, begin)
    while step < steps and profile.time[step] < begin + duration:
        if profile.free[step] < size:
            return False
        step += 1
    return True


@kernel
def place(profile, size, duration, earliest):
    """Reserve `size` processors for `duration` s from the anchor point on, and return that (s)."""
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
    """Take `size` processors out of the profile from `begin` until `end`, in seconds.

    Steps that become equal are joined: a profile that lives on would fill up with them.
    """
    steps = profile.steps[0]
    first = _step_at(profile, begin)
    last = np.searchsorted(profile.time[:steps], end)
    _take(profile, size, first, begin, last, end)


@kernel
def _take(profile, size, first, begin, last, end):
    """Reserve, with `begin` in the step `first`, and `last` the first step not before `end`."""
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
    """Drop a step that changes nothing."""
    if step > 0 and profile.free[step] == profile.free[step - 1]:
        _move_down(profile.time, step, profile.steps[0], 1)
        _move_down(profile.free, step, profile.steps[0], 1)
        profile.steps[0] -= 1


@kernel
def _split(profile, step, time):
    """Let `step`, the first that is not before `time`, begin there."""
    steps = profile.steps[0]
    if step == steps or profile.time[step] > time:
        _move_up(profile.time, step, steps)
        _move_up(profile.free, step, steps)
        profile.time[step] = time
        profile.free[step] = profile.free[step - 1]
        profile.steps[0] += 1


@kernel
def _move_up(values, first, end):
    """Make room at `first`: the values there, up to `end`, move up by one.

    One array at a time and with indices that cannot be negative, or the compiler would not make
    one instruction of many moves: ten times as fast where there are hundreds of steps.
    """
    place, one = np.uint64(end), np.uint64(1)
    for _ in range(end - first):
        values[place] = values[place - one]
        place -= one


@kernel
def _move_down(values, first, end, by):
    """Take `by` values out at `first`: those behind them, up to `end`, move down."""
    target = np.uint64(first)
    distance = np.uint64(by)
    for _ in range(end - first - by):
        values[target] = values[target + distance]
        target += np.uint64(1)
