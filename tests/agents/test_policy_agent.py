"""Policies and agents are evaluated by the same function."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import bfenv
from bfenv import agents, baselines
from bfenv.agents import PolicyAgent
from bfenv.core.cluster import start, waiting
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.sb3 import BackfillVecEnv
from bfenv.envs.vector import BackfillVectorEnv

OPTIONS = {"episode_jobs": 40, "warmup_jobs": 40}


def test_evaluate_policy_runs_a_policy_and_its_score_is_that_of_the_metric():
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


def test_evaluate_policy_runs_many_environments_at_once():
    env = DummyVecEnv([lambda: Monitor(gymnasium.make("Backfill-v0", **OPTIONS))] * 3)
    env.seed(1)
    mean, _ = evaluate_policy(PolicyAgent("fcfs", env), env, n_eval_episodes=6)
    env.seed(1)
    better, _ = evaluate_policy(PolicyAgent("easy", env), env, n_eval_episodes=6)
    assert mean < better < 0


def vectors():
    """Every kind of vector of three environments that a policy can act in."""
    yield BackfillVectorEnv(3, **OPTIONS)
    yield SyncVectorEnv([lambda: gymnasium.make("Backfill-v0", **OPTIONS)] * 3)
    yield VecMonitor(BackfillVecEnv(3, **OPTIONS))
    yield DummyVecEnv([lambda: Monitor(gymnasium.make("Backfill-v0", **OPTIONS))] * 3)


@pytest.mark.parametrize("agent", [lambda env: PolicyAgent("easy", env), agents.ALL["random"]])
def test_an_agent_acts_alike_in_every_kind_of_vector(agent):
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


def test_an_environment_of_another_process_or_kind_is_refused():
    with pytest.raises(bfenv.PolicyError, match="no Backfill-v0 environments of this process"):
        PolicyAgent("easy", gymnasium.make("CartPole-v1"))


def test_the_random_agent_takes_legal_actions_only():
    env = Monitor(gymnasium.make("Backfill-v0", **OPTIONS))
    agent = agents.ALL["random"](env, seed=1)
    observation, _ = env.reset(seed=0)
    done = False
    while not done:
        observation, _, done, _, info = env.step(agent.predict(observation)[0])
    assert info["illegal_actions"] == 0
    evaluate_policy(agent, env, n_eval_episodes=1)


def test_a_window_shorter_than_the_queue_is_all_that_a_policy_sees():
    trace = bfenv.make_trace([0, 1, 1, 1], [2, 2, 2, 1], [9, 9, 9, 2], 3)
    for window, begins in ((2, 18), (3, 1)):
        env = BackfillEnv(trace, window=window, episode_jobs=None, warmup_jobs=0, split="all")
        agent = PolicyAgent("easy", env)
        observation, _ = env.reset(seed=0)
        done = False
        while not done:
            observation, _, done, _, _ = env.step(agent.predict(observation)[0])
        assert env.cluster.start[3] == begins


def test_policies_that_no_agent_can_be_are_refused():
    env = BackfillEnv()
    with pytest.raises(bfenv.PolicyError, match="trial"):
        PolicyAgent(bfenv.Policy("p", None, trials=True), env)
    with pytest.raises(bfenv.PolicyError, match="every_pass=True"):
        PolicyAgent(bfenv.Policy("p", None, stateful=True), env)
    PolicyAgent(bfenv.Policy("p", None, stateful=True), BackfillEnv(every_pass=True))
    with pytest.raises(bfenv.UnknownNameError):
        PolicyAgent("esay", env)


def test_an_illegal_start_of_a_policy_is_an_error_and_leaves_the_machine_alone():
    def greedy(cluster, jobs, memory):
        for job in waiting(cluster):
            start(cluster, jobs, job)

    trace = bfenv.make_trace([0, 0], [1, 1], [1, 1], 1)
    env = BackfillEnv(trace, episode_jobs=None, warmup_jobs=0, split="all")
    observation, _ = env.reset(seed=0)
    with pytest.raises(bfenv.PolicyError, match="illegal start of job 1"):
        PolicyAgent(bfenv.Policy("greedy", greedy), env).predict(observation)
    assert waiting(env.cluster).tolist() == [0, 1]


def test_every_registered_policy_has_a_name_a_summary_and_a_source():
    for name, policy in baselines.ALL.items():
        assert name == policy.name
        assert policy.summary and policy.source
    assert np.all([not name.startswith("easy(") for name in baselines.ALL])
