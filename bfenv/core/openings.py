"""Openings: where a profile that is kept gained room since its reservations were last looked at.

After an early end the waiting jobs are moved up one by one. Nearly all of them cannot move, and a
search of the profile for each would take most of a run. A job that could not move when it was last
looked at can move now only if processors were given back since, in one of two ways:

* It slides: processors were given back right before its planned start. Each slot of a wheel of
  time holds the number of the last gain in it; a job compares that with the number of gains when it
  was last looked at.
* It jumps: an interval in which enough processors are free, and some were given back, has become
  as long as its estimate. For each class of sizes, the longest interval that a gain has made or
  lengthened is noted, and where the first one begins.

Both answers may be yes for a job that cannot move, and are never no for one that can. Profiles that
only fill up need no openings.
"""

from typing import NamedTuple

import numpy as np

from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import inlined, kernel
from bfenv.core.profile import step_at

SLOTS = 4096  # of the wheel
SLOT_BITS = 6  # a slot has 64 s; times that are 2**18 s apart share one
ZONES = 64  # of the time from now to the end of the plan
NEAR = 32  # steps that an interval is followed for, to either side
FEW = 4  # steps of a gain that are taken together
NEVER = -1  # in `looked`
THIS, LAST = 0, 1  # rounds: each looks at all jobs


class Openings(NamedTuple):
    """The gains since each job was last looked at."""

    gains: np.ndarray  # (1,) int64 number of gains so far
    wheel: np.ndarray  # (SLOTS,) int64 number of the last gain in a slot
    looked: np.ndarray  # (n,) int64 number of gains when the job last could not move, or NEVER
    class_of: np.ndarray  # (processors + 1,) int64, by size
    least: np.ndarray  # (c,) int64 processors, ascending: the smallest size of each class
    longest: np.ndarray  # (ZONES, c) int64 seconds, of the intervals from a zone or before
    origin: np.ndarray  # (1,) int64 seconds, where the first zone begins
    zone_bits: np.ndarray  # (1,) int64: a zone has 2**zone_bits seconds
    gained: np.ndarray  # (2, r, 2) int64 seconds: begins and ends, in THIS round and the LAST
    count: np.ndarray  # (2,) int64 number of gains in THIS round and the LAST


