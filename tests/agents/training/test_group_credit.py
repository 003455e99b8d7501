"""Credit by comparison: the same jobs in a group, and advantages beyond the group's mean."""

import math

import numpy as np
import pytest

from bfenv.agents.training import change, find_settings
from bfenv.agents.training.episodes import Episodes, make_envs
from bfenv.agents.training.group_credit import group_advantages, group_seeds

pytestmark = pytest.mark.torch

IN_PAIRS = {"credit": "group", "group_size": 2, "num_envs": 4, "num_steps": 48}


def test_slow_version():
    """Advantages equal sums over the group's events, up to where a rollout stops early."""
    rng = np.random.default_rng(3)
    steps, count, horizon = 12, 4, 30.0
    seconds = rng.integers(1, 6, (steps, count)).astype(float)
    reward = rng.normal(size=(steps, count))
    over = np.zeros((steps, count), bool)
    over[8, 0] = over[11, 1] = over[5, 3] = True  # the third goes on
    settings = change(
        find_settings("toy"),
        {"credit": "group", "group_size": 4, "num_envs": 4, "horizon": horizon},
    )
    advantage, known = group_advantages(reward, seconds, over, settings)
    rates = np.zeros((int(seconds.sum()), count))  # of rewards, in each second
    starts = np.zeros((steps, count), int)
    for i in range(count):
        at = 0
        for t in range(steps):
            starts[t, i] = at
            if over[:t, i].any():
                continue
            rates[at : at + int(seconds[t, i]), i] = reward[t, i] / seconds[t, i]
            at += int(seconds[t, i])
    cut = int(seconds[:, 2].sum())  # the third is followed no longer
    beyond = rates - rates.mean(axis=1, keepdims=True)
    lengths = [int(seconds[: 1 + int(over[:, i].argmax()), i].sum()) for i in (0, 1, 3)]
    events = sorted({min(at, cut) for at in [*starts.ravel().tolist(), *lengths, cut]})
    for i in range(count):
        for t in range(steps):
            assert known[t, i] == (not over[:t, i].any())
            begin, expected = min(int(starts[t, i]), cut), 0.0
            for k in range(len(events) - 1):
                if known[t, i] and events[k] >= begin:
                    gain = beyond[events[k] : events[k + 1], i].sum()
                    expected += math.exp(-(events[k] - begin) / horizon) * gain
            if known[t, i]:
                assert advantage[t, i] == pytest.approx(expected, abs=1e-5)


def test_same_jobs():
    """A group plays the same jobs, other groups play others, and each update others again."""
    settings = change(find_settings("toy"), IN_PAIRS)
    episodes = Episodes(make_envs(settings))
    windows = []
    for number in range(2):
        episodes.reset(group_seeds(settings, number))
        windows.append([handle.episode_jobs for handle in episodes.envs.handles])
    for first, second, third, fourth in windows:
        assert first == second and third == fourth and first != third
    assert windows[0] != windows[1]
