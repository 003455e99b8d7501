"""Illegal choices of models without masks are replaced by their best legal ones."""

import numpy as np
import pytest

from bfenv.agents.legal_choice import LegalChoice, ranks_actions
from bfenv.envs.backfill import BackfillEnv

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

OPTIONS = {"window": 4, "episode_jobs": 30, "warmup_jobs": 10}
SMALL = {"buffer_size": 100}
MODELS = [
    (sb3.PPO, "MultiInputPolicy", {"n_steps": 8, "batch_size": 8}),
    (sb3.A2C, "MultiInputPolicy", {}),
    (sb3.DQN, "MultiInputPolicy", SMALL),
    (contrib.QRDQN, "MultiInputPolicy", SMALL),
    (contrib.RecurrentPPO, "MultiInputLstmPolicy", {"n_steps": 8, "batch_size": 8}),
]


def ranks(model, observation, state, episode_start):
    """What the model likes, by its own functions for one action at a time or its own values."""
    tensors, _ = model.policy.obs_to_tensor(observation)
    with torch.no_grad():
        if isinstance(model, contrib.QRDQN):
            return model.quantile_net(tensors).mean(dim=1).numpy()[0]
        if isinstance(model, sb3.DQN):
            return model.q_net(tensors).numpy()[0]
        memory = ()
        if isinstance(model, contrib.RecurrentPPO):
            zeros = torch.zeros(model.policy.lstm_hidden_state_shape)
            state = (zeros, zeros) if state is None else tuple(map(torch.as_tensor, state))
            memory = (
                contrib.common.recurrent.type_aliases.RNNStates(state, state),
                torch.as_tensor(episode_start, dtype=torch.float32),
            )
        actions = range(model.action_space.n)
        return [
            model.policy.evaluate_actions(tensors, torch.tensor([a]), *memory)[1].item()
            for a in actions
        ]


@pytest.mark.parametrize(("algorithm", "policy", "options"), MODELS)
def test_best_legal(algorithm, policy, options):
    """A legal choice stands; an illegal one becomes the legal action of the highest rank."""
    env = BackfillEnv(**OPTIONS)
    model = algorithm(policy, env, seed=0, device="cpu", **options)
    agent, state, start = LegalChoice(model), None, np.array([True])
    assert ranks_actions(model) and not ranks_actions(env)
    generator = np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    replaced = 0
    for _ in range(12):
        masks = generator.random(5) < 0.4
        masks[generator.integers(5)] = True
        own, _ = model.predict(observation, state, start, deterministic=True)
        order = ranks(model, observation, state, start)
        action, state = agent.predict(observation, state, start, True, masks)
        if masks[own]:
            assert action == own
        else:
            assert action == max(np.flatnonzero(masks), key=lambda a: order[a])
            replaced += 1
        assert np.shape(action) == np.shape(own)
        start = np.array([False])
        observation, *_ = env.step(int(np.argmax(env.action_masks())))
    assert agent.replaced_actions == replaced > 0


def test_batch():
    """Each observation of a batch has its own mask."""
    env = BackfillEnv(**OPTIONS)
    model = sb3.PPO("MultiInputPolicy", env, n_steps=8, batch_size=8, seed=0, device="cpu")
    observation, _ = env.reset(seed=0)
    batch = {name: np.stack([part] * 5) for name, part in observation.items()}
    actions, _ = LegalChoice(model).predict(batch, action_masks=np.eye(5, dtype=bool))
    assert actions.tolist() == [0, 1, 2, 3, 4]
    free, _ = LegalChoice(model).predict(batch, deterministic=True)
    assert np.array_equal(free, model.predict(batch, deterministic=True)[0])
