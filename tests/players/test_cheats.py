"""Cheating players: none learns what it may not know, changes another's row, or gains rank."""

import os
import socket
import sys

import pytest

from bfenv.core.cache_folder import cache_root
from bfenv.leaderboard.run import run_suite
from bfenv.parallel.worker_process import call_in_worker
from tests.leaderboard.suites import TINY, json_rows, row_files
from tests.players.programs import has_landlock

# Serves jobs in order, and tries every cheat before. What succeeds is told in an error.
CHEAT = """
import ctypes, gc, os, random, resource, signal, socket, sys
from bfenv.core.cluster import NEXT_JOB, finished, may_start, now, start, waiting
from bfenv.core.jobs import FOREVER, Trace

WORKLOAD, BOARD, CACHE = PATHS
KEY = 0x62666E76  # of what would outlive this process
from referee_number import REFEREE

try:
    os.kill(REFEREE, 0)  # ProcessLookupError if there is no such process
except PermissionError:
    pass


def opens(path, mode="r"):
    with open(path, mode) as file:
        if mode == "r":
            file.read(1)
    return True


def knows(trace, known):
    future = set(trace.jobs.submit[known:].tolist())
    return len(future) > 1 or (trace.runtime[trace.runtime > 1] < FOREVER).all()


def collected(cluster, jobs):
    known = cluster.state[NEXT_JOB]
    traces = [one for one in gc.get_objects() if isinstance(one, Trace)]
    return any(knows(trace, known) for trace in traces)


def framed(cluster, jobs):
    frame, known = sys._getframe(), cluster.state[NEXT_JOB]
    while frame:
        found = [*frame.f_locals.values(), *frame.f_globals.values()]
        if any(isinstance(one, Trace) and knows(one, known) for one in found):
            return True
        frame = frame.f_back
    return False


def looked_ahead(cluster, jobs):
    known = cluster.state[NEXT_JOB]
    return any(len(set(column[known:].tolist())) > 1 for column in jobs)


def read_memory(cluster, jobs):
    return opens(f"/proc/{REFEREE}/maps") or opens(f"/proc/{REFEREE}/mem", "rb")


def read_environment(cluster, jobs):
    return opens(f"/proc/{REFEREE}/environ")


def read_command(cluster, jobs):
    return opens(f"/proc/{REFEREE}/cmdline")


def read_files(cluster, jobs):
    return any(os.readlink(f"/proc/{REFEREE}/fd/{i}") for i in range(3))


def traced(cluster, jobs):
    return ctypes.CDLL(None).ptrace(16, REFEREE, 0, 0) == 0


def signalled(cluster, jobs):
    os.kill(REFEREE, signal.SIGCONT)
    return True


def signalled_guard(cluster, jobs):
    os.kill(os.getppid(), signal.SIGCONT)
    return True


def read_workload(cluster, jobs):
    return opens(WORKLOAD)


def wrote_rows(cluster, jobs):
    return opens(os.path.join(BOARD, "rows", "mine.json"), "w")


def wrote_kernels(cluster, jobs):
    return opens(os.path.join(CACHE, "planted.nbc"), "w")


def wrote_itself(cluster, jobs):
    return opens(__file__, "a")


def read_beside(cluster, jobs):
    folder = os.path.dirname(__file__)
    return opens(os.path.join(folder, "salt")) or opens(os.path.join(folder, "board", "suite.json"))


def left_mode(cluster, jobs):
    os.chmod(__file__, 0o600)
    return True


def left_time(cluster, jobs):
    os.utime(__file__, (1, 1))
    return True


def left_attribute(cluster, jobs):
    os.setxattr(__file__, "user.runtimes", b"1")
    return True


def left_memory(cluster, jobs):
    return ctypes.CDLL(None).shmget(KEY, 4096, 0o1600) >= 0


def left_queue(cluster, jobs):
    return ctypes.CDLL(None).msgget(KEY, 0o1600) >= 0


def limited(cluster, jobs):
    return bool(resource.prlimit(REFEREE, resource.RLIMIT_NOFILE))


def slowed(cluster, jobs):
    os.sched_setaffinity(REFEREE, {0})
    return True


def sent(cluster, jobs):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"1", ("127.0.0.1", 9))
    return True


def talked(cluster, jobs):
    socket.socket(socket.AF_UNIX).connect(os.path.join(BOARD, "service"))
    return True


def connected(cluster, jobs):
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=1)
    except ConnectionRefusedError:
        pass
    return True


ATTEMPTS = [
    collected, framed, looked_ahead, read_memory, read_environment, read_files, traced, signalled,
    signalled_guard, read_workload, wrote_rows, wrote_kernels, wrote_itself, connected,
    read_beside, left_mode, left_time, left_attribute, left_memory, left_queue, limited, slowed,
    sent, talked, read_command,
]
tried = []


def attempt(cheat, cluster, jobs):
    try:
        return cheat(cluster, jobs)
    except OSError:
        return False


def patch():
    import bfenv.analysis.schedule_metrics as metrics
    import bfenv.core.schedule as schedule
    import bfenv.evaluation.row as row
    metrics.metrics = lambda schedule: {}
    schedule.Schedule.check = lambda self: self
    row.Row.with_results = lambda self, results: self


def policy(cluster, jobs):
    if not tried:
        tried.append(True)
        worked = [cheat.__name__ for cheat in ATTEMPTS if attempt(cheat, cluster, jobs)]
        if worked:
            raise RuntimeError(", ".join(worked))
        patch()
    for job in finished(cluster):  # rewrites history
        cluster.end[job] = jobs.submit[job] + 1
        cluster.start[job] = jobs.submit[job]
    for job in waiting(cluster):
        if not may_start(cluster, jobs, job):
            break
        start(cluster, jobs, job)


class Agent:
    stochastic = False

    def __init__(self, env):
        self.env = env

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        import copy
        from bfenv.envs.batch import EnvBatch
        for name in ("trace", "batch", "cluster", "copy_with_foresight", "snapshot"):
            assert not hasattr(self.env, name), name
        for one in gc.get_objects():
            assert not isinstance(one, (Trace, EnvBatch))
        for act in (lambda: copy.deepcopy(self.env).step(0), lambda: self.env.reset()):
            try:
                act()
            except ValueError:
                continue
            raise AssertionError("it went where it may not")
        return int(self.env.action_masks().argmax()), state
"""


