"""Policies and agents are evaluated by the same function."""

from itertools import product

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from hypothesis import given, settings
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import bfenv
from bfenv import agents
from bfenv.agents import PolicyAgent
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.sb3 import BackfillVecEnv
from bfenv.envs.vector import BackfillVectorEnv
from tests.conftest import small_traces
from tests.envs.playing import play, whole

pytestmark = pytest.mark.usefixtures("compiled_environments")

OPTIONS = {
    "episode_jobs": 40,
    "warmup_jobs": 40,
    "reservations": 0,
    "idle": "allowed",
    "reward": "bounded_slowdown",
}


def test_evaluate_policy():
    """`evaluate_policy` runs a policy, and its score is the metric."""
    env = Monitor(gymnasium.make("Backfill-v0", **OPTIONS))
    env.reset(seed=3)
    rewards, _ = evaluate_policy(
        PolicyAgent("easy", env), env, n_eval_episodes=3, return_episode_rewards=True
    )
    twin = BackfillEnv(**OPTIONS)
    twin.reset(seed=3)
    for reward in rewards:
        agent = PolicyAgent("easy", twin)
        observation, _ = twin.reset()
        done = False
        while not done:
            observation, _, done, _, info = twin.step(agent.predict(observation)[0])
        # what Monitor adds up is rounded to six digits
        assert -reward == pytest.approx(info["metrics"]["mean_bounded_slowdown"], abs=1e-5)


def vectors():
    """Every kind of vector of three environments that a policy can act in."""
    yield BackfillVectorEnv(3, **OPTIONS)
    yield SyncVectorEnv([lambda: gymnasium.make("Backfill-v0", **OPTIONS)] * 3)
    yield VecMonitor(BackfillVecEnv(3, **OPTIONS))
    yield DummyVecEnv([lambda: Monitor(gymnasium.make("Backfill-v0", **OPTIONS))] * 3)


@pytest.mark.parametrize("agent", [lambda env: PolicyAgent("easy", env), agents.ALL["random"]])
def test_vectors(agent):
    """An agent takes the same actions in every kind of vector."""
    actions = []
    for env in vectors():
        if hasattr(env, "seed"):
            env.seed(5)
            observation = env.reset()
        else:
            observation, _ = env.reset(seed=5)
        player, taken = agent(env), []
        for _ in range(30):
            taken.append(player.predict(observation)[0].tolist())
            observation = env.step(np.array(taken[-1]))[0]
        actions.append(taken)
    assert actions[1:] == actions[:-1]


def test_window():
    """A policy sees no more than the window, which a start refills."""
    trace = bfenv.make_trace([0, 1, 1, 1], [2, 2, 2, 1], [9, 9, 9, 2], 3)
    for window, begins in ((2, 9), (3, 1)):
        env = whole(trace, window=window, window_order="oldest")
        play(env, PolicyAgent("easy", env))
        assert env.cluster.start[3] == begins


@pytest.mark.compiled
def test_overload():
    """With the default window EASY loses little on an overloaded trace."""
    trace = bfenv.load_workload("lublin:procs=64,jobs=2000,load=1.3,seed=1")
    env = whole(trace, window=64, idle="never", reservations=1)
    _, info = play(env, PolicyAgent("easy", env))
    assert info["metrics"]["outside_window"] > 0.5
    easy = bfenv.metrics(bfenv.simulate(trace, "easy"))
    assert info["metrics"]["mean_bounded_slowdown"] < 1.5 * easy["mean_bounded_slowdown"]


CHOICES = [
    {"reservations": 0, "idle": "allowed"},
    {"reservations": "chosen", "idle": "allowed"},
    {"reservations": "chosen", "idle": "never"},
]


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        *product(["easy", "easy-saf", "easy-lxf"], CHOICES),
        ("easy", {"reservations": 1, "idle": "never"}),
    ],
)
@settings(max_examples=25)
@given(trace=small_traces(jobs=10))
def test_replay(trace, policy, options):
    """EASY replays; in any order with a chosen head, even if it must not idle."""
    env = whole(trace, window=10, **options)
    _, info = play(env, PolicyAgent(policy, env))
    assert env.cluster.start.tolist() == bfenv.simulate(trace, policy).start.tolist()
    assert info["illegal_actions"] == info["forced_starts"] == 0


def test_forbidden_start():
    """A start that the reservations forbid is left out, and counted."""
    # Job 1 needs the whole machine; the policy would start job 2 before it, at 1 s and at 5 s.
    trace = bfenv.make_trace([0, 1, 1], [1, 2, 1], [5, 9, 20], 2)
    env = whole(trace, reservations=1)
    agent = PolicyAgent("queue(order=sqf)", env)
    play(env, agent)
    assert env.cluster.start.tolist() == [0, 5, 14] and agent.replaced_actions == 2


def test_forbidden_pass():
    """Where the pass is illegal and no head forbids all starts, the first legal start is made."""
    trace = bfenv.make_trace([0, 1, 1], [1, 2, 1], [9, 9, 2], 2)
    env = whole(trace, idle="never")
    agent = PolicyAgent("fcfs", env)
    play(env, agent)
    assert env.cluster.start.tolist() == [0, 9, 1] and agent.replaced_actions == 1


@pytest.mark.parametrize("policy", ["agent:formula", "conservative"])
def test_defaults(policy):
    """Policies with a memory take legal actions by default, even if they do not see all jobs."""
    env = BackfillEnv(window=8, episode_jobs=60)
    agent = PolicyAgent(policy, env)
    for seed in range(3):
        _, info = play(env, agent, seed)
        assert info["illegal_actions"] == info["forced_starts"] == 0


def test_refused():
    """Policies that cannot act are refused."""
    env = BackfillEnv()
    with pytest.raises(bfenv.PolicyError, match="trial"):
        PolicyAgent(bfenv.Policy("p", None, trials=True), env)
    with pytest.raises(bfenv.UnknownNameError):
        PolicyAgent("esay", env)


def test_failing_policy():
    """A policy that raises is named, with the line."""

    def decide(cluster, jobs, memory):
        raise KeyError("job")

    crash = bfenv.Policy(name="crash", decide=decide)
    env = BackfillEnv(episode_jobs=10, idle="every_pass")
    env.reset(seed=0)
    with pytest.raises(bfenv.PolicyError, match=r"crash failed, KeyError.*\(test_policy_agent.py"):
        PolicyAgent(crash, env).predict({"cluster": np.zeros(1)})
