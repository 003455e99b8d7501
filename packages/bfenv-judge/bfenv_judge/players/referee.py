"""The functions of the referee that bfenv calls, see `bfenv.leaderboard.referee`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bfenv.core.competitor import Competitor
from bfenv.leaderboard.limits import PlayerLimits
from bfenv.leaderboard.referee import Entrant
from bfenv_judge.players.containment import bubblewrap
from bfenv_judge.players.foresight import foresight_of
from bfenv_judge.players.mirror import warm_mirror
from bfenv_judge.players.player_process import (
    PlayerError,
    PlayerKilledError,
    PlayerProcess,
    check_command,
)
from bfenv_judge.players.remote_agent import read_greeting, remote_agent
from bfenv_judge.players.remote_policy import (
    Flags,
    RemotePolicy,
    declared_flags,
    greet,
    player_policy,
    program_policy,
)
from bfenv_judge.players.serve import python_player

GREETINGS = 3  # of a player that is killed when it is started


def check_sandbox() -> None:
    """Raise BfenvError if bubblewrap is not installed, or does not work here."""
    bubblewrap()


def ask_entrant(entrant: Entrant, limits: PlayerLimits) -> Entrant:
    """Return an entrant with what its player declares; a player that is killed is asked again."""
    for _ in range(GREETINGS):
        try:
            with PlayerProcess(entrant.command, limits) as process:
                greeting = greet(process)
            if entrant.kind != "agent":
                return entrant._replace(**declared_flags(greeting)._asdict())
            declared = read_greeting(entrant.name, greeting)
            return entrant._replace(
                stochastic=declared.stochastic,
                trained_on=declared.opened.trained_on,
            )
        except PlayerKilledError as error:  # which need not be its fault
            reason = str(error)
        except PlayerError as error:
            reason = str(error)
            break
    return entrant._replace(trials=None, error=reason)


@contextmanager
def playing(
    kind: str,
    name: str,
    command: Sequence[str],
    limits: PlayerLimits,
    *,
    trials: bool,
    requested_starts: bool,
) -> Iterator[Competitor]:
    """Open a player as a competitor. That of an agent lives until the end, others for each run.

    * `kind`: "agent", or "policy" or "player" for what decides at every pass.
    * `name`, `command`: of the competitor, and of its player.
    * `limits`: what the player may use.
    * `trials`, `requested_starts`: what it has declared of its policy.

    Raises PolicyError if the player of an agent fails.
    """
    if kind == "agent":
        with remote_agent(name, command, limits) as agent:
            yield agent
        return
    flags = Flags(trials=trials, requested_starts=requested_starts)
    yield RemotePolicy(program_policy(command, name, flags, limits), tuple(command), limits)


class PlayerReferee:
    """The referee that bfenv finds by its entry point, see `bfenv.leaderboard.referee.Referee`."""

    ask_entrant = staticmethod(ask_entrant)
    check_command = staticmethod(check_command)
    check_sandbox = staticmethod(check_sandbox)
    foresight_of = staticmethod(foresight_of)
    player_policy = staticmethod(player_policy)
    playing = staticmethod(playing)
    python_player = staticmethod(python_player)
    warm_up = staticmethod(warm_mirror)


REFEREE = PlayerReferee()
