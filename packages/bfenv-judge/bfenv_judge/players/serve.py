"""The player of policies and agents that are written in Python: the main function of its process.

Here, and nowhere else, modules of strangers are imported.
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bfenv.agents.agent_names import is_stochastic, open_agent, read_agent
from bfenv.agents.player import play_episode
from bfenv.agents.seen_jobs import encode_span
from bfenv.baselines.registry import find_policy
from bfenv.core.illegal_start import find_illegal_start
from bfenv.core.policy import new_memory, pass_of
from bfenv.parallel.failures import describe_error
from bfenv_judge.players.frames import INTEGER, Frame, new_frame, text_frame
from bfenv_judge.players.mirror import Mirror
from bfenv_judge.players.remote_env import RemoteEnv
from bfenv_judge.players.remote_policy import Flags

ROOM = 4096  # integers of a message; longer ones make more room
PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from bfenv_judge.players.serve import main; main({kind!r}, {name!r})"
)


def python_player(kind: str, name: str, files: Iterable[Path] = ()) -> list[str]:
    """Return the command of the player of a policy or an agent, with the paths of this process.

    The player may read the `files`, such as those of a saved model: they are on its command line.
    """
    program = PROGRAM.format(path=sys.path, kind=kind, name=name)
    return [sys.executable, "-c", program, *map(os.path.abspath, files)]


def main(kind: str, name: str) -> None:
    """Answer messages until the connection is closed.

    * `kind`: "policy" or "agent".
    * `name`: what `find_policy` or `open_agent` takes.
    """
    connection = Connection()
    serve = _serve_policy if kind == "policy" else _serve_agent
    try:
        connection.receive()  # the greeting
        serve(name, connection)
    except BaseException as error:  # SystemExit, too: a stranger's code may raise anything
        connection.send({"error": describe_error(error)})


class Connection:
    """Reads messages and sends replies; what the player prints goes to stderr instead."""

    def __init__(self) -> None:
        self._messages = os.fdopen(os.dup(0), "rb")
        self._replies = os.dup(1)
        self._frame: Frame | None = None
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)

    def use_frames(self) -> None:
        """Send and receive frames from now on, not lines."""
        self._frame = new_frame(ROOM)

    def receive(self) -> Any:
        """Return the next message: a dict, or the numbers of a pass, valid until the next call.

        SystemExit if the referee has closed the connection.
        """
        if self._frame is None:
            return _parsed(self._messages.readline())
        if self._messages.readinto(self._frame.memory[:INTEGER]) < INTEGER:
            sys.exit()
        count = int(self._frame.head[0])
        if count < 0:
            return _parsed(self._messages.read(-count))
        if count > len(self._frame.numbers):
            self._frame = new_frame(2 * count)
        self._messages.readinto(self._frame.memory[INTEGER : INTEGER * (1 + count)])
        return self._frame.numbers[:count]

    def send(self, reply: Mapping[str, Any]) -> None:
        """Send a reply."""
        text = json.dumps(reply).encode()
        self._write(text + b"\n" if self._frame is None else text_frame(text))

    def send_numbers(self, frame: Frame, count: int) -> None:
        """Send the answer to a pass."""
        self._write(frame.bytes_of(count))

    def _write(self, data: bytes | memoryview) -> None:
        while data:
            data = data[os.write(self._replies, data) :]


def _parsed(text: bytes) -> Any:
    if not text:
        sys.exit()
    return json.loads(text.decode())


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
