"""Many Backfill-v0 environments at once behind stable-baselines3's VecEnv.

This module needs stable-baselines3; no other module of bfenv imports it when it is loaded.
"""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

import bfenv.envs.settings as st
from bfenv.core.errors import BfenvError
from bfenv.envs.batch import EnvBatch, Observation
from bfenv.envs.handle import EnvHandle
from bfenv.envs.rendering import render
from bfenv.envs.reward import rows_of
from bfenv.envs.vector import check_actions


class BackfillVecEnv(VecEnv):
    """`num_envs` environments that one kernel call steps, for stable-baselines3.

    Each behaves bit for bit like a `BackfillEnv` in a `DummyVecEnv`: seeds, actions, observations,
    rewards and infos are the same. `env_method("action_masks")` returns the legal actions, which
    MaskablePPO reads; `get_attr` and `env_method` reach every member of
    `bfenv.envs.handle.EnvHandle`.

    Wrap it in `VecMonitor` to see `ep_rew_mean` in the log of a training.

    `BackfillEnv` describes the workload and the settings.

    Raises BfenvError if a setting is wrong.
    """

    @st.lists_settings
    def __init__(
        self,
        num_envs: int = 1,
        workload: st.Workloads | None = None,
        **settings: Unpack[st.EnvSettings],
    ) -> None:
        self.batch = EnvBatch(num_envs, workload, settings)
        self.handles = [EnvHandle(self.batch, i) for i in range(num_envs)]
        self._actions: np.ndarray | None = None
        super().__init__(num_envs, self.batch.observation_space, self.batch.action_space)
        self.metadata: dict[str, Any] = {
            "render_modes": list(st.RENDER_MODES),
            "render_fps": st.FRAMES_PER_SECOND,
        }

    def reset(self) -> Observation:
        """Open an episode in every environment, with the seeds and options set before.

        Raises BfenvError if an option is wrong, or an episode leaves the split; no episode is
        opened then.
        """
        buffers = self.batch.new_buffers()
        for i in range(self.num_envs):
            self.batch.seed(i, self._seeds[i])
        self.batch.open_episodes(dict(enumerate(self._options)), buffers)
        for i in range(self.num_envs):
            self.reset_infos[i] = self.batch.info(i, buffers)
        self._reset_seeds()
        self._reset_options()
        return self.batch.observations(buffers)

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions, (num_envs,) int, for `step_wait`."""
        self._actions = check_actions(actions, self.num_envs)

    def step_wait(self) -> tuple[Observation, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Act in every environment; reset those whose episode is over."""
        if self._actions is None:
            raise BfenvError("step_wait needs a step_async before it")
        buffers = self.batch.step(self._actions)
        rewards = self.batch.rewards(buffers).astype(np.float32)
        terminated, truncated = self.batch.endings(self.batch.totals)
        dones = terminated | truncated
        infos = rows_of(self.batch.infos(buffers), truncated & ~terminated)
        for i in dones.nonzero()[0].tolist():
            infos[i] |= self.batch.info(i, buffers)
            infos[i]["terminal_observation"] = self.batch.observation(buffers, i)
            self.batch.open_episodes({i: None}, buffers)
            self.reset_infos[i] = self.batch.info(i, buffers)
        return self.batch.observations(buffers), rewards, dones, infos

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of `bfenv.envs.handle.EnvHandle`, of each environment asked for."""
        return [getattr(self.handles[i], attr_name) for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise BfenvError: the environments share their settings."""
        raise BfenvError(f"{attr_name} cannot be set in one environment of a BackfillVecEnv")

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method of `bfenv.envs.handle.EnvHandle`, of each environment asked for."""
        if method_name == "action_masks":
            masks = self.batch._state.mask.astype(bool)
            return list(masks if indices is None else masks[list(self._get_indices(indices))])
        handles = [self.handles[i] for i in self._get_indices(indices)]
        return [getattr(handle, method_name)(*args, **kwargs) for handle in handles]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return False for each environment: none is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return the (h, w, 3) uint8 image of every environment."""
        return [render(handle) for handle in self.handles]

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
