"""Who takes part in a leaderboard: what is known of a name before anything of it has run.

Nothing of a stranger is imported here. What only its code can say, its player says.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bfenv.agents.agent_names import is_stochastic, read_agent, starts_trials, training_of
from bfenv.agents.seen_jobs import Span
from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.agents import code_files, code_hash
from bfenv.players import (
    DEFAULT,
    PlayerError,
    PlayerKilledError,
    PlayerLimits,
    PlayerProcess,
    check_command,
    declared_flags,
    greet,
    is_strange_agent,
    is_strange_policy,
    python_player,
    read_greeting,
)

GREETINGS = 3  # of a player that is killed when it is started


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


def find_competitor(kind: str, name: str, limits: PlayerLimits = DEFAULT) -> Competitor:
    """Return what is known of a competitor; if it needs a player, that is started once.

    If the player fails, no error is raised here: its rows will fail, too, and say why.

    Raises
    ------
    BfenvError
        If the name cannot be read, is unknown, or its module or program does not exist.
    """
    if kind == "player":
        command = check_command(name)
        return _greet(Competitor(kind, name, code_hash(kind, name), tuple(command)), limits)
    code, files = code_hash(kind, name), code_files(kind, name)
    if kind == "policy":
        if is_strange_policy(name):
            command = python_player(kind, name, files)
            return _greet(Competitor(kind, name, code, tuple(command)), limits)
        policy = find_policy(name)
        return Competitor(kind, policy.name, code, (), policy.stochastic, policy.trials)
    if not is_strange_agent(name):
        spans = training_of(name)
        return Competitor(
            kind, name, code, (), is_stochastic(name), starts_trials(name), trained_on=spans
        )
    competitor = Competitor(kind, name, code, tuple(python_player(kind, name, files)))
    if not read_agent(name).is_saved:
        return _greet(competitor, limits)
    try:
        return competitor._replace(
            stochastic=is_stochastic(name),
            trials=starts_trials(name),
            trained_on=training_of(name),
        )
    except BfenvError:  # no card, or a damaged one: its rows will say so
        return competitor._replace(trained_on=None)


def one_name(policy: str) -> str:
    """Return the name under which the rows of a policy stand, however it was written.

    Raises
    ------
    BfenvError
        If bfenv has no such policy.
    """
    return policy.strip() if is_strange_policy(policy) else find_policy(policy).name


def _greet(competitor: Competitor, limits: PlayerLimits) -> Competitor:
    """Ask the player of a competitor for what it declares; again if it was killed meanwhile."""
    for _ in range(GREETINGS):
        try:
            return _declared(competitor, limits)
        except PlayerKilledError:  # which need not be its fault
            continue
        except PlayerError:
            break
    return competitor._replace(trials=None)


def _declared(competitor: Competitor, limits: PlayerLimits) -> Competitor:
    with PlayerProcess(competitor.command, limits) as process:
        greeting = greet(process)
        if competitor.kind == "agent":
            declared = read_greeting(competitor.name, greeting)
            return competitor._replace(
                stochastic=declared.stochastic,
                trials=declared.opened.settings.get("trial_limit") is not None,
                trained_on=declared.opened.trained_on,
            )
        return competitor._replace(**declared_flags(greeting)._asdict())
