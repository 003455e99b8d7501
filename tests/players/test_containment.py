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
from bfenv.players.limits import MIB, PlayerLimits
from bfenv.players.player_process import PlayerKilledError, PlayerProcess
from bfenv.players.remote_policy import greet
from tests.parallel.processes import descendants, is_alive
from tests.players.programs import QUICK, few_jobs, has_landlock, player, program

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


WRITES = (
    "files = []\n"
    "for i in range(4):\n"
    "    file = open(os.environ['TMPDIR'] + f'/{i}', 'wb', buffering=0)\n"
    "    files.append(file)\n"
    "    file.write(b'1' * 2 ** 19)\n"
    "    pass\n"
)


@pytest.mark.parametrize(
    ("first", "limits", "error"),
    [
        ("x = bytearray(200 * 2 ** 20)", {"memory": 100 * MIB}, r"died \(exit status 1\): Memory"),
        (
            "for i in range(4):\n"
            "    if os.fork() == 0:\n"
            "        x = b'1' * (60 * 2 ** 20)\n"
            "        time.sleep(60)\n"
            "time.sleep(60)",
            {"memory": 100 * MIB},
            "its processes took more than 104,857,600 bytes",
        ),
        (
            "while True:\n    os.fork() or time.sleep(60)",
            {"processes": 8},
            "it started more than 8 processes",
        ),
        (
            "import mmap\n"
            "x = mmap.mmap(-1, 200 * 2 ** 20)\n"
            "for i in range(0, len(x), 4096): x[i] = 1\n"
            "time.sleep(60)",
            {"memory": 100 * MIB},
            "its processes took more than 104,857,600 bytes",
        ),
        (
            "import threading\n"
            "for i in range(20):\n"
            "    threading.Thread(target=time.sleep, args=[60], daemon=True).start()\n"
            "time.sleep(60)",
            {"threads": 16},
            "its processes started more than 16 threads",
        ),
        (WRITES + "time.sleep(60)", {"files": MIB}, "it wrote files of more than 1,048,576 bytes"),
        (
            WRITES.replace("pass", "os.unlink(file.name)") + "time.sleep(60)",
            {"files": MIB},
            "it wrote files of more than 1,048,576 bytes",
        ),
        (
            "while True:\n    sys.stderr.write('x' * 65536)",
            {"stderr": MIB},
            "it wrote more than 1,048,576 bytes to stderr",
        ),
        ("time.sleep(60)", {"startup": 0.5}, "no decision within 0.5 s"),
        ("while True: pass", {"startup": 0.5}, "no decision within 0.5 s"),
    ],
    ids=[
        "memory",
        "memory of forks",
        "forks",
        "shared memory",
        "processes",
        "files",
        "removed files",
        "stderr",
        "sleep",
        "endless",
    ],
)
def test_limits(first, limits, error):
    """A player that takes more than it may is ended, and the error says what it took."""
    chosen = PlayerLimits(**({"startup": 30.0} | limits))
    with pytest.raises(bfenv.PolicyError, match=error):
        bfenv.simulate(TRACE, player(first, chosen))


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
        "from tests.players.programs import few_jobs, player\n"
        f"bfenv.simulate(few_jobs(), player({DAEMON + '; time.sleep(60)'!r}))\n"
    )
    referee = subprocess.Popen([sys.executable, "-c", program])
    with referee:
        deadline = time.monotonic() + 20
        while not sleepers() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert sleepers()
        referee.send_signal(signal.SIGKILL)
    while sleepers() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not sleepers()


def test_killed_guard():
    """A player whose guard is killed from outside ends with it, and the error says so."""
    others = set(descendants(os.getpid()))  # of other tests
    with PlayerProcess(program(), QUICK) as process:
        greet(process)
        guard = next(pid for pid in descendants(os.getpid()) if pid not in others)
        os.kill(guard, signal.SIGKILL)
        with pytest.raises(PlayerKilledError, match="the process that guards it died .SIGKILL"):
            for _ in range(10_000):  # until the player is ended, it may answer
                greet(process)
    assert not [pid for pid in descendants(os.getpid()) if pid not in others and is_alive(pid)]


def test_many_files(tmp_path):
    """A player may read thousands of files of a folder in which one is hidden."""
    for i in range(1500):
        (tmp_path / f"{i:0100}").touch()
    limits = QUICK.hiding([tmp_path / "log.swf"])
    (tmp_path / "log.swf").touch()
    with PlayerProcess(program(), replace(limits, reads=(str(tmp_path),))) as process:
        greet(process)


def test_no_such_program(tmp_path, monkeypatch):
    """A player that cannot be started leaves no open file and no folder behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = os.listdir("/proc/self/fd")
    with pytest.raises(bfenv.BfenvError, match="no such program"):
        PlayerProcess(["no-such-program"])
    assert os.listdir("/proc/self/fd") == before
    assert not list(tmp_path.iterdir())


def test_environment(monkeypatch):
    """A player does not inherit the environment, but for what programs need to run."""
    monkeypatch.setenv("SECRET_TOKEN", "123")
    first = "assert 'SECRET_TOKEN' not in os.environ and 'PATH' in os.environ"
    bfenv.simulate(TRACE, player(first))
    assert "SECRET_TOKEN" in os.environ


PROCESSES = """
for path in ('/proc/self/status', '/proc/thread-self/stat', '/proc/cpuinfo', '/dev/urandom'):
    open(path, 'rb').close()
for path in (f'/proc/{os.getppid()}/cmdline', '/proc/1/comm', '/proc/locks', '/dev/kmsg'):
    try:
        open(path)
    except PermissionError:
        continue
    raise AssertionError(path)
"""


@pytest.mark.skipif(not has_landlock(), reason="this kernel keeps no player from reading files")
def test_other_processes():
    """A player reads what the kernel tells of the machine and of itself, and not of others."""
    bfenv.simulate(TRACE, player(PROCESSES))


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
        deadline = time.monotonic() + 0.1
        process._send(b'{"message": "pass"}\n', deadline, 0.1)
        receive = process._receive_frame if is_frame else process._receive_line
        with pytest.raises(bfenv.PolicyError, match="no decision within 0.1 s"):
            receive(deadline, 0.1)


def test_unlisted_folder():
    """A folder that cannot be listed is removed with the others at the end."""
    name = f"unlisted-{os.getpid()}"
    bfenv.simulate(TRACE, player(f"os.makedirs(os.environ['TMPDIR'] + '/{name}/x', mode=0)"))
    assert not list(Path(tempfile.gettempdir()).glob(f"bfenv-player-*/{name}"))
