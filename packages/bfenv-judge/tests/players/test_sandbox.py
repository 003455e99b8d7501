"""Players in bubblewrap see software and their own files, alone; how it is missed is said."""

import os
import shlex
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import bfenv
from bfenv.leaderboard.limits import MIB
from bfenv_judge.players.containment import bubblewrap, sandboxed
from bfenv_judge.players.remote_policy import Flags, program_policy
from judge_helpers.programs import BOXED, FCFS, few_jobs, needs_sandbox, player
from tests.parallel.processes import descendants, is_alive

TRACE = few_jobs()

# Tries each way out of the sandbox. Its error names those that work.
ATTEMPTS = """
import ctypes, signal, socket
FILE, HIDDEN, BESIDE, BOARD, REFEREE, PORT = PLACES
call = ctypes.CDLL(None).syscall


def attempt(what):
    try:
        return what() not in (False, -1)
    except OSError:
        return False


worked = [name for name, what in {
    "shadow": lambda: open("/etc/shadow"),
    "processes": lambda: len([pid for pid in os.listdir("/proc") if pid.isdigit()]) > 3,
    "signal": lambda: os.kill(REFEREE, 0),
    "memory": lambda: open(f"/proc/{REFEREE}/mem", "rb"),
    "hidden": lambda: open(HIDDEN).read(1) != "",
    "beside": lambda: open(BESIDE),
    "board": lambda: open(BOARD + "/rows/mine.json", "w"),
    "itself": lambda: open(FILE, "a"),
    "software": lambda: open(os.__file__, "a"),
    "root": lambda: os.mkdir("/new"),
    "devices": lambda: open("/dev/new", "w"),
    "shared memory": lambda: open("/dev/shm/new", "w"),
    "kernel": lambda: open("/proc/sys/kernel/core_pattern", "w"),
    "network": lambda: socket.create_connection(("127.0.0.1", PORT), timeout=1),
    "abstract": lambda: socket.socket(socket.AF_UNIX).connect("\\0bfenv-" + str(REFEREE)),
    "terminal": lambda: open("/dev/tty", "w"),
}.items() if attempt(what)]
open(FILE).close()
open(os.environ["TMPDIR"] + "/x", "w").write("x")
if worked:
    sys.exit(", ".join(worked))
"""


@needs_sandbox
def test_ways_out(tmp_path):
    """A player reads no file but its own and software, writes none, and meets no other process."""
    program, folder, board = tmp_path / "mine.py", tmp_path / "data", tmp_path / "board"
    for path in (folder / "log.swf", tmp_path / "other.py", board / "rows" / "mine.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as service, socket.socket(socket.AF_UNIX) as other:
        other.bind(f"\0bfenv-{os.getpid()}")
        other.listen()
        places = (
            *map(str, (program, folder / "log.swf", tmp_path / "other.py", board)),
            *(os.getpid(), service.getsockname()[1]),
        )
        first = ATTEMPTS.replace("PLACES", repr(places)).replace("\n", "\n" + 12 * " ")
        program.write_text(FCFS.replace("FIRST", first))
        limits = replace(BOXED, reads=(str(folder),)).hiding([folder / "log.swf", board])
        command = [sys.executable, "-S", str(program)]
        policy = program_policy(command, "player", Flags(), limits)
        start = bfenv.simulate(TRACE, policy).start
    assert (start == bfenv.simulate(TRACE, "fcfs").start).all()


@needs_sandbox
@pytest.mark.parametrize(
    ("first", "error"),
    [
        (
            "for i in range(50): os.write(os.open(f'/tmp/{i}', 66), bytes(40000))",
            "No space left",
        ),
        ("os.kill(os.getpid(), 11)", r"its process died \(SIGSEGV\)"),
        ("sys.exit('no more')", r"its process died \(exit status 1\): no more"),
    ],
)
def test_ends(first, error):
    """All files of a player together are limited, and how it ends is said."""
    with pytest.raises(bfenv.PolicyError, match=error):
        bfenv.simulate(TRACE, player(first, replace(BOXED, files=MIB)))


@needs_sandbox
def test_daemons():
    """What a player has started ends with it."""
    others = set(descendants(os.getpid()))  # of other tests
    first = "if os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '60'])"
    bfenv.simulate(TRACE, player(first, BOXED))
    assert not [pid for pid in descendants(os.getpid()) if pid not in others and is_alive(pid)]


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A folder in which alone programs are looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    bubblewrap.cache_clear()
    yield tmp_path
    bubblewrap.cache_clear()


def test_not_installed(fake):
    """Where there is no bubblewrap, the error says how to get it."""
    with pytest.raises(bfenv.BfenvError, match="not installed: install the package `bubblewrap`"):
        sandboxed([sys.executable], BOXED)


def test_forbidden(fake):
    """Where bubblewrap may not do what it does, the error has its reason."""
    (fake / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n")
    (fake / "bwrap").chmod(0o700)
    with pytest.raises(bfenv.BfenvError, match=r"does not work here \(bwrap: No permissions\)"):
        sandboxed([sys.executable], BOXED)


def test_what_is_shown(fake, monkeypatch):
    """A program's file is shown, not its folder; a hidden folder in a readable one is masked."""
    (fake / "bwrap").write_text("#!/bin/sh\n")
    (fake / "bwrap").chmod(0o700)
    for path in ("own/mine.py", "own/other.py", "data/board/rows", "data/log"):
        (fake / path).parent.mkdir(parents=True, exist_ok=True)
        (fake / path).touch()
    (fake / "link").symlink_to(fake / "data")
    monkeypatch.chdir(fake / "own")
    limits = replace(BOXED, reads=("../link",)).hiding([fake / "data" / "board"])
    words = sandboxed([sys.executable, "mine.py", "-v"], limits)
    text = shlex.join(words)
    assert f"--ro-bind {fake}/own/mine.py {fake}/own/mine.py " in text
    assert f"{fake}/own/other.py" not in text and f"--ro-bind {fake}/own {fake}" not in text
    assert f"--tmpfs {fake}/data/board" in text and str(Path.home()) not in words
    assert words[-3:] == [sys.executable, "mine.py", "-v"]
