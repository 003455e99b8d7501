"""Gymnasium's wrappers and vector environments."""

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.vector import AutoresetMode

import bfenv  # noqa: F401  registers the environment

pytestmark = pytest.mark.usefixtures("compiled_environments")

OPTIONS = {"window": 8, "episode_jobs": 20, "warmup_jobs": 20}
LOW, HIGH = np.float32(-1), np.float32(1)

WRAPPERS = {
    "FlattenObservation": wrappers.FlattenObservation,
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "TimeLimit": lambda env: wrappers.TimeLimit(env, 15),
    "NormalizeReward": wrappers.NormalizeReward,
    "ClipReward": lambda env: wrappers.ClipReward(env, -1, 1),
    "FilterObservation": lambda env: wrappers.FilterObservation(env, ["queue", "cluster"]),
    "NormalizeObservation": lambda env: wrappers.NormalizeObservation(
        wrappers.FlattenObservation(env)
    ),
    "FrameStackObservation": lambda env: wrappers.FrameStackObservation(
        wrappers.FlattenObservation(env), 3
    ),
    "TimeAwareObservation": lambda env: wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 50)),
    "RescaleObservation": lambda env: wrappers.RescaleObservation(
        wrappers.FlattenObservation(env), LOW, HIGH
    ),
    "Autoreset": wrappers.Autoreset,
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers(name):
    """Observations of the wrapped environment are in its space, through several episodes."""
    env = WRAPPERS[name](gymnasium.make("Backfill-v0", **OPTIONS))
    observation, info = env.reset(seed=0)
    episodes = 0
    for _ in range(250):
        assert observation in env.observation_space
        action = int(np.argmax(info["action_mask"]))
        observation, reward, terminated, truncated, info = env.step(action)
        assert np.isfinite(reward)
        if terminated or truncated:
            episodes += 1
            if name != "Autoreset":
                observation, info = env.reset()
    assert episodes > 1


def make_vec(form, mode):
    if form == "vector_entry_point":
        vector = {"autoreset_mode": mode}
    else:
        vector = {"vector_kwargs": {"autoreset_mode": mode}}
    return gymnasium.make_vec(
        "Backfill-v0", num_envs=3, vectorization_mode=form, **vector, **OPTIONS
    )


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("form", ["sync", "vector_entry_point"])
def test_autoreset(form, mode):
    """Every mode plays several episodes with legal actions, as Gymnasium defines it."""
    envs = make_vec(form, mode)
    assert envs.metadata["autoreset_mode"] is mode
    _, info = envs.reset(seed=0)
    masks, episodes, over = info["action_mask"].copy(), 0, np.zeros(3, dtype=bool)
    for _ in range(400):
        actions = masks.argmax(axis=1)
        _, _, terminated, truncated, info = envs.step(actions)
        acted = ~over if mode is AutoresetMode.NEXT_STEP else np.ones(3, dtype=bool)
        if "illegal_action" in info:
            assert not np.asarray(info["illegal_action"])[acted].any()
        over = terminated | truncated
        masks = info["action_mask"].copy()
        episodes += int(over.sum())
        if mode is AutoresetMode.DISABLED and over.any():
            _, info = envs.reset(options={"reset_mask": over})
            masks[over] = info["action_mask"][over]
    assert episodes >= 6


VECTOR_WRAPPERS = {
    "RecordEpisodeStatistics": wrappers.vector.RecordEpisodeStatistics,
    "DictInfoToList": wrappers.vector.DictInfoToList,
    "NormalizeObservation": wrappers.vector.NormalizeObservation,
    "NormalizeReward": wrappers.vector.NormalizeReward,
    "RescaleObservation": lambda envs: wrappers.vector.RescaleObservation(envs, LOW, HIGH),
    "TransformObservation": lambda envs: wrappers.vector.TransformObservation(
        envs, lambda observations: observations
    ),
    "ClipReward": lambda envs: wrappers.vector.ClipReward(envs, -1, 1),
}


@pytest.mark.parametrize("name", VECTOR_WRAPPERS)
def test_vector_wrappers(name):
    """The wrappers of vectors take the environments in next-step mode."""
    flat = wrappers.vector.FlattenObservation(make_vec("vector_entry_point", "next_step"))
    envs = VECTOR_WRAPPERS[name](flat)
    envs.reset(seed=0)
    for _ in range(60):
        observations, rewards, *_ = envs.step(np.zeros(3, dtype=np.int64))
        assert observations.shape == envs.observation_space.shape
        assert np.isfinite(rewards).all()


@pytest.mark.torch
def test_numpy_to_torch():
    """NumpyToTorch takes the environments with observations by part, and hands on the masks."""
    pytest.importorskip("array_api_compat", reason="needs gymnasium[torch], tested with 1.16.0")
    import torch
    from gymnasium.wrappers.vector import NumpyToTorch

    envs = NumpyToTorch(make_vec("vector_entry_point", "next_step"))
    _, infos = envs.reset(seed=0)
    for _ in range(60):
        actions = infos["action_mask"].to(torch.int64).argmax(dim=1)
        observations, rewards, *_, infos = envs.step(actions)
        assert observations["queue"].shape == envs.observation_space["queue"].shape
        assert torch.isfinite(rewards).all() and (infos["illegal_actions"] == 0).all()
