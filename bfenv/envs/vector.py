"""Many Backfill-v0 environments at once behind Gymnasium's VectorEnv (envs layer)."""

from typing import Any, ClassVar

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from bfenv.core.errors import BfenvError
from bfenv.envs.episode import Report, View
from bfenv.envs.fleet import FRAMES_PER_SECOND, RENDER_MODES, new_fleet, whole
from bfenv.envs.machine import Machine


class BackfillVectorEnv(VectorEnv):
    """`num_envs` environments that one kernel call steps; made by `gymnasium.make_vec`.

    Seeds, actions, observations, rewards and infos are those of as many `BackfillEnv` in a
    `gymnasium.vector.SyncVectorEnv` with autoreset in the same step, bit by bit: an environment
    whose episode has ended shows the first observation of its next one; the last one of the old is
    in `infos["final_obs"]`, its info, with the metrics, in `infos["final_info"]`. The legal actions
    are `infos["action_mask"]`, (num_envs, window + 1) int8.

    The settings are those of `BackfillEnv`; `max_episode_steps` truncates episodes, if given.
    Raises BfenvError on a wrong setting.
    """

    metadata: ClassVar = {
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(self, num_envs: int = 1, *, max_episode_steps: int | None = None, **settings: Any):
        self.fleet = new_fleet(num_envs, settings)
        self.num_envs = num_envs
        self.render_mode = self.fleet.render_mode
        self.machines = [Machine(self.fleet, i) for i in range(num_envs)]
        self.single_action_space = self.fleet.action_space
        self.single_observation_space = self.fleet.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._most_steps = most_steps(max_episode_steps)
        self._generators, self._seeds = [None] * num_envs, [None] * num_envs
        self._view: View | None = None

    def reset(self, *, seed: int | list[int | None] | None = None, options: dict | None = None):
        """Open an episode in every environment; a seed s is s + i for environment i.

        options={"reset_mask": (num_envs,) bool} resets only those; the others go on. The other
        options are those of `BackfillEnv.reset`, for every environment.
        """
        seeds = _seeds(seed, self.num_envs)
        options = dict(options or {})
        chosen = _chosen(options.pop("reset_mask", None), self.num_envs)
        if not (self.fleet.ready or chosen.all()):
            raise ResetNeeded("the first reset is of all environments")
        # What was shown must not change, so what does not is copied.
        old = self._view or self.fleet.new_view()
        view = View(*(part.copy() for part in old))
        for i in np.flatnonzero(chosen).tolist():
            if seeds[i] is not None or self._generators[i] is None:
                self._generators[i], self._seeds[i] = np_random(seeds[i])
            self.fleet.open(i, self._generators[i], options)
            self.fleet.look(i, view)
        self._view = view
        return observations(view), self._infos(view, chosen)

    def step(self, actions: np.ndarray):
        """Act in every environment, (num_envs,) int; reset those whose episode is over."""
        view = self._view = self.fleet.step(whole_actions(actions, self.num_envs))
        rewards = self.fleet.rewards(view.reports)
        report = Report(*view.reports.T)
        terminated = report.unstarted == 0
        truncated = report.steps >= self._most_steps
        over = np.flatnonzero(terminated | truncated)
        finals = {}
        for i in over.tolist():
            finals = self._add_info(finals, self._final(view, i), i)
            self.fleet.open(i, self._generators[i])
            self.fleet.look(i, view)
        return observations(view), rewards, terminated, truncated, self._infos(view) | finals

    def action_masks(self) -> np.ndarray:
        """(num_envs, window + 1) bool: which actions are legal now."""
        return self.fleet.batch.mask.astype(bool)

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The generators of the environments."""
        return tuple(self._generators)

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seeds of these."""
        return tuple(self._seeds)

    def render(self) -> tuple:
        """What `BackfillEnv.render` gives, of every environment."""
        return tuple(machine.render() for machine in self.machines)

    def close_extras(self, **kwargs):
        """Forget the pictures."""
        for machine in self.machines:
            machine.close()

    def _final(self, view: View, i: int) -> dict[str, Any]:
        """The last observation and info of an episode, as of a single environment."""
        info = self.fleet.info(i, Report(*view.reports[i].tolist()))
        observation = {key: part[i].copy() for key, part in observations(view).items()}
        return {"final_obs": observation, "final_info": info}

    def _infos(self, view: View, present: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """The infos, of all or of the environments that are `present`; zeros elsewhere."""
        report = Report(*view.reports.T)
        columns = {
            "action_mask": self.fleet.batch.mask.copy(),
            "now": report.now.astype(np.int64),
            "illegal_action": report.offence > 0,
            "illegal_actions": report.illegal.astype(np.int64),
            "forced_starts": report.forced.astype(np.int64),
        }
        if present is None:
            present = np.ones(self.num_envs, dtype=np.bool_)
        else:
            for column in columns.values():
                column[~present] = 0
        return columns | {f"_{key}": present.copy() for key in columns}


def observations(view: View) -> dict[str, np.ndarray]:
    """What is shown of all environments, by the keys of the observation space."""
    return {"queue": view.queue, "profile": view.profile, "cluster": view.cluster}


def most_steps(limit: int | None) -> float:
    """After how many steps an episode is truncated; infinity for None."""
    if limit is None:
        return np.inf
    whole("max_episode_steps", limit, 1)
    return limit


def whole_actions(actions: Any, count: int) -> np.ndarray:
    """(count,) int64; raises BfenvError for anything else."""
    array = np.asarray(actions)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise BfenvError(f"actions are {count} whole numbers, not {actions!r}")
    return array.astype(np.int64)


def _chosen(mask: Any, count: int) -> np.ndarray:
    if mask is None:
        return np.ones(count, dtype=np.bool_)
    shaped = isinstance(mask, np.ndarray) and mask.shape == (count,) and mask.dtype == np.bool_
    if not shaped or not mask.any():
        raise BfenvError(f"reset_mask is an array of {count} bools, one True at least: {mask!r}")
    return mask


def _seeds(seed: Any, count: int) -> list[int | None]:
    if seed is None:
        return [None] * count
    if isinstance(seed, int | np.integer):
        return [int(seed) + i for i in range(count)]
    if len(seed) != count:
        raise BfenvError(f"{len(seed)} seeds for {count} environments")
    return list(seed)
