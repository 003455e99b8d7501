"""Truncation: what the jobs that have not started are charged."""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.envs.backfill import BackfillEnv
from tests.conftest import small_traces
from tests.envs.playing import play, whole


def test_by_hand():
    """Three jobs on two processors, truncated when one runs and two wait."""
    trace = bfenv.make_trace([0, 0, 3], [1, 2, 1], [9, 5, 3], 2, estimate=[10, 6, 3])
    env = whole(trace, max_episode_steps=1)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(0)
    assert info["now"] == 3 and truncated and not terminated
    # W = 1 x 7 + 2 x 6 + 1 x 3 = 22 and E = 7, so both start at 3 + 2 x 22 / 2 + 7 = 32.
    metrics = info["metrics"]
    assert metrics["mean_wait"] == pytest.approx((0 + 32 + 29) / 3)
    assert metrics["longest_wait"] == 32
    assert metrics["charged_jobs"] == 2
    assert metrics["mean_bounded_slowdown"] == pytest.approx((1 + 37 / 10 + 32 / 10) / 3)
    assert reward == pytest.approx(-metrics["mean_bounded_slowdown"])


def test_jobs_to_come():
    """A job of the episode that has not arrived is charged from its own submit time on."""
    trace = bfenv.make_trace([0, 0, 100], [1, 2, 1], [4, 5, 3], 2, estimate=[10, 6, 3])
    env = whole(trace, max_episode_steps=1)
    env.reset(seed=0)
    info = env.step(0)[-1]
    # W = 2 x 6 + 1 x 3 = 15 and E = 6, so the charge is 21 s from 4 and from 100 on.
    assert info["now"] == 4
    assert info["metrics"]["mean_wait"] == pytest.approx((0 + 25 + 21) / 3)


def test_requested_start():
    """A job is charged from its requested start time on, before which it cannot start."""
    trace = bfenv.make_trace([0, 0], [1, 1], [4, 5], 1, requested_start=[0, 900])
    env = whole(trace, max_episode_steps=1, idle="every_pass")
    env.reset(seed=0)
    info = env.step(0)[-1]
    assert info["now"] == 4
    assert info["metrics"]["longest_wait"] == 900 + 2 * 5 + 5


def test_last_step():
    """An episode that ends with its last allowed action is terminated, and charged nothing."""
    trace = bfenv.make_trace([0, 0], [1, 1], [4, 5], 2)
    env = whole(trace, max_episode_steps=2)
    env.reset(seed=0)
    assert not env.step(0)[3]
    _, _, terminated, _, info = env.step(0)
    assert terminated and info["metrics"]["charged_jobs"] == 0


@given(
    small_traces(jobs=8) | small_traces(jobs=8, requested_starts=True),
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
)
@settings(max_examples=150)
def test_bound(trace, seed, limit):
    """Whoever goes on without leaving a job waiting that may start pays less than the charge."""
    cut, whole_episode = whole(trace, max_episode_steps=limit), whole(trace)
    generator = np.random.default_rng(seed)
    _, info = cut.reset(seed=0)
    whole_episode.reset(seed=0)
    done = truncated = False
    while not (done or truncated):
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        _, _, done, truncated, info = cut.step(action)
        _, _, _, _, other = whole_episode.step(action)
    while whole_episode.unstarted:
        _, _, _, _, other = whole_episode.step(int(other["action_mask"].argmax()))
    for metric in ("mean_wait", "mean_bounded_slowdown", "longest_wait"):
        assert other["metrics"][metric] <= info["metrics"][metric] + 1e-9


@pytest.mark.parametrize("limit", [1, 10, 50])
def test_truncation_never_pays(limit):
    """A truncated episode is charged, also by Gymnasium's wrapper: rewards add up to the metric."""
    options = {"episode_jobs": 64, "warmup_jobs": 64}
    env = BackfillEnv(**options)
    full = -sum(play(env, PolicyAgent("easy", env), seed=0)[0])
    inner = gymnasium.make("Backfill-v0", max_episode_steps=limit + 3, **options)
    wrapped = TimeLimit(gymnasium.wrappers.RecordEpisodeStatistics(inner), limit)
    charges = []
    for env in (BackfillEnv(max_episode_steps=limit, **options), wrapped):
        env.reset(seed=0)
        total, truncated = 0.0, False
        while not truncated:
            _, reward, terminated, truncated, info = env.step(env.unwrapped.window)
            total += reward
        metrics = info["metrics"]
        assert not terminated and metrics["charged_jobs"] == env.unwrapped.unstarted > 0
        ratio = metrics["mean_bounded_slowdown"] / metrics["reference_bounded_slowdown"]
        wait = metrics["longest_wait"] / metrics["reference_longest_wait"]
        assert wait > 1 and -total == pytest.approx(ratio * wait)
        charges.append(-total)
    assert charges[0] == charges[1] > full
