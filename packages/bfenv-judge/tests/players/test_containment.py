"""Players are limited, and nothing that they start outlives them."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

import bfenv
from bfenv.leaderboard.limits import MIB
from bfenv_judge.players.player_process import PlayerKilledError, PlayerProcess
from bfenv_judge.players.remote_policy import player_policy
from judge_helpers.programs import QUICK, few_jobs, player, program
from tests.parallel.processes import descendants, is_alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and prctl")
TRACE = few_jobs()
SLEEPER = "73.0625"  # seconds, which no other process sleeps


def sleepers() -> list[str]:
    """The processes that sleep for SLEEPER seconds."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                dead = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except OSError:
                continue
            if SLEEPER.encode() in words and not dead:
                found.append(entry.name)
    return found


def allocate(kind):
    return f"import mmap\nx = [{kind} for i in range(200)]\ntime.sleep(60)"


@pytest.mark.parametrize(
    ("first", "limits", "error"),
    [
        (allocate("bytearray(2 ** 20)"), {"memory": 100 * MIB}, r"exit status 1\): MemoryError"),
        (allocate("mmap.mmap(-1, 2 ** 20)"), {"memory": 100 * MIB}, "Cannot allocate memory"),
        ("import socket\nx = [socket.socketpair() for i in range(200)]", {}, "Too many open files"),
        ("open(os.environ['TMPDIR'] + '/x', 'w').write('x' * 2 ** 20)", {}, "File too large"),
        ("while True: os.write(2, b'x' * 65536)", {}, r"died \(exit status 1\)"),
        ("time.sleep(60)", {"startup": 0.5}, "no answer within 0.5 s"),
        ("while True: pass", {"startup": 0.5}, "no answer within 0.5 s"),
    ],
    ids=["memory", "mapped", "sockets", "file", "stderr", "sleep", "endless"],
)
def test_limits(first, limits, error):
    """A player that takes more than it may fails, and the error says at what."""
    chosen = replace(QUICK, file_size=MIB // 2, **limits)
    with pytest.raises(bfenv.PolicyError, match=error):
        bfenv.simulate(TRACE, player(first, chosen))


@pytest.mark.skipif(os.geteuid() == 0, reason="the system limits no processes of root")
def test_processes():
    """A player cannot start processes without end."""
    first = "while True:\n    os.fork() or time.sleep(60)"
    with pytest.raises(bfenv.PolicyError, match="Resource temporarily unavailable"):
        bfenv.simulate(TRACE, player(first, replace(QUICK, processes=8)))


def test_greeting():
    """A program that does not greet is not waited for."""
    command = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    with pytest.raises(bfenv.PolicyError, match="mine: no greeting within 0.5 s"):
        player_policy(command, "mine", replace(QUICK, greeting=0.5))


DAEMON = (
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        os.execvp('sleep', ['sleep', SLEEPER])\n"
    "    os._exit(0)\n"
    "os.wait()"
).replace("SLEEPER", repr(SLEEPER))


def test_daemons():
    """A daemon in a session of its own ends with the run, whose schedule is that of FCFS."""
    schedule = bfenv.simulate(TRACE, player(DAEMON))
    assert (schedule.start == bfenv.simulate(TRACE, "fcfs").start).all()
    assert not sleepers()


def test_killed_referee():
    """If the referee is killed, its player and that one's daemons end."""
    program = (
        "import bfenv\n"
        "from judge_helpers.programs import few_jobs, player\n"
        f"bfenv.simulate(few_jobs(), player({DAEMON + '; time.sleep(60)'!r}))\n"
    )
    paths = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}  # of the helpers
    referee = subprocess.Popen([sys.executable, "-c", program], env=paths)
    with referee:
        deadline = time.monotonic() + 20
        while not sleepers() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert sleepers()
        referee.send_signal(signal.SIGKILL)
    while sleepers() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not sleepers()


def test_no_such_program(tmp_path, monkeypatch):
    """A player that cannot be started leaves no open file and no folder behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = os.listdir("/proc/self/fd")
    with pytest.raises(bfenv.BfenvError, match="no such program"):
        PlayerProcess(["no-such-program"])
    assert set(os.listdir("/proc/self/fd")) <= set(before)
    assert not list(tmp_path.iterdir())


def test_environment(monkeypatch):
    """A player does not inherit the environment, but for what programs need to run."""
    monkeypatch.setenv("SECRET_TOKEN", "123")
    first = "assert 'SECRET_TOKEN' not in os.environ and 'PATH' in os.environ"
    bfenv.simulate(TRACE, player(first))
    assert "SECRET_TOKEN" in os.environ


def test_failed_run():
    """A player whose run fails is ended at once, not when its traceback is forgotten."""
    policy = player("reply = {'start': [-1]}")
    others = set(descendants(os.getpid()))  # of other tests
    with pytest.raises(bfenv.PolicyError) as caught:
        bfenv.simulate(TRACE, policy)
    assert caught.tb is not None
    assert not [pid for pid in descendants(os.getpid()) if pid not in others and is_alive(pid)]


@pytest.mark.parametrize("is_frame", [False, True], ids=["line", "frame"])
def test_dripping_reply(is_frame):
    """The time of a decision is not prolonged by parts of an answer that come in time."""
    begin = (250_000).to_bytes(8, sys.byteorder) if is_frame else b" "  # the count of a frame
    first = f"os.write(1, {begin!r})\nwhile True: os.write(1, b' ')"
    with PlayerProcess(program(first), QUICK) as process:
        process.ask({"message": "hello"}, 20.0)
        process.ask({"message": "begin", "processors": 1}, 20.0)
        process._begin(0.1, "answer")
        process._send(b'{"message": "pass"}\n')
        receive = process._receive_frame if is_frame else process._receive_line
        with pytest.raises(bfenv.PolicyError, match="no answer within 0.1 s"):
            receive()


NESTED = """
os.chdir(os.environ['TMPDIR'])
for i in range(1500):
    os.mkdir('x' * 100)
    os.chdir('x' * 100)
os.symlink(OUTSIDE, 'link')
os.makedirs('unlisted/x', mode=0)
"""


def test_folder(tmp_path, monkeypatch):
    """A player's folder goes, though it is nested beyond all paths, and what it links to stays."""
    outside, folder = tmp_path / "outside", tmp_path / "temporary"
    outside.mkdir()
    (outside / "file").touch()
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    bfenv.simulate(TRACE, player(DAEMON + NESTED.replace("OUTSIDE", repr(str(outside)))))
    assert not list(folder.iterdir()) and (outside / "file").exists() and not sleepers()


def test_killed_guard(tmp_path, monkeypatch):
    """The referee removes the folder of a player whose guard was killed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first = NESTED.replace("OUTSIDE", "'/'") + "os.kill(os.getppid(), 9); time.sleep(60)"
    with pytest.raises(PlayerKilledError, match="the process that guards it died .SIGKILL"):
        bfenv.simulate(TRACE, player(first))
    assert not list(tmp_path.iterdir())