def new_openings(jobs: Jobs, processors: int, room: int = 0) -> Openings:
    """Return openings of a profile without reservations, with `room` for the gains of a round.

    By default that is enough for every job to end early and to move. Where it is not, the last
    gains are taken together.
    """
    powers = 2 ** np.arange(processors.bit_length(), dtype=np.int64)
    least = np.unique(np.concatenate([powers, powers + powers // 2]))
    count = len(jobs.submit)
    return Openings(
        gains=np.zeros(1, dtype=np.int64),
        wheel=np.zeros(SLOTS, dtype=np.int64),
        looked=np.zeros(count, dtype=np.int64),
        class_of=np.searchsorted(least, np.arange(processors + 1), side="right") - 1,
        least=least,
        longest=np.zeros((ZONES, len(least)), dtype=np.int64),
        origin=np.zeros(1, dtype=np.int64),
        zone_bits=np.zeros(1, dtype=np.int64),
        gained=np.zeros((2, room or 2 * count + 2, 2), dtype=np.int64),
        count=np.zeros(2, dtype=np.int64),
    )


@kernel
def begin_round(openings, profile):
    """Note the intervals at the gains since the last round began; then look at each job once."""
    now, last = profile.time[0], profile.time[profile.steps[0] - 1]
    openings.origin[0] = now
    openings.zone_bits[0] = 0
    while (last - now) >> openings.zone_bits[0] >= ZONES:
        openings.zone_bits[0] += 1
    openings.longest[:] = 0
    for when in (THIS, LAST):
        for i in range(openings.count[when]):
            begin, end = openings.gained[when, i, 0], openings.gained[when, i, 1]
            if end > now:
                _note_intervals(openings, profile, step_at(profile, max(begin, now)), end)


@kernel
def end_round(openings):
    """Forget the gains that all jobs have seen."""
    for i in range(openings.count[THIS]):
        openings.gained[LAST, i, 0] = openings.gained[THIS, i, 0]
        openings.gained[LAST, i, 1] = openings.gained[THIS, i, 1]
    openings.count[LAST] = openings.count[THIS]
    openings.count[THIS] = 0


@inlined
def may_slide(openings, job, planned):
    """Tell whether room may have been gained right before the planned start of a job."""
    return openings.wheel[((planned - 1) >> SLOT_BITS) & (SLOTS - 1)] > openings.looked[job]


@kernel
def may_jump(openings, job, size, duration, planned):
    """Tell whether a job may have gained an interval of its own before its planned start."""
    longest = openings.longest[_zone(openings, planned), openings.class_of[size]]
    return duration <= longest or openings.looked[job] == NEVER


@inlined
def _zone(openings, time):
    return min((time - openings.origin[0]) >> openings.zone_bits[0], ZONES - 1)


@kernel
def note_gain(openings, begin, end):
    """Note that processors have been given back from `begin` until `end`."""
    openings.gains[0] += 1
    slot, last = begin >> SLOT_BITS, (end - 1) >> SLOT_BITS
    last = min(last, slot + SLOTS - 1)
    while slot <= last:
        openings.wheel[slot & (SLOTS - 1)] = openings.gains[0]
        slot += 1
    count, gained = openings.count[THIS], openings.gained[THIS]
    if count == len(gained):  # as if all between had been gained, too: more jobs are looked at
        count -= 1
        begin, end = min(begin, gained[count, 0]), max(end, gained[count, 1])
    gained[count, 0], gained[count, 1] = begin, end
    openings.count[THIS] = count + 1


@kernel
def note_move(openings, profile, begin, end):
    """Note a gain in a round."""
    note_gain(openings, begin, end)
    _note_intervals(openings, profile, step_at(profile, begin), end)


@kernel
def _note_intervals(openings, profile, first, end):
    """Note, for each class, the intervals that meet the steps from `first` until the time `end`."""
    steps, top, last = profile.steps[0], 0, first
    while last < steps and profile.time[last] < end:
        top = max(top, profile.free[last])
        last += 1
    column = openings.class_of[min(top, len(openings.class_of) - 1)] if top > 0 else -1
    if last - first <= FEW:  # as if all of them had enough
        near_first, near_last = first - NEAR, last + NEAR
        while column >= 0 and openings.longest[0, column] < FOREVER:
            size = openings.least[column]
            while first > max(0, near_first) and profile.free[first - 1] >= size:
                first -= 1
            while last < min(steps, near_last) and profile.free[last] >= size:
                last += 1
            if first == near_first or last == near_last:  # not followed to its ends
                first, last = 0, steps
            begin = profile.time[first]
            _note(openings, column, begin, profile.time[last] - begin if last < steps else FOREVER)
            column -= 1
        return
    while column >= 0:
        _note_class(openings, profile, column, first, end)
        column -= 1


@kernel
def _note_class(openings, profile, column, first, end):
    size, steps = openings.least[column], profile.steps[0]
    step = first
    while step > 0 and profile.free[first] >= size and profile.free[step - 1] >= size:
        step -= 1
    begin = FOREVER  # of the interval that `step` is in
    while step < steps and (begin < FOREVER or profile.time[step] < end):
        if profile.free[step] >= size:
            begin = min(begin, profile.time[step])
        elif begin < FOREVER:
            _note(openings, column, begin, profile.time[step] - begin)
            begin = FOREVER
        step += 1
    if begin < FOREVER:
        _note(openings, column, begin, FOREVER)


@kernel
def _note(openings, column, begin, length):
    zone = _zone(openings, begin)
    while zone < ZONES and openings.longest[zone, column] < length:
        openings.longest[zone, column] = length
        zone += 1
