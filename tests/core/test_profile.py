"""The availability profile against a list of intervals."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bfenv.core.cluster import advance, commit_starts, expected_ends, new_cluster, running, start
from bfenv.core.jobs import make_trace
from bfenv.core.profile import (
    anchor_point,
    begin_at,
    copy,
    fits,
    new_profile,
    place,
    rebuild,
    release,
    reserve,
    shadow,
)
from tests.oracles import machine as naive

PROCESSORS = 6


@st.composite
def machines(draw):
    """A cluster at time 0 with running jobs (expected end, size), one job waiting."""
    runs, used = [], 0
    for end, size in draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 6)), max_size=5)):
        if used + size <= PROCESSORS:
            runs.append((end, size))
            used += size
    head = draw(st.integers(1, PROCESSORS))
    sizes = [size for _, size in runs] + [head]
    ends = [end for end, _ in runs] + [1]
    trace = make_trace(np.zeros(len(sizes)), sizes, ends, PROCESSORS)
    cluster, truth = new_cluster(trace)
    advance(cluster, trace.jobs, truth)
    for job in range(len(runs)):
        start(cluster, trace.jobs, job)
    commit_starts(cluster, trace.jobs, truth)
    return cluster, trace.jobs, [(0, end, size) for end, size in runs]


reservations = st.lists(
    st.tuples(st.integers(1, PROCESSORS), st.integers(1, 8), st.integers(0, 10)), max_size=6
)


def levels(profile):
    steps = int(profile.steps[0])
    return dict(zip(profile.time[:steps].tolist(), profile.free[:steps].tolist(), strict=True))


@given(machines(), reservations)
def test_anchor_points_are_those_of_a_list_of_intervals(machine, wishes):
    cluster, jobs, intervals = machine
    profile = new_profile(PROCESSORS, len(wishes))
    rebuild(profile, cluster, jobs)
    for size, duration, earliest in wishes:
        job = naive.Job(0, size, duration, duration, 0, earliest)
        expected = naive.anchor_point(intervals, PROCESSORS, job, 0)
        anchor = anchor_point(profile, size, duration, earliest)
        assert anchor == expected
        assert fits(profile, size, duration, anchor)
        assert fits(profile, size, duration, earliest) == (anchor == earliest)
        reserve(profile, size, anchor, anchor + duration)
        intervals.append((anchor, anchor + duration, size))
        for time in range(25):
            step = np.searchsorted(profile.time[: profile.steps[0]], time, side="right") - 1
            assert profile.free[step] == naive.free_at(intervals, PROCESSORS, time)


@given(machines(), reservations)
def test_releasing_what_was_reserved_restores_the_level_everywhere(machine, wishes):
    cluster, jobs, intervals = machine
    profile = new_profile(PROCESSORS, len(wishes))
    rebuild(profile, cluster, jobs)
    taken = []
    for size, duration, earliest in wishes:
        anchor = anchor_point(profile, size, duration, earliest)
        reserve(profile, size, anchor, anchor + duration)
        taken.append((size, anchor, anchor + duration))
    for size, begin, end in taken:
        release(profile, size, begin, end)
    for time, level in levels(profile).items():
        assert level == naive.free_at(intervals, PROCESSORS, time)


@given(machines(), reservations)
def test_to_place_is_to_reserve_at_the_anchor_point(machine, wishes):
    cluster, jobs, _ = machine
    one, two = new_profile(PROCESSORS, len(wishes)), new_profile(PROCESSORS, len(wishes))
    rebuild(one, cluster, jobs)
    copy(one, two)
    for size, duration, earliest in wishes:
        anchor = anchor_point(one, size, duration, earliest)
        reserve(one, size, anchor, anchor + duration)
        assert place(two, size, duration, earliest) == anchor
        assert levels(one) == levels(two)


@given(machines(), st.integers(0, 12))
def test_a_later_beginning_drops_the_steps_before_and_no_level(machine, time):
    cluster, jobs, intervals = machine
    profile = new_profile(PROCESSORS, 0)
    rebuild(profile, cluster, jobs)
    begin_at(profile, time)
    expected = {t: naive.free_at(intervals, PROCESSORS, t) for t in range(time, 20)}
    kept = levels(profile)
    assert min(kept) == time and sorted(kept) == list(kept)
    assert kept == {t: n for t, n in expected.items() if t == time or n != expected[t - 1]}


@given(machines())
def test_the_shadow_time_is_the_heads_anchor_and_the_extra_nodes_what_is_left_there(machine):
    cluster, jobs, intervals = machine
    head = len(jobs.size) - 1
    request = naive.Job(0, int(jobs.size[head]), 1, 1)
    assert tuple(shadow(cluster, jobs, head)) == naive.shadow_and_extra(
        intervals, PROCESSORS, request, 0
    )


def test_steps_of_one_instant_are_one_step():
    trace = make_trace([0, 0, 0], [1, 2, 1], [5, 5, 7], PROCESSORS)
    cluster, truth = new_cluster(trace)
    advance(cluster, trace.jobs, truth)
    for job in range(3):
        start(cluster, trace.jobs, job)
    profile = new_profile(3, 0)
    rebuild(profile, cluster, trace.jobs)
    assert levels(profile) == {0: 2, 5: 5, 7: 6}
    assert running(cluster).tolist() == [0, 1, 2]
    assert expected_ends(cluster).tolist() == [5, 5, 7]
