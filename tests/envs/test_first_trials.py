"""Trials by the rule of `easy(trial=...)`, as in `trial_limit="5min above 35min"`."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.envs.features import QUEUE, TRIAL
from tests.conftest import small_traces
from tests.envs.playing import play, whole

pytestmark = pytest.mark.uncompiled

TRIALS = {"trial_limit": "2s above 2s"}


def test_by_hand():
    """Job 0 starts for 2 s and waits again; job 1 ends on trial, job 2 has no trial."""
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [5, 1, 2], 1, estimate=[6, 6, 2])
    env = whole(trace, window=3, **TRIALS)
    assert env.action_space.n == 4 and env.batch.queue_features == (*QUEUE, TRIAL[0])
    env.reset(seed=0)
    observation, *_, info = env.step(0)
    assert info["now"] == 2 and info["action_mask"].tolist() == [1, 1, 1, 1]
    assert observation["queue"][:, len(QUEUE)].tolist() == [1, 0, 0]
    *_, info = env.step(1)
    assert info["now"] == 3 and env.unstarted == 2
    *_, info = env.step(1)
    assert info["now"] == 5 and env.cluster.trial_start[2] == -1
    *_, done, _, info = env.step(0)
    assert done and env.cluster.start.tolist() == [5, 2, 3]
    assert info["metrics"]["mean_wait"] == (5 + 2 + 3) / 3


def test_beside_reservation():
    """A long job may start beside a reservation if its trial is over in time, but once only."""
    trace = bfenv.make_trace([0, 1, 1], [1, 2, 1], [4, 9, 9], 2, estimate=[5, 9, 9])
    env = whole(trace, window=3, reservations=1, idle="never", trial_limit="2s above 5s")
    env.reset(seed=0)
    *_, info = env.step(0)
    assert info["now"] == 1 and info["action_mask"].tolist() == [0, 1, 0, 0]
    *_, info = env.step(1)
    assert info["now"] == 4 and env.cluster.trial_end[2] == 3


@given(small_traces(jobs=10), st.sampled_from(["size", "-expansion"]), st.integers(2, 5))
@settings(max_examples=60)
def test_policy(trace, order, above):
    """A policy with such trials replays to the schedule of `simulate`, trials included."""
    policy = f"easy(order='{order}', trial=2, trial_above={above})"
    schedule = bfenv.simulate(trace, policy)
    trials = f"2s above {above}s"
    env = whole(trace, window=10, idle="every_pass", reservations="chosen", trial_limit=trials)
    play(env, PolicyAgent(policy, env))
    cluster, killed = env.cluster, schedule.trial_end >= 0
    assert cluster.start.tolist() == schedule.start.tolist()
    assert cluster.trial_end.tolist() == schedule.trial_end.tolist()
    assert cluster.trial_start[killed].tolist() == schedule.trial_start[killed].tolist()


def test_other_trials():
    """A policy with other trials than those of the environment is refused."""
    trace = bfenv.make_trace([0], [1], [9], 1, estimate=[99])
    env = whole(trace, idle="every_pass", **TRIALS)
    with pytest.raises(bfenv.PolicyError, match="for a trial of 3 s"):
        play(env, PolicyAgent("easy(trial=3, trial_above=3)", env))
    with pytest.raises(bfenv.PolicyError, match="starts job 0"):
        play(env, PolicyAgent("easy", env))
