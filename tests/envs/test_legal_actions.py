"""The mask: what the guard of reservations leaves legal."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.cluster import expected_ends, now, running, waiting
from bfenv.envs.features import JOB_BEFORE_SHADOW, JOB_FITS, JOB_HEAD, JOB_WITHIN_EXTRA
from tests.conftest import small_traces
from tests.envs.playing import whole
from tests.oracles import machine as naive


@given(small_traces(jobs=8, requested_starts=True), st.sampled_from([0, 1]))
@settings(max_examples=150)
def test_guard(trace, depth):
    """A start is legal if it delays no reservation, as the naive guard finds."""
    env = whole(trace, window=8, reservations=depth)
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
        assert info["action_mask"][-1] == (not any(slot < depth for slot in legal))
        assert env.action_masks().tolist() == info["action_mask"].astype(bool).tolist()
        _, _, done, _, info = env.step(int(info["action_mask"].argmax()))


@given(small_traces(jobs=8, requested_starts=True))
@settings(max_examples=150)
def test_features_agree(trace):
    """Behind the head, legal is what fits and is over by the shadow time or within the extra."""
    env = whole(trace, reservations=1)
    observation, info = env.reset(seed=0)
    done = False
    while not done:
        rows = observation["queue"][1:].T
        expected = rows[JOB_FITS] * np.maximum(rows[JOB_BEFORE_SHADOW], rows[JOB_WITHIN_EXTRA])
        assert info["action_mask"][1:-1].tolist() == expected.tolist()
        observation, _, done, _, info = env.step(int(info["action_mask"].argmax()))


@given(
    small_traces(jobs=8),
    st.sampled_from(["never", "allowed", "every_pass"]),
    st.sampled_from([0, 1]),
)
@settings(max_examples=150)
def test_idle(trace, idle, depth):
    """The pass is legal as `idle` says, and some action always is."""
    env = whole(trace, reservations=depth, idle=idle)
    _, info = env.reset(seed=0)
    done = False
    while not done:
        *starts, may_pass = info["action_mask"].tolist()
        if idle == "never":
            assert may_pass == (not any(starts))
        elif depth == 0:
            assert may_pass
        else:
            assert may_pass == (not starts[0])
        assert any(starts) or may_pass
        _, _, done, _, info = env.step(int(info["action_mask"].argmax()))


def test_chosen_head():
    """A chosen head has EASY's reservation until the clock runs on."""
    #  2 of 3 processors are taken until 10. Job 1 (3) cannot start, job 2 (1, 20 s) and job 3 (1,
    #  5 s) can. With job 1 as the head, job 2 would delay it.
    trace = bfenv.make_trace([0, 1, 1, 1], [2, 3, 1, 1], [10, 9, 20, 5], 3)
    env = whole(trace, window=3, reservations="chosen", idle="never")
    env.reset(seed=0)
    *_, info = env.step(0)
    assert info["action_mask"].tolist() == [1, 1, 1, 0]
    observation, _, _, _, info = env.step(0)
    assert info["now"] == 1 and info["action_mask"].tolist() == [0, 0, 1, 0]
    assert observation["queue"][:, JOB_HEAD].tolist() == [1, 0, 0]
    *_, info = env.step(2)
    assert env.cluster.start.tolist() == [0, -1, -1, 1]
    assert info["now"] == 6  # job 3 has ended; nothing respected the head, so time ran on
    assert info["action_mask"].tolist() == [1, 1, 0, 0]
