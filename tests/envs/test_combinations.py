"""Settings in combination: an episode depends on nothing before it, and its sums add up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.backfill import BackfillEnv
from tests.envs.combinations import OPTIONS, RULES, TRACES, play
from tests.envs.vectors import same

REWARDS = ("bounded_slowdown", "wait")


def note(before, after, ended):
    """A reward that tells everything which it is given."""
    return after.wait - before.wait + 1e-3 * float((7 * ended.job + ended.end).sum())


@given(TRACES, RULES, OPTIONS, st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_earlier_episodes(traces, rules, options, seed):
    """An episode is that of a new environment, whatever was played on whichever trace."""
    options |= {"split": "all", "warmup_jobs": 0, "episode_jobs": None}
    env = BackfillEnv(list(traces), reward=note, **rules, **options)
    for episode in range(3):
        play(env, seed + episode, seed=seed + episode)
    env.reset(seed=seed)
    window = env.batch.windows[0]
    chosen = {"trace": window.k, "first_job": window.first}
    again, other = (
        play(one, seed, seed=0, options=chosen)
        for one in (env, BackfillEnv(list(traces), reward=note, **rules, **options))
    )
    same([list(step) for step in again], [list(step) for step in other])


@given(TRACES, RULES, OPTIONS, st.integers(0, 2**32 - 1), st.sampled_from(REWARDS))
@settings(max_examples=60)
def test_sums(traces, rules, options, seed, reward):
    """Rewards add up to minus the metric, which is that of the starts if all jobs have some."""
    options |= {"split": "all", "warmup_jobs": 0, "episode_jobs": None}
    env = BackfillEnv(list(traces), reward=reward, **rules, **options)
    _, *steps = play(env, seed, seed=seed)
    _, _, terminated, _, info = steps[-1]
    metrics = info["metrics"]
    assert sum(step[1] for step in steps) == pytest.approx(-metrics[f"mean_{reward}"])
    assert metrics["charged_jobs"] == env.unstarted
    if terminated:
        jobs = slice(0, len(env.trace))
        wait = env.cluster.start[jobs] - env.trace.jobs.submit
        slowdown = bounded_slowdown(wait, env.trace.runtime, rules.get("tau", 10))
        assert metrics["mean_bounded_slowdown"] == pytest.approx(slowdown.mean())
        assert metrics["mean_wait"] == pytest.approx(wait.mean())
        assert metrics["longest_wait"] == wait.max() and wait.min() >= 0
