"""The referee, which runs code that is not bfenv's own: it comes with bfenv-judge.

bfenv runs its own policies and agents. Code of others runs in a player: a process that is never
given the trace, with limits on time, memory and output. The distribution bfenv-judge has what
starts and limits players. bfenv finds it by the entry point "player" of the group
"bfenv.competitors": an object with the functions of `Referee`.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from bfenv.agents.seen_jobs import Span
from bfenv.core.competitor import Competitor
from bfenv.core.distributions import load_offer
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
from bfenv.leaderboard.limits import PlayerLimits


class Entrant(NamedTuple):
    """What takes part in a leaderboard, and what is known of it before it runs."""

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

    def ask_entrant(self, entrant: Entrant, limits: PlayerLimits) -> Entrant:
        """Return an entrant with what its player declares, or with why it declares nothing."""

    def player_policy(self, command: Sequence[str], name: str) -> Policy:
        """Return the policy of a program, which is started once to greet it."""

    def playing(
        self,
        kind: str,
        name: str,
        command: Sequence[str],
        limits: PlayerLimits,
        *,
        trials: bool,
        requested_starts: bool,
    ) -> AbstractContextManager[Competitor]:
        """Open a player as a competitor; `trials` and `requested_starts` are what it declared."""

    def foresight_of(self, competitor: Competitor, trace: Trace, seed: int) -> str:
        """Return what a competitor of `playing` foresees, see `bfenv.leaderboard.foresight`."""

    def warm_up(self) -> None:
        """Compile what a player needs, or load its compiled code."""


def find_referee(subject: str = "a player, which runs code that is not bfenv's own,") -> Referee:
    """Return the referee.

    Raises NotInstalledError, which names the `subject` that needs it, if bfenv-judge is not
    installed.
    """
    referee: Referee = load_offer("bfenv.competitors", "player", "judge", subject)
    return referee
