"""Rewards: they add up to the metrics, and may be the user's own."""

import math

import gymnasium
import pytest

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.core.errors import BfenvError
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import SETTINGS
from tests.envs.playing import play, whole


def test_dense():
    """Many steps have a reward, and only the ends of jobs correct it upwards."""
    env = gymnasium.make("Backfill-v0", reward="wait", episode_jobs=64, warmup_jobs=64).unwrapped
    rewards, _ = play(env, PolicyAgent("easy", env), seed=4)
    assert sum(reward < 0 for reward in rewards) > len(rewards) / 4
    assert max(rewards) <= 0


def test_estimates_stand_in():
    """A waiting job counts with its estimate; its end, or the episode's, corrects that."""
    #  One processor: job 0 runs 0-20 of its 100 s, job 1 20-40 of 200, job 2 40-60 of 40.
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [20, 20, 20], 1, estimate=[100, 200, 40])
    env = whole(trace)
    env.reset(seed=0)
    rewards = [env.step(0)[1], env.step(0)[1], env.step(0)[1]]
    at_20 = 1 + (1 + 20 / 200) + (1 + 20 / 40)  # job 0 has ended, with a slowdown of 1
    at_40 = 1 + 2 + (1 + 40 / 40)
    assert rewards[0] == pytest.approx(-at_20 / 3)
    assert rewards[1] == pytest.approx(-(at_40 - at_20) / 3)
    assert sum(rewards) == pytest.approx(-(1 + 2 + 3) / 3)


def test_log_ratio():
    """The reward "log_ratio" adds up to minus the log of the ratio to EASY, and is 0 for it."""
    options = {"episode_jobs": 64, "warmup_jobs": 64, "reward": "log_ratio"}
    for policy in ("easy", "easy-sjbf"):
        env = BackfillEnv(window=512, idle="allowed", reservations=0, **options)
        rewards, info = play(env, PolicyAgent(policy, env), seed=1)
        metrics = info["metrics"]
        ratio = metrics["mean_bounded_slowdown"] / metrics["reference_bounded_slowdown"]
        assert sum(rewards) == pytest.approx(-math.log(ratio), abs=1e-9)
        if policy == "easy":
            assert ratio == pytest.approx(1)


@pytest.mark.compiled
@pytest.mark.parametrize("reward", ["penalized", "penalized_product", "penalized_shaped"])
@pytest.mark.parametrize("policy", ["easy", "easy-saf"])
def test_penalized(policy, reward):
    """The rewards add up to minus the penalized slowdown, as by default, or to minus its root."""
    assert SETTINGS["reward"].default == "penalized_shaped"
    options = {"episode_jobs": 64, "warmup_jobs": 64, "reward": reward}
    env = BackfillEnv(window=512, idle="allowed", reservations=0, **options)
    longer = 0
    for seed in range(4):
        rewards, info = play(env, PolicyAgent(policy, env), seed=seed)
        metrics = info["metrics"]
        ratio = metrics["mean_bounded_slowdown"] / metrics["reference_bounded_slowdown"]
        usual = max(metrics["reference_longest_wait"], 3600)
        excess = max(1, metrics["longest_wait"] / usual)
        longer += excess > 1
        total = math.sqrt(ratio * excess) if reward == "penalized" else ratio * excess
        assert sum(rewards) == pytest.approx(-total, abs=1e-9)
    assert longer == 0 if policy == "easy" else longer > 0


def test_shaped():
    """A job is charged while it is overdue, and gets the charge back when it starts."""
    #  One processor, three jobs of 2 h. EASY's longest wait is 4 h, so a job is overdue after 2 h.
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [7_200] * 3, 1)
    rewards = {}
    for reward in ("penalized_product", "penalized_shaped"):
        env = whole(trace, reward=reward)
        env.reset(seed=0)
        rewards[reward] = [env.step(0)[1] for _ in range(3)]
    shaping = [
        shaped - plain
        for shaped, plain in zip(
            rewards["penalized_shaped"], rewards["penalized_product"], strict=True
        )
    ]
    charge = 0.1 * (4 / 4 - 0.5) ** 2  # job 2, after 4 h
    assert shaping == pytest.approx([0, -charge, charge], abs=1e-12)


def ended_count(before, after, ended):
    assert (ended.end > ended.start).all() and (ended.start >= ended.submit).all()
    return float(len(ended.job))


def test_ended_jobs():
    """A reward of three arguments gets each job that has ended, once."""
    trace = bfenv.make_trace([0, 0, 5, 30], [1, 1, 1, 1], [3, 3, 3, 3], 1)
    rewards, _ = play(whole(trace, reward=ended_count))
    assert rewards == [1, 1, 1, 0]


def test_dt():
    """The info says how long a step lasted."""
    env = BackfillEnv()
    _, info = env.reset(seed=0)
    before, dt = info["now"], info["dt"]
    assert dt == 0
    for _ in range(50):
        *_, info = env.step(int(info["action_mask"].argmax()))
        assert info["dt"] == info["now"] - before
        before = info["now"]


def passes_taken(before, after):
    return float(after.now - before.now)


def test_function():
    """A reward can be a function or the name of one."""
    for reward in (passes_taken, "tests.envs.test_reward:passes_taken"):
        env = whole(bfenv.make_trace([0, 0, 5], [1, 1, 1], [3, 3, 3], 1), reward=reward)
        rewards, _ = play(env)
        assert rewards == [3.0, 3.0, 0.0]


def test_no_number():
    """A reward function that returns no number is named as the cause."""
    env = whole(bfenv.make_trace([0, 0], [1, 1], [3, 3], 1), reward=lambda before, after: None)
    env.reset(seed=0)
    with pytest.raises(BfenvError, match="reward must return a number, got None"):
        env.step(0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_finite_number(value):
    """So is one that returns a number that a learner cannot use."""
    env = whole(bfenv.make_trace([0, 0], [1, 1], [3, 3], 1), reward=lambda before, after: value)
    env.reset(seed=0)
    with pytest.raises(BfenvError, match=f"reward must return a finite number, got {value}"):
        env.step(0)
