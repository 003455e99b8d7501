"""The availability profile against a list of intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv.core.profile as p
from bfenv.core.cluster import expected_ends, running, shadow, start
from bfenv.core.errors import BfenvError
from bfenv.core.events import advance, commit_starts, new_cluster
from bfenv.core.jobs import make_trace
from tests.conftest import COMPILED
from tests.oracles import machine as naive
from tests.strict_arrays import strict as strict_arrays

PROCESSORS = 6
strict = (lambda profile: profile) if COMPILED else strict_arrays


@st.composite
def machines(draw):
    """A cluster at time 0: runs (expected end, size), and a job that waits, maybe for later."""
    runs, used = [], 0
    for end, size in draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 6)), max_size=5)):
        if used + size <= PROCESSORS:
            runs.append((end, size))
            used += size
    head = draw(st.integers(1, PROCESSORS))
    sizes = [size for _, size in runs] + [head]
    ends = [end for end, _ in runs] + [1]
    requested_start = [0] * len(runs) + [draw(st.integers(0, 12))]
    trace = make_trace(
        np.zeros(len(sizes)), sizes, ends, PROCESSORS, requested_start=requested_start
    )
    cluster, jobs, truth = new_cluster(trace)
    advance(cluster, jobs, truth)
    for job in range(len(runs)):
        start(cluster, jobs, job)
    commit_starts(cluster, jobs, truth)
    return cluster, jobs, [(0, end, size) for end, size in runs]


reservations = st.lists(
    st.tuples(st.integers(1, PROCESSORS), st.integers(1, 8), st.integers(0, 10)), max_size=6
)


def levels(profile):
    steps = int(profile.steps[0])
    return dict(zip(profile.time[:steps].tolist(), profile.free[:steps].tolist(), strict=True))


@given(machines(), reservations)
def test_anchor_point(machine, wishes):
    """Anchor points are those of a list of intervals."""
    cluster, jobs, intervals = machine
    profile = p.new_profile(PROCESSORS, len(wishes))
    p.rebuild(profile, cluster, jobs)
    for size, duration, earliest in wishes:
        job = naive.Job(0, size, duration, duration, 0, earliest)
        expected = naive.anchor_point(intervals, PROCESSORS, job, 0)
        anchor = p.anchor_point(profile, size, duration, earliest)
        assert anchor == expected
        assert p.fits(profile, size, duration, anchor)
        assert p.fits(profile, size, duration, earliest) == (anchor == earliest)
        p.reserve(profile, size, anchor, anchor + duration)
        intervals.append((anchor, anchor + duration, size))
        for time in range(25):
            step = np.searchsorted(profile.time[: profile.steps[0]], time, side="right") - 1
            assert profile.free[step] == naive.free_at(intervals, PROCESSORS, time)


@given(machines(), reservations)
def test_release(machine, wishes):
    """To release what was reserved restores the level everywhere."""
    cluster, jobs, intervals = machine
    profile = p.new_profile(PROCESSORS, len(wishes))
    p.rebuild(profile, cluster, jobs)
    taken = []
    for size, duration, earliest in wishes:
        anchor = p.anchor_point(profile, size, duration, earliest)
        p.reserve(profile, size, anchor, anchor + duration)
        taken.append((size, anchor, anchor + duration))
    for size, begin, end in taken:
        p.release(profile, size, begin, end)
    for time, level in levels(profile).items():
        assert level == naive.free_at(intervals, PROCESSORS, time)


@given(machines(), reservations)
def test_place(machine, wishes):
    """To place is to reserve at the anchor point."""
    cluster, jobs, _ = machine
    one, two = p.new_profile(PROCESSORS, len(wishes)), p.new_profile(PROCESSORS, len(wishes))
    p.rebuild(one, cluster, jobs)
    p.copy(one, two)
    for size, duration, earliest in wishes:
        anchor = p.anchor_point(one, size, duration, earliest)
        p.reserve(one, size, anchor, anchor + duration)
        assert p.place(two, size, duration, earliest) == anchor
        assert levels(one) == levels(two)


@given(st.lists(st.integers(0, 90), min_size=1, max_size=60, unique=True), st.integers(-1, 70))
def test_step_from(times, guess):
    """The first step from a time on is found, and a guess changes nothing."""
    profile = p.new_profile(0, 60)
    profile.steps[0] = len(times)
    profile.time[: len(times)] = sorted(times)
    for time in range(min(times), 92):
        expected = sum(begin < time for begin in times)
        assert p.step_from(profile, time) == expected
        assert p.step_from_guess(profile, time, guess) == expected


def check_step(profile, time, step):
    """`time` is in `step` of the profile."""
    assert profile.time[step] <= time
    assert step + 1 == profile.steps[0] or time < profile.time[step + 1]


@given(machines(), reservations.filter(len), st.booleans(), st.data())
def test_slide_and_bring_forward(machine, wishes, is_long, data):
    """A reservation slides to the first second from which it has its processors without a gap.

    To bring it there is to release and to reserve it. In a long profile equal steps may remain.
    """
    cluster, jobs, intervals = machine
    far = p.LONG // 2 if is_long else 0
    profile, other = (p.new_profile(PROCESSORS, len(wishes) + 1 + far) for _ in range(2))
    p.rebuild(profile, cluster, jobs)
    steps = profile.steps[0]
    profile.time[steps : steps + 2 * far] = 1000 + np.arange(2 * far)
    profile.free[steps : steps + 2 * far : 2] = PROCESSORS - 1
    profile.free[steps + 1 : steps + 2 * far : 2] = PROCESSORS
    profile.steps[0] += 2 * far
    taken = []
    for size, duration, earliest in wishes:
        begin = p.anchor_point(profile, size, duration, earliest)
        p.reserve(profile, size, begin, begin + duration)
        taken.append((begin, begin + duration, size))
    begin, end, size = taken[data.draw(st.integers(0, len(taken) - 1))]
    earliest = expected = data.draw(st.integers(0, begin))
    used = intervals + taken
    for time in range(earliest, begin):
        if naive.free_at(used, PROCESSORS, time) < size:
            expected = time + 1
    to, step = p.slide_point(profile, size, earliest, begin, p.step_from(profile, begin))
    assert to == expected
    if to == begin:
        return
    check_step(profile, to, step)
    p.copy(profile, other)
    p.release(other, size, begin, end)
    p.reserve(other, size, to, to + end - begin)
    left, step = p.bring_forward(profile, size, begin, end, to, step)
    check_step(profile, left, step)
    p.join_steps(profile)
    assert levels(profile) == levels(other)
    assert left == max(begin, to + end - begin)


@given(machines(), reservations.filter(len), st.data())
def test_fit_before(machine, wishes, data):
    """The search with known steps finds the same anchor point, and the first step from there on."""
    cluster, jobs, _ = machine
    profile = p.new_profile(PROCESSORS, len(wishes))
    p.rebuild(profile, cluster, jobs)
    for size, duration, earliest in wishes:
        begin = p.anchor_point(profile, size, duration, earliest)
        p.reserve(profile, size, begin, begin + duration)
    earliest = data.draw(st.integers(0, begin))
    expected = p.anchor_before(profile, size, duration, earliest, begin)
    until = p.step_from(profile, begin)
    anchor, step = p.fit_before(profile, size, duration, earliest, begin, until)
    assert (anchor, step) == (expected, p.step_from(profile, expected))


@pytest.mark.parametrize("seed", range(5))
def test_full_profile(seed):
    """A long profile joins its steps where it is full, whatever has been moved before."""
    generator = np.random.default_rng(seed)
    count = p.LONG // 2 + 50
    profile, other = (p.new_profile(0, count) for _ in range(2))
    for plan in (profile, other):
        plan.time[0], plan.free[0] = 0, count
    begins = np.arange(count) * 40 + generator.integers(0, 5, count)
    for begin in begins:
        p.reserve(profile, 1, begin, begin + 30)
    for begin in generator.permutation(begins):
        to = int(generator.integers(0, begin + 1))
        if to < begin:
            p.bring_forward(profile, 1, begin, begin + 30, to, p.step_at(profile, begin))
        p.reserve(other, 1, to, to + 30)
        assert profile.steps[0] <= len(profile.time)
    p.join_steps(profile)
    assert levels(profile) == levels(other)


@given(machines(), st.integers(0, 12))
def test_begin_at(machine, time):
    """A later begin drops the steps before it, and no level."""
    cluster, jobs, intervals = machine
    profile = p.new_profile(PROCESSORS, 0)
    p.rebuild(profile, cluster, jobs)
    p.begin_at(profile, time)
    expected = {t: naive.free_at(intervals, PROCESSORS, t) for t in range(time, 20)}
    kept = levels(profile)
    assert min(kept) == time and sorted(kept) == list(kept)
    assert kept == {t: n for t, n in expected.items() if t == time or n != expected[t - 1]}


@given(machines())
def test_shadow(machine):
    """The shadow time is the head's anchor point; the extra nodes are what is left there."""
    cluster, jobs, intervals = machine
    head = len(jobs.size) - 1
    request = naive.Job(0, int(jobs.size[head]), 1, 1, 0, int(jobs.requested_start[head]))
    assert tuple(shadow(cluster, jobs, head)) == naive.shadow_and_extra(
        intervals, PROCESSORS, request, 0
    )


