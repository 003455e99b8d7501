"""The networks: permuting the slots permutes the scores, and NumPy computes the same."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from bfenv.agents.network_agent import forward
from bfenv.agents.training.actor import Actor, States, draw
from bfenv.agents.training.adam import EPSILON, Adam
from bfenv.agents.training.networks import MASKED, NETWORKS, best_actions
from bfenv.agents.training.packed_passes import PackedActor, new_actor
from bfenv.envs.features import CLUSTER, JOB_LEGAL, JOB_PRESENT, PROFILE, QUEUE

pytestmark = pytest.mark.torch

BATCH, WINDOW = 7, 9


@pytest.fixture(params=sorted(NETWORKS))
def network(request):
    torch.manual_seed(1)
    network = NETWORKS[request.param](len(QUEUE), len(CLUSTER), hidden=16)
    for parameter in network.parameters():  # not the small ones of the last layer
        torch.nn.init.normal_(parameter, std=0.4)
    return network


@pytest.fixture
def states():
    """Random observations; the first has no job, the last a full window."""
    rng = np.random.default_rng(5)
    queue = rng.random((BATCH, WINDOW, len(QUEUE)), dtype=np.float32)
    count = np.array([0, *rng.integers(1, WINDOW, BATCH - 2), WINDOW])
    present = np.arange(WINDOW) < count[:, None]
    queue[:, :, JOB_PRESENT] = 1
    queue[:, :, JOB_LEGAL] = rng.random((BATCH, WINDOW)) < 0.6
    queue *= present[:, :, None]
    profile = rng.random((BATCH, len(PROFILE)), dtype=np.float32)
    return queue, profile, rng.random((BATCH, len(CLUSTER)), dtype=np.float32)


def scores_of(network, queue, profile, cluster):
    with torch.no_grad():
        scores, values = network(*map(torch.from_numpy, (queue, profile, cluster)))
    return scores.numpy(), values.numpy()


def test_equivariance(network, states):
    """Permuting the slots permutes the scores of the jobs; pass and value stay."""
    queue, profile, cluster = states
    order = np.random.default_rng(0).permutation(WINDOW)
    scores, values = scores_of(network, queue, profile, cluster)
    permuted, same = scores_of(network, queue[:, order], profile, cluster)
    assert np.allclose(permuted[:, :-1], scores[:, order], atol=1e-5)
    assert np.allclose(permuted[:, -1], scores[:, -1], atol=1e-5)
    assert np.allclose(same, values, atol=1e-5)
    assert len(np.unique(scores[-1, :-1][scores[-1, :-1] != MASKED])) > 1


def test_context(network, states):
    """The score of a job depends on the other jobs and on the cluster."""
    queue, profile, cluster = states
    legal = int(np.flatnonzero(queue[-1, :, JOB_LEGAL])[0])
    before, _ = scores_of(network, queue, profile, cluster)
    other = (legal + 1) % WINDOW
    changed = queue.copy()
    changed[-1, other, 2:] += 0.5
    assert scores_of(network, changed, profile, cluster)[0][-1, legal] != before[-1, legal]
    assert scores_of(network, queue, profile, cluster + 1)[0][-1, legal] != before[-1, legal]


def test_masks(network, states):
    """Only legal starts have scores, and the best action is legal."""
    queue, profile, cluster = states
    scores, _ = scores_of(network, queue, profile, cluster)
    assert np.array_equal(scores[:, :-1] != MASKED, queue[:, :, JOB_LEGAL] == 1)
    mask = np.concatenate([queue[:, :, JOB_LEGAL] == 1, np.ones((BATCH, 1), bool)], axis=1)
    mask[:, -1] = ~mask[:, :-1].any(axis=1)
    observation = {"queue": queue, "profile": profile, "cluster": cluster}
    actions = best_actions(network, observation, mask)
    assert mask[np.arange(BATCH), actions].all()


def test_batches(network, states):
    """States do not see each other: each alone has the scores that it has among others."""
    scores, values = scores_of(network, *states)
    for i in range(BATCH):
        alone, value = scores_of(network, *(part[i : i + 1] for part in states))
        assert np.allclose(alone[0], scores[i], atol=1e-5)
        assert np.allclose(value, values[i], atol=1e-5)


def test_numpy(network, states):
    """`network_agent.forward` computes the same without torch."""
    scores, values = scores_of(network, *states)
    ours, own_values = forward(
        {name: w.numpy() for name, w in network.state_dict().items()}, *states
    )
    legal = scores != MASKED
    assert np.array_equal(np.isfinite(ours), legal)
    assert np.allclose(ours[legal], scores[legal], atol=1e-4)
    assert np.allclose(own_values, values, atol=1e-4)


def test_steps():
    """Weights are those of torch's Adam with clipped gradients, also after the rate changes."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    other = copy.deepcopy(network)
    own = Adam(network, 0.01, max_norm=0.5)
    torchs = torch.optim.Adam(other.parameters(), 0.01, eps=EPSILON)
    shortened = []
    for k in range(60):
        own.rate = torchs.param_groups[0]["lr"] = 0.01 / (1 + k)
        x = torch.randn(16, 4)
        for each in (network, other):
            for weight in each.parameters():
                weight.grad.zero_() if weight.grad is not None else None
            (0.8**k * each(x).square().sum()).backward()
        shortened.append(bool(nn.utils.clip_grad_norm_(other.parameters(), 0.5) > 0.5))
        own.step()
        torchs.step()
    assert 0 < sum(shortened) < 60
    for weight, expected in zip(network.parameters(), other.parameters(), strict=True):
        assert torch.allclose(weight, expected, rtol=1e-4, atol=1e-6)


