"""Many Backfill-v0 environments at once behind Gymnasium's VectorEnv."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Unpack

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

import bfenv.envs.settings as st
from bfenv.core.arguments import check_choice
from bfenv.core.errors import BfenvError
from bfenv.envs.batch import EnvBatch, Observation
from bfenv.envs.batch_state import StepBuffers
from bfenv.envs.episode_source import check_options
from bfenv.envs.handle import EnvHandle
from bfenv.envs.rendering import render
from bfenv.envs.reward import INFO_KEYS, NO_METRICS, Info

StepResult = tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]
INFO_MASKS = tuple(f"_{key}" for key in INFO_KEYS)  # which environments have them


class BackfillVectorEnv(VectorEnv[Observation, np.ndarray, np.ndarray]):
    """Many environments that one kernel call steps; made by `gymnasium.make_vec`.

    Each behaves bit for bit like a `BackfillEnv` in a `gymnasium.vector.SyncVectorEnv` with the
    same `autoreset_mode`. The legal actions are `infos["action_mask"]`, (num_envs, actions) int8.

    Args:
        num_envs: How many environments.
        workload: As of `BackfillEnv`.
        autoreset_mode: What happens to an environment whose episode has ended. "same_step": it
            shows the first observation of its next episode; the last observation is then in
            `infos["final_obs"]`, the info with the metrics in `infos["final_info"]`. "next_step":
            it shows the last observation, and the next step resets it, whatever its action;
            Gymnasium's wrappers of vectors want this one, and `NumpyToTorch` among them also needs
            `pip install "gymnasium[torch]"`. "disabled": you reset it, with
            `reset(options={"reset_mask": ...})`.
        copy: If False, `reset` and `step` return the same arrays of observations each time, which
            the next call overwrites; it is a little faster.
        threads: How many threads step the environments. The results are the same. A second
            one pays from about 250 environments on.
        **settings: As of `BackfillEnv`.

    Raises:
        BfenvError: If a setting is wrong.

    Examples:
        >>> import gymnasium
        >>> import bfenv
        >>> envs = gymnasium.make_vec("Backfill-v0", num_envs=4, window=16)
        >>> observations, infos = envs.reset(seed=0)
        >>> observations["queue"].shape[:2], infos["action_mask"].shape
        ((4, 16), (4, 17))
        >>> observations, rewards, terminated, truncated, infos = envs.step(
        ...     infos["action_mask"].argmax(axis=1)
        ... )
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  declared by Gymnasium
        "render_modes": list(st.RENDER_MODES),
        "render_fps": st.FRAMES_PER_SECOND,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    @st.lists_settings
    def __init__(
        self,
        num_envs: int = 1,
        workload: st.Workloads | None = None,
        autoreset_mode: str | AutoresetMode = "same_step",
        copy: bool = True,
        threads: int = 1,
        **settings: Unpack[st.EnvSettings],
    ) -> None:
        mode = autoreset_mode
        if not isinstance(mode, AutoresetMode):
            check_choice("autoreset_mode", mode, [choice.name.lower() for choice in AutoresetMode])
            mode = AutoresetMode[mode.upper()]
        batch = EnvBatch(num_envs, workload, settings, threads)
        check_choice("copy", copy, (False, True))
        if not copy:
            batch.reuse_buffers()
        self.batch = batch
        self.autoreset_mode = mode
        self.metadata = {**self.metadata, "autoreset_mode": mode}
        self.num_envs = num_envs = len(batch)
        self.render_mode = batch.render_mode
        self.handles = [EnvHandle(batch, i) for i in range(num_envs)]
        self.single_action_space = self.batch.action_space
        self.single_observation_space = self.batch.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._buffers: StepBuffers | None = None  # of the last step
        self._sender: ThreadPoolExecutor | None = None  # of the steps that have been sent
        self._sent: Future[StepResult] | None = None
        self._over: list[int] = []  # environments whose episodes wait for their reset
        self._everywhere = np.ones(num_envs, dtype=np.bool_)  # the mask of what all infos have
        self._everywhere.flags.writeable = False
        metrics = _spread([NO_METRICS] * num_envs, range(num_envs), self._everywhere)
        for column in metrics.values():
            column.flags.writeable = False
        self._in_all: Info = {**dict.fromkeys(INFO_MASKS, self._everywhere), "metrics": metrics}

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Open an episode in every environment.

        Args:
            seed: The seed s of environment 0; environment i has s + i. Or a seed for each.
            options: `{"reset_mask": (num_envs,) bool}` resets only those environments.
                `BackfillEnv.reset` has the other options, which hold for every environment.

        Returns:
            tuple:
            * `observations`: As of `BackfillEnv.reset`, with num_envs in front of each shape.
            * `infos` (dict): Arrays of that length.

        Raises:
            BfenvError: If an option or the number of seeds is wrong, an episode leaves the split,
                or a step has been sent that has not been received. No episode is opened then.
            ResetNeeded: If the first reset is not of all environments.
        """
        self._check_received("reset")
        seeds = _seeds(seed, self.num_envs)
        options = dict(check_options(options))
        chosen = _reset_mask(options.pop("reset_mask", None), self.num_envs)
        if not (self.batch.ready or chosen.all()):
            raise ResetNeeded("the first reset must be of all environments")
        buffers, last = self.batch.new_buffers(), self._buffers
        if last is not None and last.queue is not buffers.queue:
            # Observations must not change once they are returned, so those that stay are copied.
            for part, earlier in zip(buffers[:3], last[:3], strict=True):
                part[:] = earlier
        opened = np.flatnonzero(chosen).tolist()
        for i in opened:
            self.batch.seed(i, seeds[i])
        self.batch.open_episodes(dict.fromkeys(opened, options), buffers)
        self._over = [i for i in self._over if not chosen[i]]
        self._buffers = buffers
        return self.batch.observations(buffers), self._infos(buffers, chosen)

    def step(self, actions: np.ndarray) -> StepResult:
        """Act in every environment; reset those whose episode is over, by `autoreset_mode`.

        Args:
            actions: (num_envs,) int

        Returns:
            tuple:
            * `observations`: As of `BackfillEnv.step`, with num_envs in front of each shape.
            * `rewards` (np.ndarray): (num_envs,) float64.
            * `terminated`, `truncated` (np.ndarray): (num_envs,) bool.
            * `infos` (dict): Arrays of that length.

        Raises:
            BfenvError: If the actions are anything else, or a step has been sent that has not been
                received.
            ResetNeeded: If an episode is over and `autoreset_mode` is "disabled".
        """
        self._check_received("step")
        return self._step(actions)

    def _step(self, actions: np.ndarray) -> StepResult:
        actions = check_actions(actions, self.num_envs)
        if self._over and self.autoreset_mode is AutoresetMode.DISABLED:
            raise ResetNeeded("an episode is over: reset it, or choose another autoreset_mode")
        buffers = self._buffers = self.batch.step(actions)
        if self._over:  # their actions are ignored
            self.batch.open_episodes(dict.fromkeys(self._over), buffers)
        rewards = self.batch.rewards(buffers, self._over)
        terminated, truncated = self.batch.endings(self.batch.totals)
        if self._over:
            for values in (rewards, terminated, truncated):
                values[self._over] = 0
        over = (terminated | truncated).nonzero()[0].tolist()
        finals = [self.batch.info(i, buffers) for i in over]
        more: dict[str, Any] = {}
        if over and self.autoreset_mode is AutoresetMode.SAME_STEP:
            pairs = zip(over, finals, strict=True)
            last = [
                {"final_obs": self.batch.observation(buffers, i), "final_info": info}
                for i, info in pairs
            ]
            present = np.zeros(self.num_envs, dtype=np.bool_)
            present[over] = True
            more = _spread(last, over, present)
            self.batch.open_episodes(dict.fromkeys(over), buffers)
        elif over:
            metrics = [NO_METRICS] * self.num_envs
            for i, info in zip(over, finals, strict=True):
                metrics[i] = info["metrics"]
            more["metrics"] = _spread(metrics, range(self.num_envs), self._everywhere)
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            self._over = over
        infos = {**self._infos(buffers, self._everywhere), **more}
        return self.batch.observations(buffers), rewards, terminated, truncated, infos

    def send(self, actions: np.ndarray) -> None:
        """Begin a step in another thread; `recv` returns what `step` would.

        Make two vectors, and let one step while a learner chooses the actions of the other.

        Args:
            actions: As of `step`.

        Raises:
            BfenvError: If a step has been sent that has not been received.
        """
        self._check_received("send")
        if self._sender is None:
            self._sender = ThreadPoolExecutor(1)
        self._sent = self._sender.submit(self._step, np.array(actions))

    def _check_received(self, call: str) -> None:
        """Check that no other thread steps the environments now."""
        if self._sent is not None:
            raise BfenvError(f"{call} needs a recv before it: a step has been sent already")

    def recv(self) -> StepResult:
        """Wait for the step that has been sent, and return what `step` returns.

        Raises:
            BfenvError: If there is none, and what `step` raises.
        """
        if self._sent is None:
            raise BfenvError("recv needs a send before it")
        sent, self._sent = self._sent, None
        return sent.result()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sender": None, "_sent": None}

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or read an attribute; return the results.

        Args:
            name: Of a method or an attribute of `bfenv.envs.handle.EnvHandle`.
            args, kwargs: Arguments of the method.
        """
        values = [getattr(handle, name) for handle in self.handles]
        return tuple(value(*args, **kwargs) if callable(value) else value for value in values)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return the values of an attribute, of every environment.

        Args:
            name: As of `call`.
        """
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every environment.

        Args:
            name: As of `call`.
            values: One value for all environments, or a list with one for each.

        Raises:
            AttributeError: If the attribute cannot be set: the environments share their settings.
            ValueError: If there are not as many values as environments.
        """
        assignments = values if isinstance(values, list | tuple) else [values] * self.num_envs
        for handle, value in zip(self.handles, assignments, strict=True):
            setattr(handle, name, value)

    def action_masks(self) -> np.ndarray:
        """Return (num_envs, actions) bool: which actions are legal now."""
        return np.array(self.batch._state.mask, dtype=np.bool_)

    @property  # type: ignore[misc]  # the base class has a setter
    def np_random(self) -> tuple[np.random.Generator | None, ...]:  # type: ignore[override]
        """The generators of the environments; a tuple, as in Gymnasium's SyncVectorEnv."""
        return tuple(self.batch.generators)

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:  # type: ignore[override]
        """The seeds of the generators; a tuple, as in Gymnasium's SyncVectorEnv."""
        return tuple(self.batch.seeds)

    def render(self) -> tuple[Any, ...]:
        """Return what `BackfillEnv.render` returns, for every environment."""
        return tuple(render(handle) for handle in self.handles)

    def _infos(self, buffers: StepBuffers, present: np.ndarray) -> dict[str, Any]:
        """Return the infos of the environments that are `present`, (num_envs,) bool; else zeros."""
        infos = self.batch.infos(buffers)
        if present is self._everywhere:
            return {**infos, **self._in_all}
        for column in infos.values():
            column[~present] = 0
        opened = np.flatnonzero(present).tolist()
        metrics = _spread([NO_METRICS] * len(opened), opened, present)
        return {**infos, "metrics": metrics, **dict.fromkeys(INFO_MASKS, present.copy())}


