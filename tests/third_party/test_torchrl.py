"""TorchRL's wrapper of many environments."""

import gymnasium
import pytest

import bfenv  # noqa: F401  registers the environment

torchrl = pytest.importorskip("torchrl", reason="needs torchrl, tested with 0.14.1")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore"),  # its own
]

OPTIONS = {"window": 8, "episode_jobs": 20, "warmup_jobs": 20}


def test_vector():
    """GymWrapper takes the environments of make_vec, and resets them itself at episodes' ends."""
    import torch
    from torchrl.envs import GymWrapper

    envs = gymnasium.make_vec(
        "Backfill-v0", 3, "vector_entry_point", autoreset_mode="disabled", **OPTIONS
    )
    wrapped = GymWrapper(envs)
    wrapped.set_seed(0)
    torch.manual_seed(0)
    played = wrapped.rollout(300, break_when_any_done=False)
    assert played.batch_size == (3, 300) and played["next", "done"].any()
