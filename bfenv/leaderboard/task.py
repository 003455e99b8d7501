"""The rows that a suite asks for, before they are made."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

from bfenv.analysis.logged import LOGGED
from bfenv.core.errors import BfenvError
from bfenv.evaluation.row import KINDS, row_key
from bfenv.leaderboard.entrants import find_entrant, network_of
from bfenv.leaderboard.limits import DEFAULT_LIMITS, PlayerLimits
from bfenv.leaderboard.own_names import check_name, with_article
from bfenv.leaderboard.suite import OWN_PREFIX, FrozenTrace, Suite


class Task(NamedTuple):
    """What one row takes to make, in names and numbers."""

    suite: str  # name of the suite
    kind: str  # "policy", "agent", "player" for a program, or "log" for what a log records
    policy: str  # its name or expression
    workload: str  # label of the suite's entry
    load: float | None  # offered load of the suite's entry; None for the workload's own
    trace: FrozenTrace  # how to make it, and its hash
    seed: int  # of the decisions
    code: str | None = None  # hash of a saved model, of a module outside bfenv, or of a program
    command: tuple[str, ...] = ()  # of its player; empty for bfenv's own code
    trials: bool | None = False  # whether it starts jobs for trials; None if that is unknown
    requested_starts: bool = False  # whether a player plans for jobs with requested start times
    error: str = ""  # why its player has not greeted; its rows fail with it

    @property
    def key(self) -> str:
        """Name of the row's files without suffix, see `row_key`."""
        return row_key(self.kind, self.policy, self.workload, self.seed)

    @property
    def is_own(self) -> bool:
        """Whether it is on a workload of the user's own, not on a suite with a name."""
        return self.suite.startswith(OWN_PREFIX)


def plan_rows(
    suite: Suite,
    policies: Sequence[str],
    agents: Sequence[str],
    seeds: int | None = None,
    players: Sequence[str] = (),
    limits: PlayerLimits = DEFAULT_LIMITS,
    waiting: Callable[[str], None] = lambda text: None,
) -> list[Task]:
    """Return a task for each row of these entrants on a suite, in the same order everywhere.

    A workload whose log records its starts has a row of these as well, before all others.

    Each seed gives another trace of an entry. If an entry has only one trace, the seed drives the
    decisions of a stochastic policy, and a deterministic policy has one row.

    Args:
        suite: What to run on.
        policies, agents: Their names; a name given twice counts once. Networks among the policies
            are agents.
        seeds: How many of the suite's seeds to use, from the first; None for all.
        players: Command lines of programs that schedule, see docs/players.md.
        limits: What a player may use.
        waiting: Called with what is waited for, such as the greeting of a player.

    Raises:
        BfenvError: If the suite has fewer seeds, a name is unknown or names two entrants, or an
            agent may have been trained on the suite's jobs.
    """
    if seeds is not None and not 1 <= seeds <= suite.seeds:
        raise BfenvError(f"{suite.name} has 1 to {suite.seeds} seeds, not {seeds}")
    networks = {name: network_of(name) for name in policies}
    policies = [name for name in policies if networks[name] is None]
    agents = [*agents, *(name for name in networks.values() if name is not None)]
    names = {"policy": policies, "agent": agents, "player": players}
    for name in players:
        check_name("player", name)
    for first, second in combinations(KINDS, 2):
        for name in set(names[first]) & set(names[second]):  # in a ranking they would be one
            raise BfenvError(
                f"{name} is given as {with_article(first)} and as {with_article(second)}: choose "
                "one"
            )
    entrants = []
    for kind in KINDS:
        for name in dict.fromkeys(names[kind]):
            waiting(f"preparing {name}")
            entrants.append(find_entrant(kind, name, limits))
    for entrant in () if suite.unseen else entrants:
        if entrant.trained_on is None:
            raise BfenvError(
                f"{suite.name} takes agents only if the jobs that they were trained on are known: "
                f"{entrant.name} needs a model's card, or an attribute trained_on"
            )
    tasks = {}
    for entry in suite.entries:
        if entry.logged:
            task = Task(suite.name, "log", LOGGED, entry.label, entry.load, entry.traces[0], 0)
            tasks[task.key] = task
        for entrant in entrants:
            is_random = len(entry.traces) > 1 or entrant.stochastic
            for seed in range(seeds or suite.seeds if is_random else 1):
                task = Task(
                    suite.name,
                    entrant.kind,
                    entrant.name,
                    entry.label,
                    entry.load,
                    entry.trace(seed),
                    seed,
                    entrant.code,
                    entrant.command,
                    entrant.trials,
                    entrant.requested_starts,
                    entrant.error,
                )
                tasks[task.key] = task
    return list(tasks.values())
