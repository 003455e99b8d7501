"""The referee's side of an agent that acts in another process.

The environment is here; the agent is sent what it may see, and answers with actions.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from bfenv.agents.agent_names import OpenAgent
from bfenv.agents.agent_policy import AgentCompetitor
from bfenv.agents.card import ACTING
from bfenv.agents.player import Played, check_legal, starts_of
from bfenv.agents.seen_jobs import decode_span
from bfenv.core.errors import PolicyError
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import EnvSettings
from bfenv.leaderboard.limits import DEFAULT_LIMITS, PlayerLimits
from bfenv_judge.players.player_process import PlayerError, PlayerProcess, shown
from bfenv_judge.players.remote_env import encode_observation, encode_space
from bfenv_judge.players.remote_policy import greet


class AgentGreeting(NamedTuple):
    """What a player declares of an agent."""

    stochastic: bool
    opened: OpenAgent  # which cannot be made here: its code is elsewhere


class RemoteAgent(AgentCompetitor):
    """An agent in a player that has been greeted; it plays one episode after the other.

    Args:
        process: Its player.
        opened: What the player declares.
    """

    def __init__(self, process: PlayerProcess, opened: OpenAgent) -> None:
        super().__init__(opened)
        self.process = process

    def play_episode(self, env: BackfillEnv, settings: EnvSettings, seed: int) -> Played:
        """Play one episode.

        Args:
            env, settings, seed: As of `AgentCompetitor.play_episode`.

        Raises:
            PolicyError: At the first illegal action, and if the player fails.
        """
        self.process.ask(
            {
                "message": "begin",
                "seed": seed,
                "window": env.window,
                "actions": int(env.batch.action_space.n),
                "observation_space": encode_space(env.observation_space),
                "settings": {key: value for key, value in settings.items() if key in ACTING},
            },
            self.process.limits.startup,
        )
        seconds: list[float] = []
        observation, info = env.reset(seed=seed)
        result, longest = (observation, 0.0, False, False, info), self.process.limits.startup
        while True:
            terminated, truncated = result[2:4]
            begin = time.perf_counter()
            reply = self.process.ask(_observation_message(*result), longest)
            if terminated or truncated:
                break
            seconds.append(time.perf_counter() - begin)
            slot = reply.get("action")
            if type(slot) is not int or abs(slot) >= 2**53:
                raise PolicyError(f"its action is not an integer: {shown(slot)}")
            now, longest = result[4]["now"], self.process.limits.decision
            result = env.step(slot)
            check_legal(result[4], slot, env.window, now)
        replaced = reply.get("replaced_actions", 0)
        replaced = replaced if type(replaced) is int and 0 <= replaced < 2**53 else 0
        return Played(result[4], starts_of(env), np.array(seconds), replaced)


def read_greeting(name: str, greeting: Mapping[str, Any]) -> AgentGreeting:
    """Read what a player declares of an agent.

    Raises PlayerError if it is not what docs/players.md says, or asks for more of its environment
    than how it sees and acts.
    """
    settings, spans = greeting.get("settings", {}), greeting.get("trained_on")
    stochastic = greeting.get("stochastic", True)
    if not (isinstance(settings, dict) and isinstance(stochastic, bool)):
        raise PlayerError("its greeting has settings or stochastic of another type")
    for setting in settings:
        if setting not in ACTING:
            raise PlayerError(f"it asks for the setting {setting[:60]!r}, which is not for agents")
    if not (spans is None or isinstance(spans, list)):
        raise PlayerError("its trained_on is not a list")
    trained_on = None if spans is None else [decode_span(span) for span in spans]

    def make(env: BackfillEnv, seed: int) -> Any:
        raise PlayerError("the agent is in another process")

    return AgentGreeting(stochastic, OpenAgent(name, make, settings, trained_on))


@contextmanager
def remote_agent(
    name: str, command: Sequence[str], limits: PlayerLimits = DEFAULT_LIMITS
) -> Iterator[RemoteAgent]:
    """Start the player of an agent, and stop it in the end.

    * `name`: of the agent, see `bfenv.agents.agent_names.read_agent`.
    * `command`: of its player.
    * `limits`: what the player may use.

    Raises PolicyError if the player fails.
    """
    with PlayerProcess(command, limits) as process:
        yield RemoteAgent(process, read_greeting(name, greet(process)).opened)


def _observation_message(
    observation: Any, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
) -> dict[str, Any]:
    mask = (info["action_mask"] + ord("0")).astype(np.uint8).tobytes().decode()
    left_out = {"action_mask"} if terminated or truncated else {"action_mask", "metrics"}
    return {
        "message": "observe",
        "observation": encode_observation(observation),
        "mask": mask,
        "reward": reward,
        "terminated": bool(terminated),
        "truncated": bool(truncated),
        "info": {key: value for key, value in info.items() if key not in left_out},
    }
