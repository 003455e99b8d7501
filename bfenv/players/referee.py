"""The functions of the referee that bfenv calls, see `bfenv.leaderboard.referee`."""

from collections.abc import Sequence

from bfenv.core.policy import Policy
from bfenv.leaderboard.competitors import Competitor
from bfenv.leaderboard.limits import PlayerLimits
from bfenv.players.containment import bubblewrap
from bfenv.players.foresight import foresight_of, foresight_of_remote_agent
from bfenv.players.mirror import warm_mirror
from bfenv.players.player_process import (
    PlayerError,
    PlayerKilledError,
    PlayerProcess,
    check_command,
)
from bfenv.players.remote_agent import play_remotely, read_greeting, remote_agent
from bfenv.players.remote_policy import (
    Flags,
    declared_flags,
    greet,
    player_policy,
    program_policy,
)
from bfenv.players.serve import python_player

__all__ = [
    "ask_competitor", "check_command", "check_sandbox", "foresight_of", "foresight_of_remote_agent",
    "play_remotely", "player_policy", "policy_of_program", "python_player", "remote_agent",
    "warm_up",
]  # fmt: skip

GREETINGS = 3  # of a player that is killed when it is started
warm_up = warm_mirror


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
                trials=declared.opened.settings.get("trial_limit") is not None,
                trained_on=declared.opened.trained_on,
            )
        except PlayerKilledError as error:  # which need not be its fault
            reason = str(error)
        except PlayerError as error:
            reason = str(error)
            break
    return competitor._replace(trials=None, error=reason)
