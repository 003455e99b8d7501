"""Openings: where a profile that is kept may have room for reservations to move up.

After an early end the waiting jobs are moved up one by one. Nearly all of them cannot move, and a
search of the profile for each would take most of a run. Two things are known without a search:

* Fronts. For classes of sizes and durations, a time before which no such job fits: what earlier
  searches have shown. A search begins there, and none is needed for a job planned before. Time that
  passes and new reservations leave a front true. Processors that are given back may open an
  interval, and the fronts of the jobs that fit into it return to where it begins.
* Slides. A job that fits right before its own planned start, together with its own processors,
  moves by less than its duration. It could not when it was last looked at, so it can only where
  processors were given back since. Each slot of a wheel of time holds the number of the last gain
  in it; a job compares that with the number of gains when it was last looked at.

Both may send a job to be looked at in vain, and never pass over one that can move, if all that is
given back is noted. Profiles that only fill up need no slides. In a short queue, searching is
cheaper than noting: nothing is noted then, and nothing is known.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import inlined, kernel

SLOTS = 4096  # of the wheel; a power of two
SLOT_BITS = 13  # a slot has 8,192 s; times that are a turn of the wheel apart share one
# The shortest durations of classes: limits that many users ask for, in minutes, and others between
LIMITS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 900, 960, 1080, 1440)
SHORTEST = np.unique([1, *(60 * minutes for minutes in LIMITS), *np.geomspace(20, 5e6, 24)])
NEAR = 64  # steps that an interval is followed for, to either side
NEVER = -1  # in `looked`
UNKNOWN = -1  # in `row_of`, until the job waits: its request is not known before
LONG = 48  # waiting jobs from which on noting is worth its cost


class Openings(NamedTuple):
    """The fronts, and the gains since each job was last looked at."""

    least: np.ndarray  # (c,) int64 processors, ascending: the smallest size of each class
    shortest: np.ndarray  # (k,) int64 seconds, ascending: the shortest duration of each class
    row_of: np.ndarray  # (n,) int64 by job: the class of its estimate, or UNKNOWN
    front: np.ndarray  # (c, k) int64 seconds: no `least` are free for `shortest` from before
    gains: np.ndarray  # (1,) int64 number of gains so far
    wheel: np.ndarray  # (s,) int64 number of the last gain in a slot
    looked: np.ndarray  # (n,) int64 number of gains when the job last could not move, or NEVER
    step: np.ndarray  # (n,) int64 step of the profile where the job was last looked for
    long: np.ndarray  # (1,) int64 waiting jobs from which on all this is noted
    noted: np.ndarray  # (1,) bool: it is noted now


def new_openings(jobs: Jobs, processors: int, long: int = LONG, slots: int = SLOTS) -> Openings:
    """Return openings of a profile of which nothing is known.

    Nothing is noted while fewer than `long` jobs wait. The wheel has `slots` slots.
    """
    powers = 2 ** np.arange(processors.bit_length(), dtype=np.int64)
    least = np.unique(np.concatenate([powers, powers + powers // 2]))
    least = least[least <= processors]
    shortest = SHORTEST.astype(np.int64)
    return Openings(
        least=least,
        shortest=shortest,
        row_of=np.full(len(jobs.submit), UNKNOWN, dtype=np.int64),
        front=np.zeros((len(least), len(shortest)), dtype=np.int64),
        gains=np.zeros(1, dtype=np.int64),
        wheel=np.zeros(slots, dtype=np.int64),
        looked=np.full(len(jobs.submit), NEVER, dtype=np.int64),
        step=np.zeros(len(jobs.submit), dtype=np.int64),
        long=np.array([long], dtype=np.int64),
        noted=np.zeros(1, dtype=np.bool_),
    )


@kernel
def note_from_now(openings, waiting):
    """Note openings while many jobs wait; when this begins, anything may have become free."""
    is_long = waiting >= openings.long[0]
    if is_long and not openings.noted[0]:
        openings.front[:] = 0
        openings.gains[0] += 1
        openings.wheel[:] = openings.gains[0]
    openings.noted[0] = is_long


@kernel
def copy_openings(openings, target, queue):
    """Copy what is known of the openings, and of the jobs of `queue`, into another."""
    target.noted[0] = openings.noted[0]
    if not openings.noted[0]:
        return
    target.gains[0] = openings.gains[0]
    for slot in range(len(openings.wheel)):
        target.wheel[slot] = openings.wheel[slot]
    for column in range(openings.front.shape[0]):
        for row in range(openings.front.shape[1]):
            target.front[column, row] = openings.front[column, row]
    for job in queue:
        target.looked[job] = openings.looked[job]


@kernel
def front_of(openings, jobs, job):
    """Return a time before which the job does not fit."""
    if not openings.noted[0]:
        return 0
    column = size_class(openings, jobs.size[job])
    return openings.front[column, duration_class(openings, jobs, job)]


@inlined
def size_class(openings, size):
    """Return the class of the largest size that is at most this one; -1 for 0 and below."""
    return np.searchsorted(openings.least, size, side="right") - 1


@kernel
def duration_class(openings, jobs, job):
    """Return the class of the longest duration that is at most the estimate of a waiting job."""
    if openings.row_of[job] == UNKNOWN:
        row = np.searchsorted(openings.shortest, jobs.estimate[job], side="right") - 1
        openings.row_of[job] = row
    return openings.row_of[job]


@kernel
def put_forward(openings, jobs, job, time):
    """Note that no job as large and long as this, or more so, fits before `time`."""
    if not openings.noted[0]:
        return
    front, first = openings.front, duration_class(openings, jobs, job)
    first += openings.shortest[first] < jobs.estimate[job]
    column = size_class(openings, jobs.size[job] - 1) + 1
    while column < front.shape[0] and first < front.shape[1] and front[column, first] < time:
        row = first
        while row < front.shape[1] and front[column, row] < time:  # rows ascend
            front[column, row] = time
            row += 1
        column += 1


@inlined
def may_slide(openings, job, planned):
    """Return whether processors may have become free right before a planned start."""
    return (
        openings.wheel[((planned - 1) >> SLOT_BITS) & (len(openings.wheel) - 1)]
        > openings.looked[job]
    )


@inlined
def forget_fronts(openings):
    """Forget all fronts, because the profile has been rebuilt."""
    if openings.noted[0]:
        openings.front[:] = 0


@kernel
def note_gain(openings, profile, size, begin, end, first):
    """Note that `size` processors have just been given back from `begin` until `end`.

    `first` is the step that `begin` is in. Jobs that are smaller than what was free there before
    have gained nothing.
    """
    if not openings.noted[0]:
        return
    openings.gains[0] += 1
    slot, last_slot, turn = begin >> SLOT_BITS, (end - 1) >> SLOT_BITS, len(openings.wheel) - 1
    last_slot = min(last_slot, slot + turn)
    while slot <= last_slot:
        openings.wheel[slot & turn] = openings.gains[0]
        slot += 1
    steps = profile.steps[0]
    top, bottom, last = 0, profile.free[first], first
    while last < steps and profile.time[last] < end:
        top = max(top, profile.free[last])
        bottom = min(bottom, profile.free[last])
        last += 1
    column = size_class(openings, top)
    smallest = size_class(openings, bottom - size) + 1
    if column < smallest:
        return
    begin, row = _longest_opening(openings, profile, openings.least[smallest], first, last)
    while column >= smallest:  # a larger class may have been brought back further than this one
        if openings.front[column, row] > begin:
            if not _bring_back(openings, profile, column, row, first, last):
                openings.front[: column + 1] = 0
                break
        column -= 1


@kernel
def _longest_opening(openings, profile, size, first, last):
    """Return where an interval around a gain begins, and the class of the longest duration in it.

    Those of larger sizes are within it. One that is too long to be followed may begin at once.
    """
    low, high = max(0, first - NEAR), min(profile.steps[0] - 1, last + NEAR)
    while first > low and profile.free[first - 1] >= size:
        first -= 1
    while last < high and profile.free[last] >= size:
        last += 1
    if (first == low and low > 0) or last >= high:
        return profile.time[0], len(openings.shortest) - 1
    begin, length, row = profile.time[first], profile.time[last] - profile.time[first], -1
    for duration in openings.shortest:  # to look at them all costs less than a mispredicted branch
        row += int(duration <= length)
    return begin, row


@kernel
def _bring_back(openings, profile, column, row, first, last):
    """Bring the fronts of a class back to the intervals that meet the steps of a gain.

    Durations of classes after `row` fit into none of them. Return False if one is too long to be
    followed.
    """
    size, steps = openings.least[column], profile.steps[0]
    latest = openings.front[column, row]  # what begins later changes no front
    step, low, high = first, max(0, first - NEAR), min(steps, last + NEAR)
    while step > low and profile.free[step] >= size and profile.free[step - 1] >= size:
        step -= 1
    if step == low and low > 0:
        return False
    begin = FOREVER  # of the interval that `step` is in
    while step < high and (begin < FOREVER or (step < last and profile.time[step] < latest)):
        if profile.free[step] >= size:
            begin = min(begin, profile.time[step])
        elif begin < FOREVER:
            _bring_back_to(openings, column, row, begin, profile.time[step] - begin)
            begin = FOREVER
        step += 1
    if begin < FOREVER:  # as if without end
        _bring_back_to(openings, column, row, begin, FOREVER)
    return True


@kernel
def _bring_back_to(openings, column, row, begin, length):
    while row >= 0 and openings.front[column, row] > begin:  # fronts ascend
        if openings.shortest[row] <= length:
            openings.front[column, row] = begin
        row -= 1
