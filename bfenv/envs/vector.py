"""Many Backfill-v0 environments at once behind Gymnasium's VectorEnv."""

from typing import Any, ClassVar

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from bfenv.core.errors import BfenvError
from bfenv.envs.batch import FRAMES_PER_SECOND, RENDER_MODES, new_fleet, observation, shown
from bfenv.envs.episode import Report, View
from bfenv.envs.handle import Machine


class BackfillVectorEnv(VectorEnv):
    """`num_envs` environments that one kernel call steps; made by `gymnasium.make_vec`.

    Seeds, actions, observations, rewards and infos are those of as many `BackfillEnv` in a
    `gymnasium.vector.SyncVectorEnv` with autoreset in the same step, bit by bit: an environment
    whose episode has ended shows the first observation of its next one; the last one of the old is
    in `infos["final_obs"]`, its info, with the metrics, in `infos["final_info"]`. The legal actions
    are `infos["action_mask"]`, (num_envs, window + 1) int8.

    The settings are those of `BackfillEnv`.
    Raises BfenvError on a wrong setting.
    """

    metadata: ClassVar = {
        "render_modes": list(RENDER_MODES),
        "render_fps": FRAMES_PER_SECOND,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(self, num_envs: int = 1, **settings: Any):
        self.fleet = new_fleet(num_envs, settings)
        self.num_envs = num_envs
        self.render_mode = self.fleet.render_mode
        self.machines = [Machine(self.fleet, i) for i in range(num_envs)]
        self.single_action_space = self.fleet.action_space
        self.single_observation_space = self.fleet.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
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
            self.fleet.seed(i, seeds[i])
            self.fleet.open(i, view, options)
        self._view = view
        return observation(view), self._infos(view, chosen)

    def step(self, actions: np.ndarray):
        """Act in every environment, (num_envs,) int; reset those whose episode is over."""
        view = self._view = self.fleet.step(whole_actions(actions, self.num_envs))
        rewards = self.fleet.rewards(view.reports)
        report = Report(*view.reports.T)
        terminated, truncated = self.fleet.ends(report)
        finals = {}
        for i in np.flatnonzero(terminated | truncated).tolist():
            info = self.fleet.info(i, Report(*view.reports[i].tolist()))
            final = {"final_obs": shown(view, i), "final_info": info}
            finals = self._add_info(finals, final, i)
            self.fleet.open(i, view)
        return observation(view), rewards, terminated, truncated, self._infos(view) | finals

    def action_masks(self) -> np.ndarray:
        """(num_envs, window + 1) bool: which actions are legal now."""
        return self.fleet.batch.mask.astype(bool)

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The generators of the environments."""
        return tuple(self.fleet.generators)

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seeds of these."""
        return tuple(self.fleet.seeds)

    def render(self) -> tuple:
        """What `BackfillEnv.render` gives, of every environment."""
        return tuple(machine.render() for machine in self.machines)

    def close_extras(self, **kwargs):
        """Forget the pictures."""
        for machine in self.machines:
            machine.close()

    def _infos(self, view: View, present: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """The infos, of all or of the environments that are `present`; zeros elsewhere."""
        columns = self.fleet.infos(Report(*view.reports.T))
        if present is None:
            present = np.ones(self.num_envs, dtype=np.bool_)
        else:
            for column in columns.values():
                column[~present] = 0
        return columns | {f"_{key}": present.copy() for key in columns}


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