def test_one_instant():
    """Ends of one instant make one step."""
    trace = make_trace([0, 0, 0], [1, 2, 1], [5, 5, 7], PROCESSORS)
    cluster, jobs, truth = new_cluster(trace)
    advance(cluster, jobs, truth)
    for job in range(3):
        start(cluster, jobs, job)
    profile = p.new_profile(3, 0)
    p.rebuild(profile, cluster, jobs)
    assert levels(profile) == {0: 2, 5: 5, 7: 6}
    assert running(cluster).tolist() == [0, 1, 2]
    assert expected_ends(cluster).tolist() == [5, 5, 7]


def test_no_room():
    """A profile that is full refuses more reservations and more running jobs, and stays whole."""
    profile = p.new_profile(running=0, reservations=0)
    profile.time[0], profile.free[0] = 0, 4
    with pytest.raises(ValueError, match="the profile is full"):
        for begin in range(10, 1000, 10):
            p.reserve(profile, 1, begin, begin + 5)
    assert (np.diff(profile.time[: profile.steps[0]]) > 0).all()
    cluster, jobs, truth = new_cluster(make_trace([0] * 9, [1] * 9, range(1, 10), 9))
    advance(cluster, jobs, truth)
    for job in range(9):
        start(cluster, jobs, job)
    with pytest.raises(ValueError, match="the profile is full"):
        p.rebuild(profile, cluster, jobs)


