"""The schedule that an agent makes of a whole trace, in one episode of the environment."""

from typing import NamedTuple

import numpy as np

from bfenv.agents.agent_names import WHOLE_TRACE, open_agent, read_agent
from bfenv.agents.player import Played, play
from bfenv.core.jobs import Trace, make_trace
from bfenv.core.schedule import Schedule
from bfenv.envs.backfill import BackfillEnv
from bfenv.players.remote_agent import RemoteAgent, play_remotely

NOTES = ("decisions", "outside_window", "replaced_actions")  # see `agent_schedule`


class AgentRun(NamedTuple):
    """What an agent made of a trace."""

    schedule: Schedule
    seconds: np.ndarray  # (decisions,) float64, how long each took
    notes: dict[str, float]  # numbers for the row's metrics


def agent_schedule(
    trace: Trace, name: str, seed: int, remote: RemoteAgent | None = None
) -> AgentRun:
    """Run an agent on a whole trace, from an empty machine, in one episode.

    The notes are the decisions, the share of them at which jobs waited outside the window, and how
    many illegal choices of a model without masks were replaced by legal ones.

    * `trace`: the jobs; there are no others.
    * `name`: see `bfenv.agents.agent_names.read_agent`.
    * `seed`: for the environment, for agents that take one, and for models that sample actions.
    * `remote`: the agent in its player; None for bfenv's own agents.

    Raises PolicyError at the first illegal action that cannot be replaced, and if a player fails.
    Raises BfenvError if there is no such agent, a saved model does not fit the environment, or the
    agent was trained on some of the jobs.
    """
    played = _play(trace, name, seed) if remote is None else play_remotely(trace, remote, seed)
    notes = (
        float(len(played.seconds)),
        played.info["metrics"]["outside_window"],
        float(played.replaced_actions),
    )
    return AgentRun(
        played.times.schedule(trace, name, seed),
        played.seconds,
        dict(zip(NOTES, notes, strict=True)),
    )


def _play(trace: Trace, name: str, seed: int) -> Played:
    """Let an agent of bfenv's own play in this process."""
    opened = open_agent(name)
    opened.check_unseen(trace)
    env = BackfillEnv(trace, **opened.settings_with(WHOLE_TRACE))
    agent = opened.make(env, seed)
    return play(env, agent, seed, deterministic=read_agent(name).deterministic, strict=True)


def warm_environment() -> None:
    """Compile what an episode needs, or load its compiled code."""
    env = BackfillEnv(make_trace([0], [1], [1], 1), **WHOLE_TRACE)
    env.reset(seed=0)
    env.step(0)
