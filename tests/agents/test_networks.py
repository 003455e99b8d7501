"""The networks: permuting the slots permutes the scores, and NumPy computes the same."""

import numpy as np
import pytest
import torch

from bfenv.agents.network_agent import forward
from bfenv.agents.networks import MASKED, NETWORKS
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
    """Only legal starts have scores."""
    queue, profile, cluster = states
    scores, _ = scores_of(network, queue, profile, cluster)
    assert np.array_equal(scores[:, :-1] != MASKED, queue[:, :, JOB_LEGAL] == 1)


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
