"""A player: a program that answers messages, contained by a guard."""

import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bfenv.core.errors import BfenvError, PolicyError
from bfenv.parallel.failures import describe_error
from bfenv.parallel.worker_process import describe_status
from bfenv.players.frames import INTEGER, Frame, new_frame, text_frame
from bfenv.players.limits import (
    DEFAULT,
    SYSTEM_WRITES,
    PlayerLimits,
    environment,
    readable,
)
from bfenv.players.system_calls import filter_of_calls

GUARD = Path(__file__).with_name("guard.py")
GRACE = 5.0  # seconds to report the end of a player
CHUNK = 1 << 16  # bytes
LONGEST_SHOWN = 60  # characters of a reply in an error message
PROTOCOL = 1  # version of the messages, see docs/referee.md
ENCODE = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
CAUSES = {
    "memory": "its processes took more than {memory:,} bytes of memory",
    "processes": "it started more than {processes} processes",
    "threads": "its processes started more than {threads:,} threads",
    "files": "it wrote files of more than {files:,} bytes",
    "stderr": "it wrote more than {stderr:,} bytes to stderr",
    "stopped": "it was stopped",
}


class PlayerError(PolicyError):
    """A player that failed, ended, or answered what the protocol does not allow."""


class PlayerKilledError(PlayerError):
    """A player that was killed, by itself or from outside."""


