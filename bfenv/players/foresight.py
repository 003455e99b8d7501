"""Whether a competitor of a leaderboard foresees what it cannot know, tested on the first jobs.

The test is the one that `bfenv check` makes of policies: runtimes of unfinished jobs and jobs to
come are changed, and no decision made before may change. A competitor that knows a public trace by
heart passes it, because its decisions do not depend on the trace that is run.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bfenv.agents.agent_names import WHOLE_TRACE, open_agent, read_agent
from bfenv.agents.card import acting_settings
from bfenv.agents.player import play
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import simulate
from bfenv.envs.backfill import BackfillEnv
from bfenv.players.limits import DEFAULT, PlayerLimits
from bfenv.players.player_process import PlayerKilledError, PlayerProcess
from bfenv.players.remote_agent import RemoteAgent, play_in
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

    * `name`, `command`: of the policy, and of its player.
    * `trace`, `seed`: of its row.
    * `limits`: what the player may use.

    Returns NONE_FOUND, NOT_CHECKED with the reason, or what its decisions depend on. Raises
    PlayerKilledError if the player is killed meanwhile, which need not be its fault.
    """
    with _reason_why_not() as found, PlayerProcess(command, limits) as process:
        policy = policy_of(process, name, declared_flags(greet(process)))
        found.append(_find(trace, lambda other: simulate(other, policy, seed)))
    return found[0]


def foresight_of_agent(name: str, trace: Trace, seed: int, remote: RemoteAgent | None) -> str:
    """Return what an agent foresees on the first jobs of a trace, in one line.

    * `name`: of the agent.
    * `trace`, `seed`: of its row.
    * `remote`: the agent in its player; None for bfenv's own agents.

    Returns as of `foresight_of`. Raises PlayerKilledError as of `foresight_of`.
    """
    with _reason_why_not() as found:
        opened = open_agent(name) if remote is None else remote.opened
        settings = opened.settings_with(WHOLE_TRACE)
        # Other traces must have the columns that this one has.
        acting = acting_settings(BackfillEnv(trace, **settings).batch)
        settings = {**acting, **WHOLE_TRACE}  # type: ignore[typeddict-item]

        def schedule_of(other: Trace) -> Schedule:
            env = BackfillEnv(other, **settings)
            if remote is not None:
                played = play_in(remote.process, env, settings, seed)
            else:
                agent, choice = opened.make(env, seed), read_agent(name).deterministic
                played = play(env, agent, seed, deterministic=choice, strict=True)
            return played.times.schedule(other, name, seed)

        found.append(_find(trace, schedule_of))
    return found[0]


@contextmanager
def _reason_why_not() -> Iterator[list[str]]:
    """Collect what is found, and turn an error into the reason why nothing was looked for."""
    found: list[str] = []
    try:
        yield found
    except PlayerKilledError:
        raise
    except BfenvError as error:
        found.append(f"{NOT_CHECKED}{error}")


def _find(trace: Trace, schedule_of: Callable[[Trace], Schedule]) -> str:
    head = trace[: min(JOBS, len(trace))]
    schedule = schedule_of(head)
    differs = first_difference(schedule.start, schedule_of(head).start)
    if differs:
        return f"{NOT_CHECKED}two runs differ: {differs}"
    return next(map(str, find_foresight(schedule, schedule_of, INSTANTS)), NONE_FOUND)