def _spread(infos: Sequence[Info], over: Sequence[int], present: np.ndarray) -> Info:
    """Return the infos of the environments `over` as arrays of all environments, zeros elsewhere.

    The result equals Gymnasium's `VectorEnv._add_info`, which takes about twice as long.
    """
    spread: Info = {}
    pairs = list(zip(over, infos, strict=True))
    for key, first in infos[0].items():
        column: Any
        if key == "final_obs":
            column = np.full(len(present), None, dtype=object)
        elif isinstance(first, dict):
            column = _spread([info[key] for info in infos], over, present)
        elif isinstance(first, np.ndarray):
            column = np.zeros((len(present), *first.shape), dtype=first.dtype)
        else:
            column = np.zeros(len(present), dtype=type(first))
        if isinstance(column, np.ndarray):
            for i, info in pairs:
                column[i] = info[key]
        spread[key], spread[f"_{key}"] = column, present
    return spread


def check_actions(actions: Any, count: int) -> np.ndarray:
    """Return the actions as (count,) int64.

    Raises BfenvError if they are anything but `count` integers.
    """
    array = np.asarray(actions)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise BfenvError(f"actions must be {count} integers, got {actions!r}")
    return np.array(array, dtype=np.int64)


def _reset_mask(mask: Any, count: int) -> np.ndarray:
    if mask is None:
        return np.ones(count, dtype=np.bool_)
    shaped = isinstance(mask, np.ndarray) and mask.shape == (count,) and mask.dtype == np.bool_
    if not shaped or not mask.any():
        raise BfenvError(f"reset_mask must be {count} bools with at least one True, got {mask!r}")
    return np.asarray(mask)


def _seeds(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    if seed is None:
        return [None] * count
    if isinstance(seed, np.ndarray):
        seed = seed.tolist()
    if isinstance(seed, int | np.integer):
        return [int(seed) + i for i in range(count)]
    if not isinstance(seed, Sequence) or isinstance(seed, str):
        raise BfenvError(f"seed must be an integer or a list of {count}, got {seed!r}")
    if len(seed) != count:
        raise BfenvError(f"seed must be one seed or {count}, got {len(seed)} seeds")
    return list(seed)
