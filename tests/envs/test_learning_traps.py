"""Traps of learning: what would win without scheduling well does not."""

import numpy as np
import pytest

import bfenv
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.agents.random import RandomAgent
from bfenv.core.schedule import penalized
from bfenv.envs.backfill import BackfillEnv
from tests.envs.playing import play, whole

SHORT = {"episode_jobs": 128, "warmup_jobs": 128, "split": "test"}


def random_metrics(env, seeds):
    """The metrics of episodes with random legal actions."""
    metrics = []
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            *_, over, _, info = env.step(int(generator.choice(np.flatnonzero(info["action_mask"]))))
        metrics.append(info["metrics"])
    return metrics


@pytest.mark.compiled
def test_starvation():
    """Random actions have a better mean than EASY, by starving jobs, and a worse objective."""
    metrics = random_metrics(BackfillEnv(**SHORT), 10)
    ratio = np.array(
        [m["mean_bounded_slowdown"] / m["reference_bounded_slowdown"] for m in metrics]
    )
    longest, usual = (
        np.array([m[name] for m in metrics]) for name in ("longest_wait", "reference_longest_wait")
    )
    assert np.log(ratio).mean() < 0 < np.log(penalized(ratio, longest, usual)).mean()


@pytest.mark.compiled
def test_idling():
    """Passing wherever it is legal scores no better than EASY, at each setting of `idle`."""
    easy = BackfillEnv(**SHORT)
    best = -sum(play(easy, PolicyAgent("easy", easy), seed=1)[0])
    for idle in ("allowed", "every_pass"):
        env = BackfillEnv(idle=idle, **SHORT)
        _, info = env.reset(seed=1)
        total = 0.0
        over = False
        while not over:
            mask = info["action_mask"]
            action = env.window if mask[env.window] else int(mask.argmax())
            _, reward, over, _, info = env.step(action)
            total += reward
        assert -total > best


@pytest.mark.compiled
def test_jam():
    """Large jobs that are left waiting do not hide small ones: random play works at any window."""
    trace = bfenv.load_workload("lublin:procs=128,load=0.9,seed=1000000")
    slowdown = {}
    for order in ("oldest", "mixed"):
        env = whole(trace, window=64, window_order=order)
        _, info = play(env, RandomAgent(env))
        slowdown[order] = info["metrics"]["mean_bounded_slowdown"]
        assert 0 < info["metrics"]["outside_window"] < 1
    assert slowdown["mixed"] < 0.5 * slowdown["oldest"]
