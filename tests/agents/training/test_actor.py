"""The actors: the fast one computes what torch does, and actions are drawn by their probability."""

import numpy as np
import pytest
import torch

from bfenv.agents.training.actor import Actor, States, draw
from bfenv.agents.training.networks import MASKED, NETWORKS
from bfenv.agents.training.packed_passes import PackedActor, new_actor
from bfenv.envs.features import CLUSTER, JOB_LEGAL, JOB_PRESENT, PROFILE, QUEUE

pytestmark = pytest.mark.torch

COUNT, WINDOW = 40, 9


@pytest.fixture
def states():
    """Random states: the first has no job, the last a full window; jobs leave gaps."""
    rng = np.random.default_rng(5)
    queue = rng.random((COUNT, WINDOW, len(QUEUE)), dtype=np.float32)
    present = rng.random((COUNT, WINDOW)) < 0.7
    present[0], present[-1] = False, True
    legal = rng.random((COUNT, WINDOW)) < 0.6
    queue[:, :, JOB_PRESENT] = 1
    queue[:, :, JOB_LEGAL] = legal
    queue *= present[:, :, None]
    mask = np.concatenate([legal & present, rng.random((COUNT, 1)) < 0.5], axis=1)
    mask[:, -1] |= ~mask.any(axis=1)
    profile = rng.random((COUNT, len(PROFILE)), dtype=np.float32)
    cluster = rng.random((COUNT, len(CLUSTER)), dtype=np.float32)
    return States(queue, profile, cluster, mask)


def new_network(name):
    torch.manual_seed(1)
    network = NETWORKS[name](len(QUEUE), len(CLUSTER), hidden=13)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return network


@pytest.mark.parametrize("name", sorted(NETWORKS))
@pytest.mark.parametrize("size", [1, 2, 17, COUNT])
def test_packed(states, name, size):
    """Log-probabilities, entropies, values and all gradients are torch's, also of few states."""
    network, rng = new_network(name), np.random.default_rng(size)
    slow, fast = Actor(network), new_actor(network)
    slow.load(states)
    fast.load(states)
    assert type(fast) is PackedActor
    for _ in range(3):  # in the same memory
        chosen = rng.permutation(COUNT)[:size]
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in states.mask[chosen]])
        d_results = rng.normal(size=(3, size)).astype(np.float32)
        results, gradients = [], []
        for actor in (slow, fast):
            results.append(actor.evaluate(chosen, actions))
            actor.backward(*d_results)
            gradients.append([weight.grad.clone() for weight in network.parameters()])
        for expected, found in zip(*results, strict=True):
            assert np.allclose(found, expected, rtol=1e-5, atol=1e-5)
        largest = max(float(each.abs().max()) for each in gradients[0])
        for expected, found in zip(*gradients, strict=True):
            assert torch.allclose(found, expected, rtol=1e-4, atol=1e-6 * largest)


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_scores(states, name):
    """Scores of legal actions and values are those of the network, for states in any order."""
    network, chosen = new_network(name), np.random.default_rng(0).permutation(COUNT)[:11]
    with torch.no_grad():
        scores, values = network(*(torch.from_numpy(part[chosen]) for part in states[:3]))
    own, own_values = new_actor(network).score(states, chosen)
    legal = states.mask[chosen]
    assert np.allclose(own[legal], scores.numpy()[legal], atol=1e-5)
    assert (scores.numpy()[:, :-1][legal[:, :-1]] != MASKED).all()
    assert np.allclose(own_values, values.numpy(), atol=1e-5)


def test_draw(states):
    """The share of random numbers that lead to an action is its probability."""
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=2, size=(COUNT, WINDOW + 1)).astype(np.float32)
    count = 4000
    uniform = (np.arange(count) + 0.5) / count
    uniform[0], uniform[-1] = 0.0, np.nextafter(1, 0)  # the first and the last legal action
    actions, log_probs = np.empty(count, np.int64), np.empty(count, np.float32)
    for row in range(COUNT):
        weights = np.where(states.mask[row], np.exp(scores[row].astype(float)), 0)
        expected = weights / weights.sum()
        chosen = np.full(count, row)
        draw(scores[chosen], states.mask, chosen, uniform, actions, log_probs)
        shares = np.bincount(actions, minlength=WINDOW + 1) / count
        assert np.abs(shares - expected).max() <= 1 / count + 1e-9
        assert np.allclose(np.exp(log_probs), expected[actions], rtol=1e-5)
