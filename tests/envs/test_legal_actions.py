"""The mask: what the guard of reservations leaves legal."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.cluster import expected_ends, now, running, waiting
from bfenv.envs.observation import JOB_BEFORE_SHADOW, JOB_FITS, JOB_WITHIN_EXTRA
from tests.conftest import small_traces
from tests.envs.playing import whole
from tests.oracles import machine as naive


@given(small_traces(jobs=8, requested_starts=True), st.integers(-1, 4))
@settings(max_examples=150)
def test_guard(trace, depth):
    """A start is legal if it delays no reservation, as the naive guard finds."""
    env = whole(trace, window=8, reservation_depth=depth)
    _, info = env.reset(seed=0)
    jobs = trace.jobs
    done = False
    while not done:
        cluster = env.cluster
        line = waiting(cluster).tolist()
        queue = [
            naive.Job(
                0, int(jobs.size[j]), int(jobs.estimate[j]), 1, 0, int(jobs.requested_start[j])
            )
            for j in line
        ]
        runs = [
            (-1, int(end), int(jobs.size[j]))
            for j, end in zip(running(cluster), expected_ends(cluster), strict=True)
        ]
        free = trace.processors - sum(size for _, _, size in runs)
        legal = naive.guarded(queue, runs, int(now(cluster)), free, trace.processors, depth)
        assert set(np.flatnonzero(info["action_mask"][:-1])) == legal
        assert info["action_mask"][-1] == 1
        assert env.action_masks().tolist() == info["action_mask"].astype(bool).tolist()
        _, _, done, _, info = env.step(int(info["action_mask"].argmax()))


def test_deep_guard():
    """A depth beyond the trace reserves for all jobs."""
    trace = bfenv.make_trace([0, 0, 0], [2, 3, 1], [3, 3, 3], 3)
    masks = []
    for depth in (-1, 10**30):
        env = whole(trace, reservation_depth=depth)
        env.reset(seed=0)
        masks.append(env.step(0)[-1]["action_mask"].tolist())
    assert masks[0] == masks[1]


@given(small_traces(jobs=8, requested_starts=True))
@settings(max_examples=150)
def test_features_agree(trace):
    """Behind the head, legal is what fits and is over by the shadow time or within the extra."""
    env = whole(trace, reservation_depth=1)
    observation, info = env.reset(seed=0)
    done = False
    while not done:
        rows = observation["queue"][1:].T
        expected = rows[JOB_FITS] * np.maximum(rows[JOB_BEFORE_SHADOW], rows[JOB_WITHIN_EXTRA])
        assert info["action_mask"][1:-1].tolist() == expected.tolist()
        observation, _, done, _, info = env.step(int(info["action_mask"].argmax()))