COUNT, PACKED_WINDOW = 40, 9


@pytest.fixture
def many_states():
    """Random states: the first has no job, the last a full window; jobs leave gaps."""
    rng = np.random.default_rng(5)
    queue = rng.random((COUNT, PACKED_WINDOW, len(QUEUE)), dtype=np.float32)
    present = rng.random((COUNT, PACKED_WINDOW)) < 0.7
    present[0], present[-1] = False, True
    legal = rng.random((COUNT, PACKED_WINDOW)) < 0.6
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
def test_packed(many_states, name, size):
    """Log-probabilities, entropies, values and all gradients are torch's, also of few states."""
    network, rng = new_network(name), np.random.default_rng(size)
    slow, fast = Actor(network), new_actor(network)
    slow.load(many_states)
    fast.load(many_states)
    assert type(fast) is PackedActor
    for _ in range(3):  # in the same memory
        chosen = rng.permutation(COUNT)[:size]
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in many_states.mask[chosen]])
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
def test_scores(many_states, name):
    """Scores of legal actions and values are those of the network, for states in any order."""
    network, chosen = new_network(name), np.random.default_rng(0).permutation(COUNT)[:11]
    with torch.no_grad():
        scores, values = network(*(torch.from_numpy(part[chosen]) for part in many_states[:3]))
    own, own_values = new_actor(network).score(many_states, chosen)
    legal = many_states.mask[chosen]
    assert np.allclose(own[legal], scores.numpy()[legal], atol=1e-5)
    assert (scores.numpy()[:, :-1][legal[:, :-1]] != MASKED).all()
    assert np.allclose(own_values, values.numpy(), atol=1e-5)


def test_draw(many_states):
    """The share of random numbers that lead to an action is its probability."""
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=2, size=(COUNT, PACKED_WINDOW + 1)).astype(np.float32)
    count = 4000
    uniform = (np.arange(count) + 0.5) / count
    uniform[0], uniform[-1] = 0.0, np.nextafter(1, 0)  # the first and the last legal action
    actions, log_probs = np.empty(count, np.int64), np.empty(count, np.float32)
    for row in range(COUNT):
        weights = np.where(many_states.mask[row], np.exp(scores[row].astype(float)), 0)
        expected = weights / weights.sum()
        chosen = np.full(count, row)
        draw(scores[chosen], many_states.mask, chosen, uniform, actions, log_probs)
        shares = np.bincount(actions, minlength=PACKED_WINDOW + 1) / count
        assert np.abs(shares - expected).max() <= 1 / count + 1e-9
        assert np.allclose(np.exp(log_probs), expected[actions], rtol=1e-5)
