"""Cheating players: none learns what it may not know, changes another's row, or gains rank."""

import os
import sys

import pytest

from bfenv.core.cache_folder import cache_root
from bfenv.leaderboard.run import run_suite
from bfenv.parallel.worker_process import call_in_worker
from judge_helpers.programs import BOXED, QUICK, why_no_sandbox
from tests.leaderboard.suites import TINY, json_rows, row_files

# Tries every cheat, then serves jobs in order. Its error names the cheats that succeeded.
CHEAT = """
import gc, os, sys
from bfenv.core.cluster import NEXT_JOB, finished, may_start, now, start, waiting
from bfenv.core.jobs import FOREVER, Trace

WORKLOAD, BOARD, CACHE = PATHS
IS_BOXED = BOXED
from cheating.referee_number import REFEREE


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


def read_workload(cluster, jobs):
    return opens(WORKLOAD)


def wrote_rows(cluster, jobs):
    return opens(os.path.join(BOARD, "rows", "mine.json"), "w")


def wrote_kernels(cluster, jobs):
    return opens(os.path.join(CACHE, "planted.nbc"), "w")


def wrote_itself(cluster, jobs):
    return opens(__file__, "a")


def read_beside(cluster, jobs):
    return opens(os.path.join(os.path.dirname(__file__), "other.py"))


ATTEMPTS = [collected, framed, looked_ahead]
if IS_BOXED:
    ATTEMPTS += [read_memory, read_workload, wrote_rows, wrote_kernels, wrote_itself, read_beside]
tried = []


def attempt(cheat, cluster, jobs):
    try:
        return cheat(cluster, jobs)
    except OSError:
        return False


def patch():
    import bfenv.analysis.summary as metrics
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
        if not tried:
            tried.append(True)
            self.look_around()
        return int(self.env.action_masks().argmax()), state

    def look_around(self):
        import copy
        from bfenv.envs.batch import EnvBatch
        for name in ("trace", "batch", "cluster", "copy_with_foresight", "snapshot"):
            assert not hasattr(self.env, name), name
        assert not any(isinstance(one, (Trace, EnvBatch)) for one in gc.get_objects())
        for act in (lambda: copy.deepcopy(self.env).step(0), lambda: self.env.reset()):
            try:
                act()
            except ValueError:
                continue
            raise AssertionError("it went where it may not")
"""


@pytest.fixture
def cheat(tmp_path, monkeypatch):
    """The name of the module, which can be imported."""
    modules, elsewhere = tmp_path / "modules", tmp_path / "elsewhere"
    modules.mkdir()
    (elsewhere / "rows").mkdir(parents=True)
    (elsewhere / "log.swf").write_text("; a log")
    (modules / "other.py").write_text("SECRET = 1")
    paths = str(elsewhere / "log.swf"), str(elsewhere), str(cache_root())
    code = CHEAT.replace("PATHS", repr(paths)).replace("BOXED", repr(LIMITS is BOXED))
    package = modules / "cheating"
    package.mkdir()
    (package / "__init__.py").write_text(code)
    referee = call_in_worker(os.getpid, timeout=60)  # the worker that makes the rows, too
    (package / "referee_number.py").write_text(f"REFEREE = {referee}")
    (modules / "module_that_exits.py").write_text("import sys\nsys.exit(0)")
    monkeypatch.syspath_prepend(modules)
    return "cheating"


# What files and other processes are closed to depends on the sandbox; the other cheats gain nothing
# without one, too.
LIMITS = QUICK if why_no_sandbox() else BOXED


def test_board(cheat, tmp_path):
    """Cheats learn nothing and write nowhere, and honest rows stay as they are, to the byte."""
    exits, policy, agent = "module_that_exits:policy", f"{cheat}:policy", f"{cheat}:Agent:window=8"
    run_suite(TINY, ["easy", "fcfs"], out=tmp_path / "honest")
    board = tmp_path / "board"
    run_suite(TINY, ["easy", "fcfs", policy, exits], [agent], out=board, limits=LIMITS)
    assert row_files(tmp_path / "honest").items() <= row_files(board).items()
    rows = {row["policy"]: row for row in json_rows(board)}
    fcfs, cheating = rows["fcfs"], rows[policy]
    assert cheating.get("error") == rows[agent].get("error") == ""
    assert cheating["metrics"] == fcfs["metrics"]
    assert cheating["workload_hash"] == fcfs["workload_hash"]
    assert cheating["foresight"] == rows[agent]["foresight"] == "none found"
    assert cheating["sandbox"] == rows[agent]["sandbox"] == LIMITS.sandbox
    assert not {"foresight", "sandbox"} & fcfs.keys()
    assert "SystemExit" in rows[exits]["error"]
    assert not set(sys.modules) & {"cheating", "module_that_exits"}
