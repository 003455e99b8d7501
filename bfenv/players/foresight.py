"""Whether a competitor of a leaderboard foresees what it cannot know, tested on the first jobs.

The test is the one that `bfenv check` makes of policies: runtimes of unfinished jobs and jobs to
come are changed, and no decision made before may change. A competitor that knows a public trace by
heart passes it, because its decisions do not depend on the trace that is run.
"""

from collections.abc import Callable, Sequence
from functools import partial

from bfenv.agents.agent_names import WHOLE_TRACE, open_agent, read_agent
from bfenv.agents.card import acting_settings
from bfenv.agents.player import play
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import simulate
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import EnvSettings
from bfenv.players.limits import DEFAULT, PlayerLimits
from bfenv.players.player_process import PlayerKilledError, PlayerProcess
from bfenv.players.remote_agent import RemoteAgent, play_in, whole_trace_settings
from bfenv.players.remote_policy import declared_flags, greet, policy_of
from bfenv.testing.probes import find_foresight, first_difference

JOBS = 60  # the first of the trace
INSTANTS = 3  # at which the rest is changed
NONE_FOUND = "none found"
NOT_CHECKED = "not checked: "  # and the reason


def foresight_of(
    name: str, command: Sequence[str], trace: Trace, seed: int, limits: PlayerLimits = DEFAULT
) -> str:
    """Return what a policy in a player foresees on the first jobs of a trace, in one line.

    Parameters
    ----------
    name, command
        Of the policy, and of its player.
    trace, seed
        Of its row.
    limits
        What the player may use.

    Returns
    -------
    str
        NONE_FOUND, NOT_CHECKED with the reason, or what its decisions depend on.

    Raises
    ------
    PlayerKilledError
        If the player is killed meanwhile, which need not be its fault.
    """

    def check() -> str:
        with PlayerProcess(command, limits) as process:
            policy = policy_of(process, name, declared_flags(greet(process)))
            return _find(trace, lambda other: simulate(other, policy, seed))

    return _or_why_not(check)


def foresight_of_agent(name: str, trace: Trace, seed: int, remote: RemoteAgent | None) -> str:
    """Return what an agent foresees on the first jobs of a trace, in one line.

    Parameters
    ----------
    name
        Of the agent.
    trace, seed
        Of its row.
    remote
        The agent in its player; None for bfenv's own agents.

    Returns
    -------
    str
        As of `foresight_of`.

    Raises
    ------
    PlayerKilledError
        As of `foresight_of`.
    """

    def check() -> str:
        play = _own_agent if remote is None else partial(_remote_agent, remote)
        return _find(trace, play(name, trace, seed))

    return _or_why_not(check)


def _or_why_not(check: Callable[[], str]) -> str:
    try:
        return check()
    except PlayerKilledError:
        raise
    except BfenvError as error:
        return f"{NOT_CHECKED}{error}"


def _find(trace: Trace, schedule_of: Callable[[Trace], Schedule]) -> str:
    head = trace[: min(JOBS, len(trace))]
    schedule = schedule_of(head)
    differs = first_difference(schedule.start, schedule_of(head).start)
    if differs:
        return f"{NOT_CHECKED}two runs differ: {differs}"
    faults = map(str, find_foresight(schedule, schedule_of, INSTANTS))
    return next(faults, NONE_FOUND)


def _own_agent(name: str, trace: Trace, seed: int) -> Callable[[Trace], Schedule]:
    opened = open_agent(name)
    settings = _settings_on(trace, whole_trace_settings(opened))
    deterministic = read_agent(name).deterministic

    def schedule_of(other: Trace) -> Schedule:
        env = BackfillEnv(other, **settings)
        agent = opened.make(env, seed)
        played = play(env, agent, seed, deterministic=deterministic, strict=True)
        return played.times.schedule(other, name, seed)

    return schedule_of


def _remote_agent(
    remote: RemoteAgent, name: str, trace: Trace, seed: int
) -> Callable[[Trace], Schedule]:
    settings = _settings_on(trace, whole_trace_settings(remote.opened))

    def schedule_of(other: Trace) -> Schedule:
        played = play_in(remote.process, BackfillEnv(other, **settings), settings, seed)
        return played.times.schedule(other, name, seed)

    return schedule_of


def _settings_on(trace: Trace, settings: EnvSettings) -> EnvSettings:
    """Return settings with which other traces have the columns that this one has."""
    acting = acting_settings(BackfillEnv(trace, **settings).batch)
    chosen: EnvSettings = {**acting, **WHOLE_TRACE}  # type: ignore[typeddict-item]
    return chosen
