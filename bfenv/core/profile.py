"""Availability profile: free processors over future time, by estimates.

The profile is a staircase: `free[i]` processors from `time[i]` until `time[i + 1]`, the last step
without end. The functions change it in place. For EASY, which needs no profile, see
`bfenv.core.cluster.shadow`.

In all functions, `profile` (Profile) begins at the times given or before; `size` (int) is in
processors; `duration` (int), `earliest` (int), `begin` (int) and `end` (int) are in seconds;
`cluster` (Cluster) is the machine, and `jobs` (Jobs) are the requests, as `decide` receives them.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.arguments import check_integer
from bfenv.core.cluster import expected_ends, free, now, running
from bfenv.core.jobs import FOREVER
from bfenv.core.kernel import kernel
from bfenv.core.lazy_exports import hint_at_scheduling

LONG = 256  # steps of a profile from which on not all are moved for one that comes
REACH = 32  # steps among which one is then looked for that is not needed
NEAR = 8  # steps that are counted at once, and to either side of a guess where that is enough
TOO_SMALL = "the profile is full: give new_profile more running jobs or reservations"
NO_TIME = "a reservation must end after it begins, and after the profile begins"
TOO_LARGE = "a reservation must not be larger than the machine"


class Profile(NamedTuple):
    """Steps of free processors."""

    time: np.ndarray  # (s,) int64 seconds, ascending, where the steps begin
    free: np.ndarray  # (s,) int64 processors from there on
    steps: np.ndarray  # (1,) int64 number of steps in use


def new_profile(running: int, reservations: int) -> Profile:
    """Return an empty profile of a capacity, to be filled by `rebuild`.

    Args:
        running: Most running jobs that it must hold.
        reservations: Most reservations that it must hold.

    Raises:
        BfenvError: If one of them is not an integer >= 0.
    """
    running = check_integer("running", running, 0)
    reservations = check_integer("reservations", reservations, 0)
    steps = 6 + running + 2 * reservations  # a reservation adds two, a running job one, a move four
    return Profile(
        np.empty(steps, dtype=np.int64), np.empty(steps, dtype=np.int64), np.ones(1, dtype=np.int64)
    )


@kernel
def rebuild(profile, cluster, jobs):
    """Make the profile hold the running jobs alone, each until its expected end.

    Raises:
        ValueError: If the profile was made for fewer running jobs.
    """
    profile.time[0] = now(cluster)
    profile.free[0] = free(cluster)
    last = 0
    ends = expected_ends(cluster)
    runs = running(cluster)
    for i in range(len(runs)):
        if ends[i] > profile.time[last]:
            last += 1
            if last == len(profile.time):
                raise ValueError(TOO_SMALL)
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
def copy(profile, target):
    """Copy this profile into another."""
    for step in range(profile.steps[0]):
        target.time[step] = profile.time[step]
        target.free[step] = profile.free[step]
    target.steps[0] = profile.steps[0]


@kernel
def anchor_point(profile, size, duration, earliest):
    """Return the first time at which processors are free for a whole duration, in seconds.

    Examples:
        Two of four processors are taken until second 100.

        >>> from bfenv.core import anchor_point, new_profile, reserve
        >>> profile = new_profile(running=0, reservations=1)
        >>> profile.time[0], profile.free[0] = 0, 4
        >>> reserve(profile, 2, 0, 100)
        >>> [int(anchor_point(profile, size, 50, 0)) for size in (2, 3)]
        [0, 100]
    """
    return anchor_before(profile, size, duration, earliest, FOREVER)


@kernel
def anchor_before(profile, size, duration, earliest, reserved):
    """Return the anchor point of a job whose own reservation, at `reserved`, is in the profile.

    Its own processors count as free, so it fits from `reserved` on.
    """
    last = profile.steps[0] - 1  # all processors are free in it
    step = step_at(profile, earliest)
    anchor = earliest
    while step < last and profile.time[step] < min(anchor + duration, reserved):
        next_time = profile.time[step + 1]  # read in any case: a branch would be mispredicted
        anchor = next_time if profile.free[step] < size else anchor
        step += 1
    return min(anchor, reserved)


@kernel
def step_at(profile, time):
    """Return the step that `time` is in; it is most often the first.

    A time before the profile is taken for its begin.
    """
    if time <= profile.time[0]:
        return 0
    return step_from(profile, time + 1) - 1


@kernel
def step_from(profile, time):
    """Return the first step that begins at `time` or later; without a step, the number of steps."""
    begin, steps = 0, profile.steps[0]
    few, count = NEAR if steps >= NEAR else 1, steps
    while count > few:
        half = count >> 1
        if profile.time[begin + half - 1] < time:
            begin += half
        count -= half
    if few == 1:
        return begin + int(profile.time[begin] < time)
    return _count_earlier(profile, min(begin, steps - few), time)


@kernel
def _count_earlier(profile, begin, time):
    """Return the first step from `time` on: one of `NEAR` steps from `begin`, or the one behind.

    The earlier ones are counted, which needs no branch that may be mispredicted.
    """
    earlier = 0
    for i in range(NEAR):
        earlier += int(profile.time[begin + i] < time)
    return begin + earlier


@kernel
def step_from_guess(profile, time, guess):
    """Return what `step_from` does, at once where it is a few steps from `guess`."""
    begin, last = max(guess - NEAR, 0), 2 * NEAR - 1
    is_near = begin + last < profile.steps[0]
    if not is_near or profile.time[begin] >= time or profile.time[begin + last] < time:
        return step_from(profile, time)
    begin += NEAR * int(profile.time[begin + NEAR - 1] < time)
    return _count_earlier(profile, begin, time)


@kernel
def fits(profile, size, duration, begin):
    """Return whether processors are free for a whole duration."""
    steps = profile.steps[0]
    step = step_at(profile, begin)
    while step < steps and profile.time[step] < begin + duration:
        if profile.free[step] < size:
            return False
        step += 1
    return True


@kernel
def least_free(profile, duration, begin):
    """Return the fewest free processors during a whole duration."""
    step = step_at(profile, begin)
    least = profile.free[step]
    step += 1
    while step < profile.steps[0] and profile.time[step] < begin + duration:
        least = min(least, profile.free[step])
        step += 1
    return least


@kernel
def place(profile, size, duration, earliest):
    """Reserve processors at the anchor point, and return it, in seconds.

    Raises:
        ValueError: If the profile has no room for another reservation, the duration is below 1, or
            the machine has fewer processors.
    """
    _make_room(profile, 2)
    steps = profile.steps[0]
    if duration < 1:
        raise ValueError(NO_TIME)
    if size > profile.free[steps - 1]:
        raise ValueError(TOO_LARGE)
    if steps == len(profile.time):
        raise ValueError(TOO_SMALL)
    anchor = max(earliest, profile.time[0])
    first = step = step_at(profile, anchor)
    while step < steps and profile.time[step] < anchor + duration:
        is_full = profile.free[step] < size
        step += 1
        next_time = profile.time[step]  # read in any case: a branch would be mispredicted
        anchor = next_time if is_full else anchor
        first = step if is_full else first
    _take(profile, size, first, anchor, step, anchor + duration)
    return anchor


@kernel
def reserve(profile, size, begin, end):
    """Take processors out of the profile for a time.

    Steps that become equal are joined: they would fill a profile that is kept.

    Raises:
        ValueError: If the profile has no room for another reservation, or `end` is not after
            `begin` and the begin of the profile.
    """
    if end <= max(begin, profile.time[0]):
        raise ValueError(NO_TIME)
    _make_room(profile, 2)
    first = step_at(profile, begin)
    last = step_from(profile, end)
    _take(profile, size, first, begin, last, end)


@kernel
def _take(profile, size, first, begin, last, end):
    """Reserve; `begin` is in the step `first`, and `last` is the first step from `end` on.

    A step begins at `begin` and one at `end`, unless the levels before and after are the same. The
    steps behind move once, and most often not at all: where a job moves a little, one step comes
    and one goes.
    """
    time, level, steps = profile.time, profile.free, profile.steps[0]
    before_end = level[last - 1]
    comes, ends = int(time[first] < begin), int(last == steps or time[last] > end)
    goes = int(comes == 0 and first > 0 and level[first - 1] == level[first] - size)
    joins = int(ends == 0 and level[last] == before_end - size)
    by = comes - goes
    if steps + by + ends - joins > len(time):
        raise ValueError(TOO_SMALL)
    if by < 0:  # those in front first, where they make room
        _move(profile, first + 1, last, by)
    _move(profile, last + joins, steps, by + ends - joins)
    if by > 0:
        _move(profile, first + 1, last, by)
    if comes:
        time[first + 1], level[first + 1] = begin, level[first]
    for step in range(first + comes, last + by):
        level[step] -= size
    if ends:
        time[last + by], level[last + by] = end, before_end
    profile.steps[0] = steps + by + ends - joins


@kernel
def release(profile, size, begin, end):
    """Give back what `reserve` took."""
    reserve(profile, -size, begin, end)


@kernel
def fit_before(profile, size, duration, earliest, reserved, until):
    """Return what `anchor_before` does for a time before `reserved`, and the first step from there.

    `until` is the first step from `reserved` on.
    """
    step = step_at(profile, earliest)
    first, anchor = step + int(profile.time[step] < earliest), earliest
    while step < until and profile.time[step] < anchor + duration:
        is_full = profile.free[step] < size
        step += 1
        next_time = profile.time[step]  # read in any case: a branch would be mispredicted
        anchor = next_time if is_full else anchor
        first = step if is_full else first
    if anchor >= reserved:
        return reserved, until
    return anchor, first


@kernel
def slide_point(profile, size, earliest, reserved, step):
    """Return the first time from `earliest` from which `size` are free until `reserved`.

    Return the first step from there on as well; `step` is the one from `reserved` on.
    """
    anchor = reserved
    while step > 0 and profile.free[step - 1] >= size and anchor > earliest:
        step -= 1
        anchor = profile.time[step]
    return min(max(anchor, earliest), reserved), step


@kernel
def bring_forward(profile, size, begin, end, to, step):
    """Move a reservation from `begin` to the earlier time `to`, which is in `step` or right before.

    What it has in both places stays as it is: most moves are by a small part of the duration, and
    pass few steps. Return the first second that it leaves, and the step that it is in.

    In a long profile, steps that become equal are not joined, but used for the next ones that come,
    so that hardly ever all steps behind must move; call `join_steps` now and then.
    """
    left, until = max(begin, to + end - begin), min(begin, to + end - begin)
    if _make_room(profile, 4):
        step = step_at(profile, to)
    last = step_from_guess(profile, end, step + NEAR)
    step = _step_back(profile, step, to)
    first = _step_back(profile, last - 1, left)
    if profile.steps[0] < LONG:
        _take(profile, -size, first, left, last, end)
        last = step
        while last < profile.steps[0] and profile.time[last] < until:
            last += 1
        _take(profile, size, step, to, last, until)
    else:
        _change(profile, size, first + int(profile.time[first] < left), left, end)
        _change(profile, -size, step + int(profile.time[step] < to), to, until)
    most = first + 3  # a step may have come at `left`, and two before
    return left, _step_back(profile, min(most, profile.steps[0] - 1), left)


@kernel
def _change(profile, by, step, begin, end):
    """Change the level from `begin`, with `step` the first step from there on, until `end`."""
    time, level = profile.time, profile.free
    if step < profile.steps[0] and time[step] == end and level[step] == level[step - 1] + by:
        time[step] = begin
        return
    _begin_step(profile, step, begin, 0)
    while step < profile.steps[0] and time[step] < end:
        level[step] += by
        step += 1
    _begin_step(profile, step, end, by)


@kernel
def _begin_step(profile, step, time, by):
    """Let a step begin at a time, if none does; `step` is the first from there on.

    Its level is the one that the step before it had before it changed by `by`. If one of the next
    steps is equal to the one before it, only the steps up to there move.
    """
    starts, level, steps = profile.time, profile.free, profile.steps[0]
    if step < steps and starts[step] == time:
        return
    before, reach = level[step - 1] - by, min(step + REACH, steps)
    while step < reach:
        next_time, next_level = starts[step], level[step]
        starts[step], level[step] = time, before
        if next_level == before:
            return
        time, before = next_time, next_level
        step += 1
    _move(profile, step, steps, 1)
    starts[step], level[step] = time, before
    profile.steps[0] += 1


@kernel
def _make_room(profile, steps):
    """Make room for more steps if there is none. Return whether equal steps were joined for it."""
    is_full = profile.steps[0] + steps > len(profile.time)
    if is_full:
        join_steps(profile)
    return is_full


@kernel
def join_steps(profile):
    """Join the steps that are equal."""
    last = 0
    for step in range(1, profile.steps[0]):
        if profile.free[step] != profile.free[last]:
            last += 1
            profile.time[last], profile.free[last] = profile.time[step], profile.free[step]
    profile.steps[0] = last + 1


@kernel
def _step_back(profile, step, time):
    """Return the step that `time` is in: `step` or one before."""
    while profile.time[step] > time:
        step -= 1
    return step


@kernel
def _move(profile, first, end, by):
    """Move the steps from `first` up to `end` by a few places."""
    if by > 0:
        _move_up(profile.time, first, end, by)
        _move_up(profile.free, first, end, by)
    elif by < 0:
        _move_down(profile.time, first + by, end, -by)
        _move_down(profile.free, first + by, end, -by)


@kernel
def _move_up(values, first, end, by):
    """Move the values from `first` up to `end` by `by`, to make room at `first`.

    The compiler moves many values in one instruction, because the loop has only one array.
    """
    for i in range(end + by - 1, first + by - 1, -1):
        values[i] = values[i - by]


@kernel
def _move_down(values, first, end, by):
    """Take `by` values out at `first`: those behind them, up to `end`, move down."""
    for i in range(first, end - by):
        values[i] = values[i + by]


__getattr__ = hint_at_scheduling(__name__)
