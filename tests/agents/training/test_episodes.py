"""Environments of a training: played again, they are where they were; splits share no job."""

import numpy as np
import pytest

from bfenv.agents.seen_jobs import count_seen, spans_of
from bfenv.agents.training import change, find_settings
from bfenv.agents.training.episodes import Episodes, make_envs, separate_splits
from bfenv.agents.training.run_folder import Validation
from bfenv.core.errors import BfenvError
from bfenv.envs.episode_source import EpisodeSource
from bfenv.workloads.transform import split_range

pytestmark = pytest.mark.torch

LOADS = [0.7, 0.8, 0.9]
WORKLOADS = ["lublin:seed=0,jobs=4000", "lublin:seed=2,jobs=4000"]


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


def test_no_overlap():
    """The bounds of a split differ between loads; what is trained and validated on does not."""
    settings = change(find_settings("toy"), {"workload": WORKLOADS, "environment": {"load": LOADS}})
    train, validation = make_envs(settings).batch, Validation(settings).envs.batch
    traces = train.source.traces
    assert len({split_range(trace, "test") for trace in traces}) > len(WORKLOADS)
    for group in (slice(0, 3), slice(3, 6)):
        tests = [split_range(trace, "test") for trace in traces[group]]
        trained, validated = train.source.splits[group], validation.source.splits[group]
        assert len(set(trained)) == len(set(validated)) == 1
        assert trained[0][1] <= validated[0][0] < validated[0][1] <= min(tests)[0]
    for trace in traces:
        spans = spans_of(train) + spans_of(validation)
        assert count_seen(trace, *split_range(trace, "test"), spans) == 0
        assert count_seen(trace, *split_range(trace, "validation"), spans_of(train)) == 0


def test_episodes_stay_within():
    """Episodes are drawn from the narrowed split, up to its last job."""
    source = EpisodeSource("lublin:seed=0", LOADS, "validation", 300, 600)
    wide = list(source.splits)
    separate_splits(source)
    first, last = source.splits[0]
    assert (first, last) == (max(one[0] for one in wide), min(one[1] for one in wide))
    rng = np.random.default_rng(0)
    windows = [source.sample(rng) for _ in range(400)]
    assert min(window.opening for window in windows) == first
    assert max(window.last for window in windows) == last == max(w.end for w in windows)


def test_too_few():
    """A split that is too short once it is narrowed is an error."""
    source = EpisodeSource("lublin:seed=0", LOADS, "validation", 300, None)
    least = min(last - first for first, last in source.splits)
    source = EpisodeSource("lublin:seed=0", LOADS, "validation", 300, least - 300)
    with pytest.raises(BfenvError, match="too few"):
        separate_splits(source)
