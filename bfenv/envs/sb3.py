"""Many Backfill-v0 environments at once behind stable-baselines3's VecEnv.

Needs stable-baselines3, which nothing else in bfenv imports.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

from bfenv.core.errors import BfenvError
from bfenv.envs.batch import FRAMES_PER_SECOND, RENDER_MODES, new_fleet, observation, shown
from bfenv.envs.episode import Report, View
from bfenv.envs.handle import Machine
from bfenv.envs.vector import whole_actions


class BackfillVecEnv(VecEnv):
    """`num_envs` environments that one kernel call steps, as stable-baselines3 wants them.

    Seeds, actions, observations, rewards and infos are those of as many `BackfillEnv` in a
    `DummyVecEnv`, bit by bit. `env_method("action_masks")` gives the legal actions, as MaskablePPO
    asks for them, `env_method("plan")` what `bfenv.agents.policy_agent` asks for.

    The settings are those of `BackfillEnv`.
    Raises BfenvError on a wrong setting.
    """

    def __init__(self, num_envs: int = 1, **settings: Any):
        self.fleet = new_fleet(num_envs, settings)
        self.machines = [Machine(self.fleet, i) for i in range(num_envs)]
        self._actions: np.ndarray | None = None
        super().__init__(num_envs, self.fleet.observation_space, self.fleet.action_space)
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": FRAMES_PER_SECOND}

    def reset(self) -> dict[str, np.ndarray]:
        """Open an episode in every environment, with the seeds and options set before."""
        view = self.fleet.new_view()
        for i in range(self.num_envs):
            self.fleet.seed(i, self._seeds[i])
            self._open(i, view, self._options[i])
        self._reset_seeds()
        self._reset_options()
        return observation(view)

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions, (num_envs,) int, of the step that `step_wait` makes."""
        self._actions = whole_actions(actions, self.num_envs)

    def step_wait(self):
        """Act in every environment; reset those whose episode is over."""
        view = self.fleet.step(self._actions)
        rewards = self.fleet.rewards(view.reports).astype(np.float32)
        report = Report(*view.reports.T)
        terminated, truncated = self.fleet.ends(report)
        dones = terminated | truncated
        columns = self.fleet.infos(report) | {"TimeLimit.truncated": truncated & ~terminated}
        masks = columns.pop("action_mask")
        rows = zip(masks, *(column.tolist() for column in columns.values()), strict=True)
        infos = [dict(zip(("action_mask", *columns), row, strict=True)) for row in rows]
        for i in np.flatnonzero(dones).tolist():
            infos[i] |= self.fleet.info(i, Report(*view.reports[i].tolist()))
            infos[i]["terminal_observation"] = shown(view, i)
            self._open(i, view)
        return observation(view), rewards, dones, infos

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of `bfenv.envs.handle.Machine`, of each environment asked for."""
        if attr_name == "render_mode":
            return [self.fleet.render_mode for _ in self._get_indices(indices)]
        return [getattr(self.machines[i], attr_name) for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not possible: the environments share their settings. Raises BfenvError."""
        raise BfenvError(f"{attr_name} cannot be set in one environment of a BackfillVecEnv")

    def env_method(self, method_name: str, *args, indices: Any = None, **kwargs) -> list[Any]:
        """Call a method of `bfenv.envs.handle.Machine`, of each environment asked for."""
        if method_name == "action_masks":
            masks = self.fleet.batch.mask.astype(bool)
            return [masks[i] for i in self._get_indices(indices)]
        machines = [self.machines[i] for i in self._get_indices(indices)]
        return [getattr(machine, method_name)(*args, **kwargs) for machine in machines]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """False: there is nothing to wrap."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray]:
        """(h, w, 3) uint8 of every environment."""
        return [machine.render() for machine in self.machines]

    def close(self) -> None:
        """Forget the pictures."""
        for machine in self.machines:
            machine.close()

    def _open(self, i: int, view: View, options: dict | None = None) -> None:
        self.fleet.open(i, view, options)
        self.reset_infos[i] = self.fleet.info(i, Report(*view.reports[i].tolist()))
