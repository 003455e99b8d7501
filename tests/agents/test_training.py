"""Learning on the environment with the libraries it is made for; mirrors no module."""

import gymnasium
import numpy as np
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor

import bfenv  # noqa: F401  registers the environment

OPTIONS = {"window": 8, "episode_jobs": 20, "warmup_jobs": 20}


def test_maskable_ppo():
    """MaskablePPO learns from masked steps and is evaluated."""
    env = make_vec_env("Backfill-v0", n_envs=2, seed=0, env_kwargs=OPTIONS)
    model = MaskablePPO("MultiInputPolicy", env, n_steps=32, batch_size=32, seed=0)
    before = [parameter.clone() for parameter in model.policy.parameters()]
    model.learn(128)
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters(), strict=True))
    judge = Monitor(gymnasium.make("Backfill-v0", split="test", **OPTIONS))
    judge.reset(seed=0)
    mean, _ = evaluate_policy(model, judge, n_eval_episodes=2)
    assert mean < 0
    assert judge.get_wrapper_attr("illegal_actions") == 0


def test_masks():
    """Masks are read through wrappers."""
    env = Monitor(gymnasium.make("Backfill-v0", **OPTIONS))
    _, info = env.reset(seed=0)
    masks = env.get_wrapper_attr("action_masks")()
    assert masks.dtype == bool
    assert np.array_equal(masks, info["action_mask"].astype(bool))
