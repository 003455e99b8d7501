"""Tianshou's vector environments and collectors."""

import gymnasium
import pytest

import bfenv  # noqa: F401  registers the environment

tianshou = pytest.importorskip("tianshou", reason="needs tianshou, tested with 2.0.1")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore"),  # its own
]

OPTIONS = {"window": 8, "episode_jobs": 20, "warmup_jobs": 20, "flat": True}


class WithMask(gymnasium.Wrapper):
    """Puts the mask where Tianshou reads it."""

    def reset(self, **options):
        observation, info = self.env.reset(**options)
        return self.masked(observation), info

    def step(self, action):
        observation, *rest = self.env.step(action)
        return self.masked(observation), *rest

    def masked(self, observation):
        return {"obs": observation, "mask": self.env.unwrapped.action_masks()}


def test_masked_q_learning():
    """A collector of masked Q-learning takes no illegal action."""
    import torch
    from tianshou.algorithm import DQN
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.utils.net.common import Net

    env = gymnasium.make("Backfill-v0", **OPTIONS)
    shape, count = env.observation_space.shape, env.action_space.n

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Net(state_shape=shape, action_shape=count, hidden_sizes=[16])

        def forward(self, obs, state=None, info=None):
            return self.net(getattr(obs, "obs", obs), state)

    envs = DummyVectorEnv([lambda: WithMask(gymnasium.make("Backfill-v0", **OPTIONS))] * 3)
    policy = DiscreteQLearningPolicy(model=Network(), action_space=env.action_space)
    learner = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3))
    collector = Collector(learner, envs, VectorReplayBuffer(600, 3))
    collector.reset()
    stats = collector.collect(n_step=150)
    assert stats.n_collected_steps >= 150
    assert all(one.illegal_actions == 0 for one in envs.get_env_attr("unwrapped"))
