"""The environment that an agent gets in a player's process: what it may see, and nothing inside."""

from collections.abc import Callable
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
from gymnasium import spaces

from bfenv.agents.network_agent import decode_array, encode_array
from bfenv.core.errors import BfenvError
from bfenv.envs.reward import NO_METRICS
from bfenv.envs.settings import EnvSettings


class RemoteEnv(gymnasium.Env[Any, SupportsIndex]):
    """One episode of Backfill-v0 that the referee plays; this object only repeats messages.

    There is one episode, and every step counts: it cannot be reset again, and the environment
    cannot be copied.

    * `begin`: the message that begins the episode.
    * `exchange`: sends a reply and returns the next message. The first reply is that to `begin`.
    """

    def __init__(
        self, begin: dict[str, Any], exchange: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> None:
        self.settings: EnvSettings = begin["settings"]
        self.window = int(begin["window"])
        self.observation_space = decode_space(begin["observation_space"])
        self.action_space = spaces.Discrete(int(begin["actions"]))
        self._exchange = exchange
        self._mask = np.zeros(int(begin["actions"]), dtype=bool)
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Return the first observation and info of the episode.

        Raises BfenvError when called again: the episode is played once.
        """
        super().reset(seed=seed)
        if self._begun:
            raise BfenvError("the referee resets the environment, once: an agent may not")
        self._begun = True
        observation, _, _, _, info = self._read(self._exchange({}))
        return observation, info

    def step(self, action: SupportsIndex) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Send an action to the referee, and return what comes of it.

        Raises BfenvError before the episode has begun.
        """
        if not self._begun:
            raise BfenvError("call reset() before step()")
        return self._read(self._exchange({"action": int(np.asarray(action).reshape(()))}))

    def action_masks(self) -> np.ndarray:
        """Return (actions,) bool: which actions are legal; action `window` is the pass."""
        return self._mask.copy()

    def _read(self, message: dict[str, Any]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._mask = np.frombuffer(message["mask"].encode(), dtype=np.uint8) == ord("1")
        mask = self._mask.astype(np.int8)
        info = {"metrics": NO_METRICS.copy(), **message["info"], "action_mask": mask}
        endings = message["terminated"], message["truncated"]
        return decode_observation(message["observation"]), message["reward"], *endings, info

    def __reduce__(self) -> Any:
        """Refuse to be copied or pickled."""
        raise BfenvError("this environment has nothing inside that a copy could use")


def encode_observation(observation: Any) -> dict[str, Any]:
    """Return an observation, an array or arrays by name, as JSON has it."""
    if isinstance(observation, dict):
        return {name: encode_array(part) for name, part in observation.items()}
    return encode_array(observation)


def decode_observation(values: dict[str, Any]) -> Any:
    """Read what `encode_observation` returned."""
    if "float32" in values:
        return decode_array(values)
    return {name: decode_array(part) for name, part in values.items()}


def encode_space(space: spaces.Space[Any]) -> dict[str, Any]:
    """Return the bounds of an observation space as JSON has them."""
    if isinstance(space, spaces.Dict):
        return {name: encode_space(part) for name, part in space.items()}
    assert isinstance(space, spaces.Box), "environments have no other spaces"
    return {"low": encode_array(space.low), "high": encode_array(space.high)}


def decode_space(values: dict[str, Any]) -> spaces.Space[Any]:
    """Read what `encode_space` returned."""
    if "low" in values:
        return spaces.Box(decode_array(values["low"]), decode_array(values["high"]))
    return spaces.Dict({name: decode_space(part) for name, part in values.items()})