@pytest.fixture
def cheat(tmp_path, monkeypatch):
    """The name of the module, which can be imported."""
    if not has_landlock():
        pytest.skip("this kernel keeps no player from what its user may do")
    modules, elsewhere = tmp_path / "modules", tmp_path / "elsewhere"
    modules.mkdir()
    elsewhere.mkdir()
    (elsewhere / "rows").mkdir()
    (elsewhere / "log.swf").write_text("; a log")
    (modules / "board").mkdir()
    for secret in ("salt", "board/suite.json"):
        (modules / secret).write_text("secret")
    paths = str(elsewhere / "log.swf"), str(elsewhere), str(cache_root())
    (modules / "cheating.py").write_text(CHEAT.replace("PATHS", repr(paths)))
    monkeypatch.syspath_prepend(modules)
    with socket.socket(socket.AF_UNIX) as service:
        monkeypatch.chdir(elsewhere)  # the path of a socket must be short
        service.bind("service")
        service.listen()
        yield "cheating"


STOPS = """
import os, sys

class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no message")

def failing(cluster, jobs):
    raise Silent

if "stops" in HOW:
    os._exit(0)
if "exits" in HOW:
    sys.exit(0)
"""


@pytest.mark.slow
def test_board(cheat, tmp_path):
    """Cheats learn nothing and write nowhere, and honest rows stay as they are, to the byte."""
    names = [f"module_that_{how}:failing" for how in ("stops", "exits", "is_silent")]
    for name in names:
        module = name.partition(":")[0]
        (tmp_path / "modules" / f"{module}.py").write_text(STOPS.replace("HOW", repr(module)))
    run_suite(TINY, ["easy", "fcfs"], out=tmp_path / "honest")
    honest = row_files(tmp_path / "honest")
    agent = f"{cheat}:Agent:window=8"
    board = tmp_path / "board"
    referee = call_in_worker(os.getpid, timeout=60)  # the worker that makes the rows, too
    (tmp_path / "modules" / "referee_number.py").write_text(f"REFEREE = {referee}")
    run_suite(TINY, ["easy", "fcfs", f"{cheat}:policy", *names], [agent], out=board)
    assert honest.items() <= row_files(board).items()
    rows = {row["policy"]: row for row in json_rows(board)}
    fcfs, cheating = rows["fcfs"], rows[f"{cheat}:policy"]
    assert cheating.get("error") == rows[agent].get("error") == ""
    assert cheating["metrics"] == fcfs["metrics"]
    assert cheating["workload_hash"] == fcfs["workload_hash"]
    assert cheating["foresight"] == rows[agent]["foresight"] == "none found"
    assert "foresight" not in fcfs
    stops, exits, silent = (rows[name]["error"] for name in names)
    assert stops == "its process died (exit status 0)"
    assert "SystemExit" in exits
    assert silent == "Silent, whose message cannot be shown (module_that_is_silent.py, line 9)"
    assert not set(sys.modules) & {name.partition(":")[0] for name in (cheat, *names)}
