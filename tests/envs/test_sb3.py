"""The VecEnv: single environments in a DummyVecEnv, bit for bit; learning, saving, evaluating."""

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import TimeLimit
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

import bfenv
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.sb3 import BackfillVecEnv
from tests.envs.vectors import SHORT, same, some_actions


def twins(count, steps=None, **settings):
    settings = settings | {"max_episode_steps": steps}
    return BackfillVecEnv(count, **settings), DummyVecEnv([lambda: BackfillEnv(**settings)] * count)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("steps", "settings"),
    [
        (None, SHORT),
        (11, SHORT | {"reservations": 1}),
        (None, SHORT | {"load": (0.6, 0.9), "reward": "wait"}),
    ],
)
def test_steps(steps, settings):
    """Every step is that of single environments, bit for bit."""
    mine, yours = twins(6, steps, **settings)
    generator = np.random.default_rng(0)
    for env in (mine, yours):
        env.seed(5)
    same(mine.reset(), yours.reset())
    ends = 0
    for step in range(500):
        if step >= 150 and ends > 20:
            break
        masks = np.stack(mine.env_method("action_masks"))
        assert np.array_equal(masks, np.stack(yours.env_method("action_masks")))
        actions = some_actions(masks, generator)
        results = [env.step(actions) for env in (mine, yours)]
        for one, other in zip(*results, strict=True):
            same(
                dict(one) if hasattr(one, "keys") else one,
                dict(other) if hasattr(other, "keys") else other,
            )
        same(mine.reset_infos, yours.reset_infos)
        ends += int(results[0][2].sum())
    assert ends > 20


def test_options():
    """Options and seeds are for the next reset only."""
    mine, yours = twins(2, **SHORT)
    for env in (mine, yours):
        env.seed(1)
        env.set_options({"first_job": 50})
    for _ in range(2):
        same(mine.reset(), yours.reset())
    assert mine.get_attr("episode_jobs") == [env.episode_jobs for env in yours.envs]


def test_attributes():
    """Attributes and methods are those of the environments asked for."""
    env = BackfillVecEnv(3, **SHORT)
    env.seed(0)
    env.reset()
    assert len(env.env_method("action_masks")) == 3
    assert len(env.env_method("action_masks", indices=[1])) == 1
    assert env.get_attr("window", 2) == [8]
    assert env.env_is_wrapped(TimeLimit) == [False] * 3
    with pytest.raises(bfenv.BfenvError, match="window cannot be set in one environment"):
        env.set_attr("window", 4)
    with pytest.raises(AttributeError, match="widnow"):
        env.get_attr("widnow")


def test_reset_needed():
    """A step needs a reset that did not fail."""
    env = BackfillVecEnv(2, **SHORT)
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(2, dtype=int))
    env.set_options({"first_job": 0})
    with pytest.raises(bfenv.BfenvError, match="first_job"):
        env.reset()
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(2, dtype=int))


@pytest.mark.compiled
def test_maskable_ppo(tmp_path):
    """MaskablePPO learns, is evaluated, saved and loaded."""
    env = VecNormalize(VecMonitor(BackfillVecEnv(4, **SHORT)), norm_obs=False)
    judge = VecNormalize(
        VecMonitor(BackfillVecEnv(2, split="test", **SHORT)), norm_obs=False, training=False
    )
    model = MaskablePPO("MultiInputPolicy", env, n_steps=32, batch_size=64, seed=0)
    before = [parameter.clone() for parameter in model.policy.parameters()]
    callback = MaskableEvalCallback(
        judge, eval_freq=32, n_eval_episodes=2, best_model_save_path=str(tmp_path), verbose=0
    )
    model.learn(256, callback)
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters(), strict=True))
    assert env.get_attr("illegal_actions") == [0] * 4
    assert len(model.ep_info_buffer) > 0
    model.save(tmp_path / "model")
    env.save(str(tmp_path / "normalize.pkl"))
    loaded = MaskablePPO.load(tmp_path / "model", env=BackfillVecEnv(4, **SHORT))
    loaded.learn(128)
    VecNormalize.load(str(tmp_path / "normalize.pkl"), BackfillVecEnv(4, **SHORT))
    assert (tmp_path / "best_model.zip").exists()
    mean, _ = evaluate_policy(loaded, VecMonitor(BackfillVecEnv(2, **SHORT)), n_eval_episodes=4)
    assert np.isfinite(mean) and mean != 0


def test_images():
    """Images are tiled."""
    env = BackfillVecEnv(2, render_mode="rgb_array", **SHORT)
    env.reset()
    images = env.get_images()
    assert env.render().shape == (images[0].shape[0] * 2, images[0].shape[1], 3)
    env.close()
    env.close()
