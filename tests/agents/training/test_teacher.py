"""The teacher: its choices are the policy's, and a network learns them."""

import numpy as np
import pytest

import bfenv
from bfenv.agents.training import change, find_settings, ppo
from bfenv.agents.training.episodes import Episodes, make_envs
from bfenv.agents.training.networks import best_actions
from bfenv.agents.training.rollout import new_rollout
from bfenv.agents.training.teacher import Teacher
from bfenv.envs import BackfillVectorEnv

pytestmark = pytest.mark.torch


def test_schedule():
    """Where nothing is forbidden, the teacher's schedule is that of `simulate`."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=120")
    env = {"window": 120, "split": "all", "episode_jobs": None, "warmup_jobs": 0}
    envs = BackfillVectorEnv(1, trace, "disabled", head="chosen", reservation_depth=0, **env)
    envs.reset(seed=0)
    teacher = Teacher("easy-saf", envs)
    over = [False]
    while not over[0]:
        actions, known = teacher.act(envs.action_masks())
        assert known.all()
        _, _, over, _, _ = envs.step(actions.numpy())
    start = envs.handles[0].cluster.start
    assert np.array_equal(start[: len(trace)], bfenv.simulate(trace, "easy-saf").start)


def test_forbidden():
    """Where the policy's start is illegal, a legal one is taken, and not learned."""
    changes = {"head": "oldest", "reservation_depth": 1, "max_age": None}
    settings = change(find_settings("toy"), {"environment": changes})
    episodes = Episodes(make_envs(settings))
    episodes.reset(0)
    teacher = Teacher("easy-lqf", episodes.envs)
    unknown = 0
    for _ in range(300):
        actions, known = teacher.act(episodes.mask)
        assert episodes.mask[np.arange(len(actions)), actions].all()
        unknown += int((~known).sum())
        episodes.step(actions.numpy())
    assert unknown > 0


def test_imitation():
    """After the warm start the network takes the policy's side far more often than before."""
    changes = {"warm_start": "easy-saf", "warm_start_steps": 8192, "num_steps": 64}
    settings = change(find_settings("toy"), {**changes, "environment": {"max_age": None}})
    episodes = Episodes(make_envs(settings))
    episodes.reset(0)
    learner = ppo.new_learner(settings, episodes.envs.batch)
    network = learner.network
    before = agreement(network, settings)
    ppo.imitate(learner, episodes, new_rollout(settings, episodes))
    after = agreement(network, settings)
    assert after > 2 * before > 0
    assert after > 0.6


def agreement(network, settings):
    """The share of choices, of other episodes, in which the network agrees with the policy."""
    episodes = Episodes(make_envs(settings))
    episodes.reset(1000)
    teacher, same, count = Teacher("easy-saf", episodes.envs), 0, 0
    for _ in range(60):
        actions, _ = teacher.act(episodes.mask)
        choice = episodes.mask.sum(axis=1) > 1
        own = best_actions(network, episodes.observation, episodes.mask)
        same += int((own == actions.numpy())[choice].sum())
        count += int(choice.sum())
        episodes.step(actions.numpy())
    return same / count