class PlayerProcess:
    """A player that runs, and its answers.

    Parameters
    ----------
    command
        The program and its arguments.
    limits
        What it may use.

    Raises
    ------
    BfenvError
        If there is no such program, or this system cannot contain it.
    """

    def __init__(self, command: Sequence[str], limits: PlayerLimits = DEFAULT) -> None:
        self.limits = limits
        self.uses_frames = False  # what it has declared
        self._guard: subprocess.Popen[bytes] | None = None
        if os.name != "posix":
            raise BfenvError("code that is not bfenv's own needs Linux or macOS, to be contained")
        program, paths = _program(command[0]), readable(command, limits)
        self._buffer = b""
        self._frame: Frame | None = None  # that it has sent
        self._temporary = tempfile.mkdtemp(prefix="bfenv-player-")
        to_player, self._requests = os.pipe()
        self._replies, from_player = os.pipe()
        order = {
            "command": [program, *command[1:]],
            "input": to_player,
            "output": from_player,
            **vars(paths),
            "writes": [self._temporary, *SYSTEM_WRITES],
            "environment": environment(self._temporary),
            "memory": limits.memory,
            "processes": limits.processes,
            "threads": limits.threads,
            "stderr": limits.stderr,
            "file_size": limits.file_size,
            "files": limits.files,
            "filter": filter_of_calls().hex(),
        }
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(GUARD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(to_player, from_player),
                start_new_session=True,
            )
        finally:
            os.close(to_player)
            os.close(from_player)
        assert self._guard.stdin is not None  # it is a pipe
        with suppress(BrokenPipeError):  # it was killed, as the first message will find
            self._guard.stdin.write(json.dumps(order).encode() + b"\n")
            self._guard.stdin.flush()
        os.set_blocking(self._requests, False)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(self._replies, select.POLLIN)
        self._writable.register(self._requests, select.POLLOUT)

    def ask(self, message: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a message and return the reply.

        Parameters
        ----------
        message
            What JSON can hold.
        seconds
            The longest time that the reply may take.

        Raises
        ------
        PlayerError
            If the reply is an error, comes too late, is too long or is not a JSON object, or the
            player ends.
        """
        deadline, text = time.monotonic() + seconds, ENCODE(message).encode()
        if self.uses_frames:
            self._send(text_frame(text), deadline, seconds)
            frame, count = self._receive_frame(deadline, seconds)
            return _parsed(_text(frame, count))
        self._send(text + b"\n", deadline, seconds)
        return _parsed(self._receive_line(deadline, seconds))

    def exchange(self, message: Frame, count: int, seconds: float) -> np.ndarray:
        """Send the numbers of a pass and return those of its answer, valid until the next call.

        Parameters
        ----------
        message, count
            A frame and how many numbers are in it.
        seconds
            The longest time that the answer may take.

        Raises
        ------
        PlayerError
            As `ask` does, and if the answer does not have the length of one.
        """
        deadline = time.monotonic() + seconds
        self._send(message.bytes_of(count), deadline, seconds)
        frame, count = self._receive_frame(deadline, seconds)
        if count < 0:
            _parsed(_text(frame, count))  # an error
        if count < 0 or count % 2 == 0:
            raise PlayerError("its reply is not the answer to a pass")
        return frame.numbers[:count]

    def _send(self, data: bytes | memoryview, deadline: float, seconds: float) -> None:
        while data:
            try:
                data = data[os.write(self._requests, data) :]
            except BlockingIOError:
                if not self._writable.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    raise self._too_late(seconds) from None
            except OSError:
                raise self._ended() from None

    def _receive_line(self, deadline: float, seconds: float) -> bytes:
        while b"\n" not in self._buffer:
            self._wait(deadline, seconds)
            chunk = os.read(self._replies, CHUNK)
            if not chunk:
                raise self._ended()
            self._buffer += chunk
            if len(self._buffer) > self.limits.reply:
                raise PlayerError(f"its reply has more than {self.limits.reply:,} bytes")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _receive_frame(self, deadline: float, seconds: float) -> tuple[Frame, int]:
        """Return a frame and how many numbers it has; minus how many bytes of text."""
        if self._frame is None:
            self._frame = new_frame(self.limits.reply // INTEGER)
        frame, received, size = self._frame, 0, INTEGER
        while received < size:
            self._wait(deadline, seconds)
            chunk = os.readv(self._replies, [frame.memory[received:]])
            if not chunk:
                raise self._ended()
            received += chunk
            if received >= INTEGER:
                count = int(frame.head[0])
                size = INTEGER + (INTEGER * count if count >= 0 else -count)
                if size > len(frame.memory):
                    raise PlayerError(f"its reply has more than {self.limits.reply:,} bytes")
        if received > size:
            raise PlayerError("its reply is longer than its frame")
        return frame, count

    def _wait(self, deadline: float, seconds: float) -> None:
        """Wait for more of a reply; a part that has come in time does not buy time for the rest."""
        left = deadline - time.monotonic()
        if left <= 0 or not self._readable.poll(left * 1000):
            raise self._too_late(seconds)

    def _too_late(self, seconds: float) -> PlayerError:
        return PlayerError(f"no decision within {seconds:g} s")

    def _ended(self) -> PlayerError:
        """Return how the player ended, as its guard reports it."""
        guard = self._guard
        assert guard is not None and guard.stdout is not None  # it is a pipe
        report: dict[str, Any] = {}
        if select.select([guard.stdout], [], [], GRACE)[0]:
            with suppress(ValueError):
                report = json.loads(guard.stdout.readline())
        if "cause" in report:
            return PlayerError(CAUSES[report["cause"]].format(**vars(self.limits)))
        if "status" not in report:
            with suppress(subprocess.TimeoutExpired):
                cause = describe_status(guard.wait(GRACE))
                return PlayerKilledError(f"the process that guards it died ({cause})")
            return PlayerError("it ended the connection")  # and goes on
        lines = report["stderr"].strip().splitlines()
        last = f": {_printable(lines[-1])}" if lines else ""
        kind = PlayerKilledError if report["status"] < 0 else PlayerError
        return kind(f"its process died ({describe_status(report['status'])}){last}")

    def close(self) -> None:
        """End the player and all that it has started; may be called more than once."""
        guard, self._guard = self._guard, None
        if guard is None:
            return
        assert guard.stdin is not None and guard.stdout is not None  # they are pipes
        os.close(self._requests)
        os.close(self._replies)
        with suppress(OSError):
            guard.stdin.close()
        guard.wait()
        guard.stdout.close()
        shutil.rmtree(self._temporary, ignore_errors=True)

    def __enter__(self) -> "PlayerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def check_command(text: str) -> list[str]:
    """Return the words of a command line.

    Raises
    ------
    BfenvError
        If it is empty, quotes are not closed, or there is no such program.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BfenvError(f"cannot read the player {text!r}: {error}") from error
    if not words:
        raise BfenvError("a player needs a command; this one is empty")
    return [_program(words[0]), *words[1:]]


def _program(word: str) -> str:
    found = shutil.which(word)
    if found is None:
        raise BfenvError(f"player {word!r}: no such program, or it may not be run")
    return str(Path(found).absolute())


def _printable(text: object) -> str:
    """Return a text of the player's as one line without control characters."""
    return describe_error(BfenvError(str(text)))


def _text(frame: Frame, count: int) -> bytes:
    if count >= 0:
        raise PlayerError("its reply is not JSON, but numbers")
    return bytes(frame.memory[INTEGER : INTEGER - count])


def _parsed(line: bytes) -> dict[str, Any]:
    """Return a reply; PlayerError if it is an error or not a JSON object."""
    try:
        reply = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise PlayerError(f"its reply is not JSON: {_shown(line)}") from error
    if not isinstance(reply, dict):
        raise PlayerError(f"its reply is not a JSON object: {_shown(line)}")
    if "error" in reply:
        raise PlayerError(_printable(reply["error"]))
    return reply


def shown(value: Any) -> str:
    """Return the beginning of a value from a reply, as JSON has it, for an error message."""
    return ENCODE(value)[:LONGEST_SHOWN]


def _shown(line: bytes) -> str:
    text = line[:LONGEST_SHOWN].decode(errors="replace")
    return repr(text)
