"""Environments of a training: played again, they are where they were."""

import numpy as np
import pytest

from bfenv.agents.training import change, find_settings
from bfenv.agents.training.episodes import Episodes, make_envs

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("before", [0, 7, 200])
def test_restore(before):
    """Restored environments go on exactly as those that were saved, into the next episodes."""
    settings = change(find_settings("toy"), {"num_envs": 5})
    first = Episodes(make_envs(settings))
    first.reset(3)
    rng = np.random.default_rng(0)
    for _ in range(before):
        first.step(random_actions(first, rng))
    second = Episodes(make_envs(settings))
    second.restore(first.state())
    seed, ended = rng.integers(1000), 0
    one, other = np.random.default_rng(seed), np.random.default_rng(seed)
    for _ in range(150):
        assert np.array_equal(first.mask, second.mask)
        for key, part in first.observation.items():
            assert np.array_equal(part, second.observation[key]), key
        a = first.step(random_actions(first, one))
        b = second.step(random_actions(second, other))
        assert np.array_equal(a.reward, b.reward)
        assert a.metrics == b.metrics
        ended += len(a.metrics)
    assert ended >= 5
    assert first.state()["generators"] == second.state()["generators"]


def random_actions(episodes, rng):
    return (episodes.mask * rng.random(episodes.mask.shape)).argmax(axis=1)
