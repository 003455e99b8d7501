"""A player: a program that answers messages, in a process that a guard starts and ends."""

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
from bfenv.core.text import one_line
from bfenv.leaderboard.limits import DEFAULT_LIMITS, NO_SANDBOX, PlayerLimits
from bfenv.parallel.worker_process import describe_status
from bfenv_judge.players.containment import TEMPORARY, environment, sandboxed, system_limits
from bfenv_judge.players.frames import INTEGER, Frame, new_frame, text_frame
from bfenv_judge.players.guard import remove_folder

GUARD = Path(__file__).with_name("guard.py")
GRACE = 5.0  # seconds to report the end of a player
CHUNK = 1 << 16  # bytes
TAIL = 2000  # bytes of stderr that are looked at
LONGEST_SHOWN = 60  # characters of a reply in an error message
PROTOCOL = 1  # version of the messages, see docs/players.md
SIGNALLED = 128  # and a signal: the exit status that bubblewrap makes of it
ENCODE = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class PlayerError(PolicyError):
    """A player that failed, ended, or answered what the protocol does not allow."""


class PlayerKilledError(PlayerError):
    """A player that was killed, by itself or from outside."""


class PlayerProcess:
    """A player that runs, and its answers.

    * `command`: the program and its arguments.
    * `limits`: what it may use.

    Raises BfenvError if there is no such program, or no such sandbox here.
    """

    def __init__(self, command: Sequence[str], limits: PlayerLimits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.uses_frames = False  # what it has declared
        self._guard: subprocess.Popen[bytes] | None = None
        if os.name != "posix":
            raise BfenvError("code that is not bfenv's own needs Linux or macOS, to be limited")
        words = [_program(command[0]), *command[1:]]
        self._is_boxed = limits.sandbox != NO_SANDBOX
        if self._is_boxed:
            words = sandboxed(words, limits)
        self._buffer = b""
        self._frame: Frame | None = None  # that it has sent
        self._folder = None if self._is_boxed else tempfile.mkdtemp(prefix="bfenv-player-")
        self._errors = tempfile.TemporaryFile()  # it has no name, and the limit of a file's size
        to_player, self._requests = os.pipe()
        self._replies, from_player = os.pipe()
        streams = (to_player, from_player, self._errors.fileno())
        order = {
            "command": words,
            "streams": streams,
            "environment": environment(self._folder or TEMPORARY),
            "limits": system_limits(limits),
            "folder": self._folder,
            "referee": os.getpid(),
        }
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(GUARD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=streams,
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

        * `message`: what JSON can hold.
        * `seconds`: the longest time that the reply may take.

        Raises PlayerError if the reply is an error, comes too late, is too long or is not a JSON
        object, or the player ends.
        """
        self._begin(seconds, "greeting" if message["message"] == "hello" else "answer")
        text = ENCODE(message).encode()
        if self.uses_frames:
            self._send(text_frame(text))
            return _parsed(_text(*self._receive_frame()))
        self._send(text + b"\n")
        return _parsed(self._receive_line())

    def exchange(self, message: Frame, count: int, seconds: float) -> np.ndarray:
        """Send the numbers of a pass and return those of its answer, valid until the next call.

        * `message`, `count`: a frame and how many numbers are in it.
        * `seconds`: the longest time that the answer may take.

        Raises PlayerError as `ask` does, and if the answer does not have the length of one.
        """
        self._begin(seconds, "answer")
        self._send(message.bytes_of(count))
        frame, count = self._receive_frame()
        if count < 0:
            _parsed(_text(frame, count))  # an error
        if count < 0 or count % 2 == 0:
            raise PlayerError("its reply is not the answer to a pass")
        return frame.numbers[:count]

    def _begin(self, seconds: float, awaited: str) -> None:
        """Begin the time in which a message must be read and answered."""
        self._deadline = time.monotonic() + seconds
        self._too_late = f"no {awaited} within {seconds:g} s"

    def _send(self, data: bytes | memoryview) -> None:
        while data:
            try:
                data = data[os.write(self._requests, data) :]
            except BlockingIOError:
                self._wait(self._writable)
            except OSError:
                raise self._ended() from None

    def _receive_line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._wait(self._readable)
            chunk = os.read(self._replies, CHUNK)
            if not chunk:
                raise self._ended()
            self._buffer += chunk
            if len(self._buffer) > self.limits.reply:
                raise PlayerError(f"its reply has more than {self.limits.reply:,} bytes")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _receive_frame(self) -> tuple[Frame, int]:
        """Return a frame and how many numbers it has; minus how many bytes of text."""
        if self._frame is None:
            self._frame = new_frame(self.limits.reply // INTEGER)
        frame, received, size = self._frame, 0, INTEGER
        while received < size:
            self._wait(self._readable)
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

    def _wait(self, ready: select.poll) -> None:
        """Wait for a pipe; a part of a reply that comes in time buys no time for the rest."""
        left = self._deadline - time.monotonic()
        if left <= 0 or not ready.poll(left * 1000):
            raise PlayerError(self._too_late)

    def _ended(self) -> PlayerError:
        """Return how the player ended, as its guard reports it."""
        guard = self._guard
        assert guard is not None and guard.stdout is not None  # it is a pipe
        report = select.poll()
        report.register(guard.stdout, select.POLLIN)
        try:
            if not report.poll(GRACE * 1000):
                return PlayerError("it ended the connection")  # and goes on
            status = int(guard.stdout.readline())
        except ValueError:
            cause = describe_status(guard.wait())
            return PlayerKilledError(f"the process that guards it died ({cause})")
        if self._is_boxed and status > SIGNALLED:
            status = SIGNALLED - status
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), TAIL, max(0, size - TAIL))
        lines = tail.decode(errors="replace").strip().splitlines()
        last = f": {one_line(lines[-1])[:500]}" if lines else ""
        kind = PlayerKilledError if status < 0 else PlayerError
        return kind(f"its process died ({describe_status(status)}){last}")

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
        self._errors.close()
        if self._folder is not None:  # its guard was killed, if there is anything left
            remove_folder(self._folder)

    def __enter__(self) -> "PlayerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def check_command(text: str) -> list[str]:
    """Return the words of a command line.

    Raises BfenvError if it is empty, quotes are not closed, or there is no such program.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BfenvError(f"cannot read the player {text!r}: {error}") from error
    if not words:
        raise BfenvError("a player needs a command; this one is empty")
    return [_program(words[0]), *words[1:]]


def _program(word: str) -> str:
    path = shutil.which(word)
    if path is None:
        fault = "no such program"
        if os.path.isdir(word):
            fault = "it is a folder"
        elif os.path.isfile(word):
            fault = f"it is not executable; run chmod +x {word}"
        raise BfenvError(f"player {word!r}: {fault}")
    return str(Path(path).absolute())


def _text(frame: Frame, count: int) -> bytes:
    if count >= 0:
        raise PlayerError("its reply is not JSON, but numbers")
    return bytes(frame.memory[INTEGER : INTEGER - count])


def _parsed(line: bytes) -> dict[str, Any]:
    """Return a reply; PlayerError if it is an error or not a JSON object."""
    begin = repr(line[:LONGEST_SHOWN].decode(errors="replace"))
    try:
        reply = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise PlayerError(f"its reply is not JSON: {begin}") from error
    if not isinstance(reply, dict):
        raise PlayerError(f"its reply is not a JSON object: {begin}")
    if "error" in reply:
        raise PlayerError(one_line(str(reply["error"]))[:500])
    return reply


def shown(value: Any) -> str:
    """Return the beginning of a value from a reply, as JSON has it, for an error message."""
    return ENCODE(value)[:LONGEST_SHOWN]
