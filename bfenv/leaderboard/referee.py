"""The referee, which runs code that is not bfenv's own: it comes with bfenv-judge.

bfenv runs its own policies and agents. Code of others runs in a player: a process that is never
given the trace, with limits on time, memory and output. The distribution bfenv-judge has what
starts and limits players. bfenv finds it by the entry point "player" of the group
"bfenv.competitors": an object with the functions of `Referee`.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from bfenv.agents.player import Played
from bfenv.agents.seen_jobs import Span
from bfenv.core.distributions import load_offer
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
from bfenv.leaderboard.limits import PlayerLimits


class Competitor(NamedTuple):
    """A policy, an agent or a program that plays."""

    kind: str  # one of KINDS
    name: str
    code: str | None  # hash of its code; None for bfenv's own
    command: tuple[str, ...] = ()  # of its player; empty for bfenv's own code, which needs none
    stochastic: bool = False
    trials: bool | None = False  # whether it starts jobs for trials; None if that is unknown
    requested_starts: bool = False  # whether it plans for jobs with requested start times
    trained_on: Sequence[Span] | None = ()  # None if it is unknown
    error: str = ""  # why its player has not greeted


class Referee(Protocol):
    """The functions of the referee. All raise BfenvError for a program that does not exist."""

    def check_command(self, text: str) -> list[str]:
        """Return the words of a player's command line, the program with its path."""

    def check_sandbox(self) -> None:
        """Raise BfenvError if the sandbox is not installed, or does not work here."""

    def python_player(self, kind: str, name: str, files: Iterable[Path]) -> list[str]:
        """Return the command of the player of a policy or an agent that is written in Python."""

    def ask_competitor(self, competitor: Competitor, limits: PlayerLimits) -> Competitor:
        """Return a competitor with what its player declares, or with why it declares nothing."""

    def player_policy(self, command: Sequence[str], name: str) -> Policy:
        """Return the policy of a program, which is started once to greet it."""

    def policy_of_program(
        self,
        command: Sequence[str],
        name: str,
        limits: PlayerLimits,
        *,
        trials: bool,
        requested_starts: bool,
    ) -> Policy:
        """Return the policy of a program that has declared these flags."""

    def remote_agent(
        self, name: str, command: Sequence[str], limits: PlayerLimits
    ) -> AbstractContextManager[Any]:
        """Start the player of an agent, and stop it in the end."""

    def play_remotely(self, trace: Trace, agent: Any, seed: int) -> Played:
        """Let an agent that `remote_agent` has started schedule a whole trace."""

    def foresight_of(
        self, name: str, command: Sequence[str], trace: Trace, seed: int, limits: PlayerLimits
    ) -> str:
        """Return what a policy in a player foresees, as `bfenv.leaderboard.foresight` says."""

    def foresight_of_remote_agent(self, name: str, trace: Trace, seed: int, agent: Any) -> str:
        """Return what an agent that `remote_agent` has started foresees."""

    def warm_up(self) -> None:
        """Compile what a player needs, or load its compiled code."""


def find_referee(what: str = "a player, which runs code that is not bfenv's own,") -> Referee:
    """Return the referee.

    Raises NotInstalledError, with the name of `what` needs it, if bfenv-judge is not installed.
    """
    referee: Referee = load_offer("bfenv.competitors", "player", "judge", what)
    return referee
