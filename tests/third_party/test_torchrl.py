"""TorchRL's environments, masks and collectors."""

import gymnasium
import pytest

import bfenv  # noqa: F401  registers the environment

torchrl = pytest.importorskip("torchrl", reason="needs torchrl, tested with 0.14.1")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore"),  # its own
]

OPTIONS = {"window": 8, "episode_jobs": 20, "warmup_jobs": 20}


def test_gym_env():
    """GymEnv makes the environment, and its specs hold."""
    from torchrl.envs import GymEnv, check_env_specs

    env = GymEnv("Backfill-v0", **OPTIONS)
    check_env_specs(env)
    assert env.rollout(5).batch_size == (5,)


def test_action_mask():
    """ActionMask keeps random actions legal."""
    import torch
    from torchrl.data import Binary, Composite
    from torchrl.envs import ActionMask, GymEnv, TransformedEnv
    from torchrl.envs.gym_like import default_info_dict_reader

    env = GymEnv("Backfill-v0", categorical_action_encoding=True, **OPTIONS)
    spec = Composite(action_mask=Binary(n=9, dtype=torch.bool, shape=(9,)))
    env.set_info_dict_reader(default_info_dict_reader(["action_mask"], spec=spec))
    played = TransformedEnv(env, ActionMask()).rollout(60)
    legal = played["action_mask"].gather(-1, played["action"].unsqueeze(-1))
    assert legal.all() and len(played) > 10


def test_vector():
    """GymWrapper takes the environments of make_vec in same-step mode, through episodes' ends."""
    from torchrl.envs import GymWrapper

    envs = gymnasium.make_vec(
        "Backfill-v0", num_envs=3, vectorization_mode="vector_entry_point", **OPTIONS
    )
    played = GymWrapper(envs).rollout(300, break_when_any_done=False)
    assert played.batch_size == (3, 300) and played["next", "done"].any()
