"""The player of policies and agents that are written in Python: the main function of its process.

Here, and nowhere else, modules of strangers are imported.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bfenv.agents.agent_names import is_stochastic, open_agent, read_agent
from bfenv.agents.player import play_episode
from bfenv.agents.seen_jobs import encode_span
from bfenv.baselines.registry import find_policy
from bfenv.core.illegal_start import find_illegal_start
from bfenv.core.policy import new_memory, pass_of
from bfenv.parallel.failures import describe_error
from bfenv.players.limits import PROGRAM_OPTION
from bfenv.players.messages import Connection
from bfenv.players.mirror import Mirror
from bfenv.players.remote_env import RemoteEnv
from bfenv.players.remote_policy import Flags

PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from bfenv.players.serve import main; main({kind!r}, {name!r})"
)


def python_player(kind: str, name: str, files: Iterable[Path] = ()) -> list[str]:
    """Return the command of the player of a policy or an agent, with the paths of this process.

    The player may read the `files`, such as those of a saved model: they are on its command line.
    """
    program = PROGRAM.format(path=sys.path, kind=kind, name=name)
    return [sys.executable, PROGRAM_OPTION, program, *map(os.path.abspath, files)]


def main(kind: str, name: str) -> None:
    """Answer messages until the connection is closed.

    Parameters
    ----------
    kind
        "policy" or "agent".
    name
        What `find_policy` or `open_agent` takes.
    """
    connection = Connection()
    serve = _serve_policy if kind == "policy" else _serve_agent
    try:
        connection.receive()  # the greeting
        serve(name, connection)
    except BaseException as error:  # SystemExit, too: a stranger's code may raise anything
        connection.send({"error": describe_error(error)})


def _serve_policy(name: str, connection: Connection) -> None:
    policy = find_policy(name)
    flags = {flag: bool(getattr(policy, flag)) for flag in Flags._fields}
    connection.send(flags | {"frames": True})
    connection.use_frames()
    while True:
        message = connection.receive()
        if isinstance(message, dict):
            keys = ("processors", "jobs", "users", "requested_starts")
            mirror = Mirror(*(message[key] for key in keys))
            cluster, jobs = mirror.cluster, mirror.jobs
            memory = new_memory(policy, jobs, message["processors"], message["seed"])
            decide = pass_of(policy, cluster, jobs, memory)
            connection.send({})
            continue
        mirror.follow(message)
        try:
            decide()
        except ValueError as error:
            raise find_illegal_start(cluster, jobs, policy.name) or error from error
        connection.send_numbers(*mirror.answer())


def _serve_agent(name: str, connection: Connection) -> None:
    opened = open_agent(name, trust=True)
    spans = opened.trained_on
    connection.send(
        {
            "stochastic": is_stochastic(name),
            "settings": opened.settings,
            "trained_on": None if spans is None else [encode_span(span) for span in spans],
        }
    )

    def exchange(reply: dict[str, Any]) -> dict[str, Any]:
        connection.send(reply)
        message: dict[str, Any] = connection.receive()
        return message

    while True:
        begin = connection.receive()
        env, seed = RemoteEnv(begin, exchange), begin["seed"]
        agent = opened.make(env, seed)  # type: ignore[arg-type]  # it has what agents may use
        replaced = getattr(agent, "replaced_actions", 0)
        play_episode(env, agent, seed, deterministic=read_agent(name).deterministic)
        connection.send({"replaced_actions": int(getattr(agent, "replaced_actions", 0) - replaced)})
