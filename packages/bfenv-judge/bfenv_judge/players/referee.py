"""The functions of the referee that bfenv calls, see `bfenv.leaderboard.referee`."""

from collections.abc import Sequence

from bfenv.core.policy import Policy
from bfenv.leaderboard.limits import PlayerLimits
from bfenv.leaderboard.referee import Competitor
from bfenv_judge.players.containment import bubblewrap
from bfenv_judge.players.foresight import foresight_of, foresight_of_remote_agent
from bfenv_judge.players.mirror import warm_mirror
from bfenv_judge.players.player_process import (
    PlayerError,
    PlayerKilledError,
    PlayerProcess,
    check_command,
)
from bfenv_judge.players.remote_agent import play_remotely, read_greeting, remote_agent
from bfenv_judge.players.remote_policy import (
    Flags,
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


def policy_of_program(
    command: Sequence[str], name: str, limits: PlayerLimits, *, trials: bool, requested_starts: bool
) -> Policy:
    """Return the policy of a program that has declared these flags; each run starts it."""
    return program_policy(
        command, name, Flags(trials=trials, requested_starts=requested_starts), limits
    )


def ask_competitor(competitor: Competitor, limits: PlayerLimits) -> Competitor:
    """Return a competitor with what its player declares; a player that is killed is asked again."""
    for _ in range(GREETINGS):
        try:
            with PlayerProcess(competitor.command, limits) as process:
                greeting = greet(process)
            if competitor.kind != "agent":
                return competitor._replace(**declared_flags(greeting)._asdict())
            declared = read_greeting(competitor.name, greeting)
            return competitor._replace(
                stochastic=declared.stochastic,
                trained_on=declared.opened.trained_on,
            )
        except PlayerKilledError as error:  # which need not be its fault
            reason = str(error)
        except PlayerError as error:
            reason = str(error)
            break
    return competitor._replace(trials=None, error=reason)


class PlayerReferee:
    """The referee that bfenv finds by its entry point, see `bfenv.leaderboard.referee.Referee`."""

    ask_competitor = staticmethod(ask_competitor)
    check_command = staticmethod(check_command)
    check_sandbox = staticmethod(check_sandbox)
    foresight_of = staticmethod(foresight_of)
    foresight_of_remote_agent = staticmethod(foresight_of_remote_agent)
    play_remotely = staticmethod(play_remotely)
    player_policy = staticmethod(player_policy)
    policy_of_program = staticmethod(policy_of_program)
    python_player = staticmethod(python_player)
    remote_agent = staticmethod(remote_agent)
    warm_up = staticmethod(warm_mirror)


REFEREE = PlayerReferee()
