"""What tests of many environments share: short episodes, equal results, legal actions."""

import numpy as np

SHORT = {"window": 8, "episode_jobs": 12, "warmup_jobs": 20}


def same(one, other):
    """Equal in keys, types of arrays and every value, nested or not."""
    assert isinstance(other, type(one)), (type(one), type(other))
    if isinstance(one, dict):
        assert set(one) == set(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list) or (isinstance(one, np.ndarray) and one.dtype == object):
        assert len(one) == len(other)
        for mine, yours in zip(one, other, strict=True):
            same(mine, yours)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    else:
        assert one == other


def some_actions(masks, generator):
    """Mostly legal, now and then any."""
    legal = (generator.random(masks.shape) * masks).argmax(1)
    return np.where(generator.random(len(masks)) < 0.05, masks.shape[1] - 2, legal)
