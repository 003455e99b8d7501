"""Credit by comparison: what an action brought beyond what others made of the same jobs.

How large bounded slowdowns become depends far more on the jobs that arrive than on any action, and
no value function foresees them. So `group_size` environments play the same jobs, and the mean of
their rewards at the same times is the baseline: Mao et al., Variance reduction for reinforcement
learning in input-driven environments, 2019, whose scheduler Decima is trained like that. A value
function is not needed.
"""

import numpy as np

from bfenv.agents.training.settings import TrainSettings


def group_seeds(settings: TrainSettings, update: int) -> list[int]:
    """Return the seeds of the environments in an update, the same within a group."""
    generator = np.random.default_rng([settings.seed, update])
    seeds = generator.integers(2**31, size=settings.num_envs // settings.group_size)
    return np.repeat(seeds, settings.group_size).tolist()


def group_advantages(
    reward: np.ndarray, seconds: np.ndarray, over: np.ndarray, settings: TrainSettings
) -> tuple[np.ndarray, np.ndarray]:
    """Compare what followed each action with what the group got in the same time.

    With R(t) the rewards of an environment up to time t, and M(t) their mean over the group, the
    advantage of an action at time s is the sum of exp(-(t - s) / horizon) d(R - M)(t) over t > s.
    It ends with the rollout of any of the group that has not ended its episode.

    * `reward`, `seconds`, `over`: (T, N) of a rollout that the environments of each group began
      with episodes of the same jobs. What follows the first episode of an environment does not
      count.
    * `settings`: `group_size`, `horizon` and `reward_scale`.

    Returns (T, N) advantages, and which actions belong to first episodes.
    """
    reward, seconds = (part.astype(float) for part in (reward, seconds))
    before = np.zeros_like(over)  # whether the first episode ended before
    before[1:] = np.cumsum(over, axis=0)[:-1] > 0
    time, total = (
        np.concatenate([np.zeros((1, over.shape[1])), np.cumsum(np.where(before, 0, part), axis=0)])
        for part in (seconds, reward * settings.reward_scale)
    )
    advantage = np.zeros_like(reward)
    ended = np.asarray(over.any(axis=0))
    for first in range(0, over.shape[1], settings.group_size):
        own = slice(first, first + settings.group_size)
        cut = time[-1, own][~ended[own]].min(initial=np.inf)
        advantage[:, own] = _beyond_mean(
            np.minimum(time[:, own], cut), time[:, own], total[:, own], settings.horizon_seconds
        )[:-1]
    return advantage, ~before


def _beyond_mean(
    shown: np.ndarray, time: np.ndarray, total: np.ndarray, horizon: float
) -> np.ndarray:
    """Return what each of a group gets beyond the mean, discounted, from the times `shown` on.

    All arrays are (T, K): times in seconds, which do not fall, and the rewards up to them.
    """
    grid = np.unique(shown)
    curves = [np.interp(grid, each, own) for each, own in zip(time.T, total.T, strict=True)]
    gains = np.diff(np.stack(curves, axis=1), axis=0)
    gains -= gains.mean(axis=1, keepdims=True)
    decay = np.exp(-np.diff(grid) / horizon)
    left = np.zeros((len(grid), time.shape[1]))
    for k in reversed(range(len(gains))):
        left[k] = gains[k] + decay[k] * left[k + 1]
    rows = np.searchsorted(grid, shown)
    found: np.ndarray = np.take_along_axis(left, rows, axis=0)
    return found