def test_before_the_profile():
    """A time before the profile counts as its begin."""
    profile = p.new_profile(running=0, reservations=2)
    profile.time[0], profile.free[0] = 100, 4
    p.reserve(profile, 1, -50, 120)
    assert p.fits(profile, 3, 110, -7) and not p.fits(profile, 4, 110, -7)
    assert levels(profile) == {100: 3, 120: 4}
    assert p.place(profile, 3, 30, -7) == 100
    assert levels(profile) == {100: 0, 120: 1, 130: 4}


def reserved(*reservation):
    """Reserve in a profile of four processors from 100 s on, in which steps are left."""
    profile = strict(p.new_profile(running=0, reservations=2))
    profile.time[0], profile.free[0] = 100, 4
    p.reserve(profile, 1, 120, 140)
    before = levels(profile)
    with pytest.raises(ValueError) as error:
        if len(reservation) == 3:
            p.reserve(profile, *reservation)
        else:
            p.place(profile, *reservation, 0)
    assert levels(profile) == before
    return str(error.value)


def test_impossible_reservations():
    """A reservation of no length, in the past, or of too many processors is refused."""
    for times in ((150, 150), (150, 120), (0, 100), (150, -10)):
        assert reserved(1, *times) == p.NO_TIME
    assert reserved(1, 0) == reserved(1, -5) == p.NO_TIME
    assert reserved(5, 10) == p.TOO_LARGE
    for capacity in ((-10, 0), (0, -1), (0, 0.5)):
        with pytest.raises(BfenvError, match="must be an integer >= 0"):
            p.new_profile(*capacity)


def test_no_room_to_place():
    """A full profile refuses a reservation at the anchor point as well."""
    profile = strict(p.new_profile(running=0, reservations=0))
    profile.time[0], profile.free[0] = 0, 4
    with pytest.raises(ValueError, match="the profile is full"):
        for begin in range(10, 1000, 10):
            p.place(profile, 1, 5, begin)
    assert (
        list(levels(profile)) == sorted(levels(profile)) and len(levels(profile)) == profile.steps
    )
