"""Who takes part in a leaderboard: what is known of a name before anything of it has run.

Nothing of a stranger is imported here. What only its code can say, its player says.
"""

import hashlib
import os
import shlex
from contextlib import suppress
from pathlib import Path

import bfenv.leaderboard.strangers as st
from bfenv.agents.agent_names import ELSEWHERE, is_stochastic, read_agent, training_of
from bfenv.agents.card import CARDS, SHIPPED, SUFFIX, card_path, is_network
from bfenv.baselines import registry
from bfenv.core.distributions import load_offer
from bfenv.core.errors import BfenvError, PolicyError, UnknownNameError
from bfenv.core.files import read_file
from bfenv.core.names import parse_name, read_value
from bfenv.core.policy import Scheduler
from bfenv.leaderboard.limits import DEFAULT_LIMITS, PlayerLimits
from bfenv.leaderboard.own_names import check_name
from bfenv.leaderboard.referee import Entrant, find_referee


def card_of(policy: Scheduler) -> str | None:
    """Return the name or path of the card that a policy was loaded from; None of other policies."""
    return _card_named(policy.name) if policy.name.startswith(SHIPPED) else None


def _card_named(name: str) -> str | None:
    """Return the name or path of the card that a policy's name asks for; None of other policies."""
    agent = _agent_named(name)
    return agent if agent and agent not in ELSEWHERE else None


def _agent_named(name: str) -> str | None:
    """Return which agent "agent:NAME" or "agent(name=NAME)" asks for; None of other policies."""
    base, options = parse_name(name, PolicyError)
    prefix, _, agent = base.partition(":")
    if prefix != CARDS:
        return None
    return agent or str(read_value(options.get("name", "''")))


def network_of(name: str) -> str | None:
    """Return the name of the agent if a policy's name asks for a network; None of other policies.

    Raises BfenvError if the name or the card cannot be read.
    """
    card = _card_named(name)
    if card is None or not is_network(card):
        return None
    return card if card.endswith(SUFFIX) else f"{SHIPPED}{card}"


def distribution_of(name: str) -> str:
    """Return which distribution beside bfenv decides for a policy, a key of PACKAGES; "" if none.

    Raises BfenvError if the name cannot be read.
    """
    agent = _agent_named(name)
    if agent is not None:
        return ELSEWHERE.get(agent, "")
    prefix = parse_name(name, PolicyError).base.partition(":")[0]
    return registry.ELSEWHERE.get(prefix, "")


def code_files(kind: str, name: str) -> list[Path]:
    """Return the files of a policy's or agent's code that is not bfenv's own.

    That is the file of a saved model and its card, the file of a network, the card of an agent, or
    the source of the module in "module:object"; of a player, the files on its command line, without
    programs that are found by their names, such as perl. The list is empty for what bfenv comes
    with.
    """
    if kind == "player":
        find_referee().check_command(name)
        first, *words = shlex.split(name)
        words = [first] * (os.sep in first) + words
        return [Path(word) for word in words if os.path.isfile(word)]
    if kind == "agent" and read_agent(name).is_saved:
        model = Path(read_agent(name).base)
        return [model, *(card for card in [card_path(model)] if card.is_file())]
    if kind == "agent" and read_agent(name).is_card:
        file = Path(read_agent(name).base)
        return [file] if file.is_file() else []  # bfenv comes with the others
    agent = _agent_named(name) if kind == "policy" else None
    if agent in ELSEWHERE:
        subject = f"the agent {agent}"
        files_of = load_offer("bfenv.agents", f"{agent}.files", ELSEWHERE[agent], subject)
        path = parse_name(name, PolicyError).options.get("path", "")
        return list(files_of(str(read_value(path))))
    if agent:
        return [Path(agent)] if agent.endswith(SUFFIX) else []
    if (st.is_strange_agent if kind == "agent" else st.is_strange_policy)(name):
        source = st.source_of(name)
        return [source] if source else []
    return []


def code_hash(kind: str, name: str) -> str | None:
    """Return the hash of `code_files`, None if there are none; other code makes another row.

    Raises BfenvError if a file cannot be read.
    """
    files = code_files(kind, name)
    try:
        content = b"".join(read_file(file) for file in files)
    except OSError as error:
        raise BfenvError(f"{name}: {error.filename} cannot be read: {error.strerror}") from error
    return f"sha256:{hashlib.sha256(content).hexdigest()}" if files else None


def find_entrant(kind: str, name: str, limits: PlayerLimits = DEFAULT_LIMITS) -> Entrant:
    """Return what is known of an entrant; if it needs a player, that is started once.

    If the player fails, no error is raised here: the entrant has it, and its rows will fail.

    Raises BfenvError if the name cannot be read, is unknown, or its module or program does not
    exist, and what `check_name` raises.
    """
    check_name(kind, name)
    code = code_hash(kind, name)
    if not is_strange(kind, name):
        return _own(kind, name, code)
    entrant = Entrant(kind, name, code, player_command(kind, name))
    if not (kind == "agent" and read_agent(name).is_saved):
        return find_referee().ask_entrant(entrant, limits)
    try:
        return entrant._replace(stochastic=is_stochastic(name), trained_on=training_of(name))
    except BfenvError:  # no card, or a damaged one: its rows will say so
        return entrant._replace(trained_on=None)


def player_command(kind: str, name: str) -> tuple[str, ...]:
    """Return the command of the player of a strange entrant, on this machine.

    Raises BfenvError if the name cannot be read, or its module or program does not exist, or
    bfenv-judge is not installed.
    """
    if kind == "player":
        return tuple(find_referee().check_command(name))
    is_saved = kind == "agent" and read_agent(name).is_saved
    files = code_files(kind, name) if is_saved else st.package_of(name)
    subject = f"a player, which runs code that is not bfenv's own such as {name},"
    return tuple(find_referee(subject).python_player(kind, name, files))


def is_strange(kind: str, name: str) -> bool:
    """Whether code that is not bfenv's own decides for an entrant.

    Raises BfenvError if the name cannot be read.
    """
    if kind == "player":
        return True
    return st.is_strange_policy(name) if kind == "policy" else st.is_strange_agent(name)


def _own(kind: str, name: str, code: str | None) -> Entrant:
    """Return what is known of one of bfenv's policies or agents; BfenvError if there is none."""
    if kind == "policy":
        policy = registry.find_competitor(name)
        return Entrant(kind, policy.name, code, (), policy.stochastic, policy.trials)
    spans = training_of(name)
    return Entrant(kind, name, code, (), is_stochastic(name), trained_on=spans)


def check_identity(kind: str, name: str, code: str | None) -> None:
    """Check that an entrant of this name and code hash is one of bfenv's own, or unlike them.

    Raises BfenvError as `check_name` does, if bfenv has no such entrant, or if one of its own
    has another name.
    """
    check_name(kind, name, code)
    if is_strange(kind, name):
        return
    if code is None:
        with suppress(UnknownNameError):
            if _own(kind, name, None).name == name:
                return
    elif parse_name(name, PolicyError).base.endswith(SUFFIX) or _agent_named(name) is not None:
        return  # a card or a network in a file, or published weights
    raise BfenvError(f"bfenv has no {kind} {name}")
