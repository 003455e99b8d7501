"""Sweeps: the same results in the same order, however many processes do the work."""

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv
from bfenv.core.cluster import may_start, start, waiting
from bfenv.core.errors import BfenvError
from bfenv.parallel.shards import read_shard, take_shard
from bfenv.parallel.sweep import portable, run_tasks
from tests.parallel.processes import descendants, is_alive

POLICIES = ["easy", "easy-aged-random", "easy(order=saf, lookahead=50)"]
WORKLOAD = "lublin:jobs=300,procs=64"


def greedy(cluster, jobs, memory):
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def faulty(cluster, jobs, memory):
    start(cluster, jobs, 10**6)


def identity(schedules):
    return [(s.trace.name, len(s.trace), s.policy, s.seed, s.start.tolist()) for s in schedules]


def test_order():
    """The schedules are those of `simulate`, trace by trace, policy by policy, seed by seed."""
    long = bfenv.load_workload("lublin:jobs=3000")  # arrays large enough to be shared as files
    traces = [long, WORKLOAD]
    expected = []
    for trace in (long, bfenv.load_workload(WORKLOAD)):
        for policy in POLICIES:
            for seed in (3, 5) if policy == "easy-aged-random" else (3,):
                schedule = bfenv.simulate(trace, policy, seed)
                expected.append((trace.name, len(trace), policy, seed, schedule.start.tolist()))
    for jobs in (1, 2):
        many = list(bfenv.simulate_many(traces, POLICIES, (3, 5), jobs=jobs))
        assert identity(many) == expected
        assert many[0].trace is long
        assert all(schedule.check() is schedule for schedule in many)


def test_single_arguments():
    """One trace, one policy and a number of seeds need no lists."""
    for count in (3, np.int64(3)):
        schedules = bfenv.simulate_many(WORKLOAD, "easy-aged-random", count)
        assert [schedule.seed for schedule in schedules] == [0, 1, 2]
    with pytest.raises(BfenvError, match="seeds must be an integer >= 1, got -1"):
        bfenv.simulate_many(WORKLOAD, "easy-aged-random", -1)
    assert [s.seed for s in bfenv.simulate_many(WORKLOAD, "easy", 3)] == [0]
    assert list(bfenv.simulate_many([], [])) == []


def test_all_fields():
    """A schedule from a worker has all fields, trials and records included."""
    trace = bfenv.load_workload(WORKLOAD)
    for policy in ("multiqueue", "conservative"):
        expected = bfenv.simulate(trace, policy)
        for schedule in bfenv.simulate_many([trace, trace], policy, jobs=2):
            assert schedule.trace is trace
            for name in ("start", "end", "trial_start", "trial_end"):
                assert np.array_equal(getattr(schedule, name), getattr(expected, name))
            assert schedule.records.keys() == expected.records.keys()
            for name, values in expected.records.items():
                assert np.array_equal(schedule.records[name], values)


def test_own_policy():
    """A policy that is not registered goes to the workers itself, another by its name."""
    policy = bfenv.Policy(name="greedy", decide=greedy)
    trace = bfenv.load_workload(WORKLOAD)
    (one,) = bfenv.simulate_many(trace, policy)
    first, second = bfenv.simulate_many([trace, trace], policy, jobs=2)
    assert np.array_equal(one.start, first.start) and np.array_equal(one.start, second.start)
    assert portable(policy) is policy
    assert portable(bfenv.policies()["easy"]) == "easy"


@pytest.mark.parametrize("jobs", [1, 2])
def test_error_in_a_worker(jobs):
    """An exception of a task is raised by the sweep."""
    policy = bfenv.Policy(name="faulty", decide=faulty)
    with pytest.raises((bfenv.PolicyError, IndexError)):
        list(bfenv.simulate_many([WORKLOAD, WORKLOAD], policy, jobs=jobs))


def test_folder(tmp_path, monkeypatch):
    """Relative paths mean the same in workers as here, also in workers that are used again."""
    for folder in (tmp_path, os.getcwd()):
        monkeypatch.chdir(folder)
        assert {result for _, result in run_tasks(os.getcwd, [()] * 4, jobs=2)} == {str(folder)}


def test_file_of_the_folder(tmp_path):
    """A file of the current folder does not take the place of a module of Python in workers."""
    for name in ("queue.py", "copy.py"):
        (tmp_path / name).write_text("raise SystemExit('imported')")
    program = (
        "import os; from bfenv.parallel.sweep import run_tasks;"
        "print([n for _, n in run_tasks(abs, [(-1,)] * 3, jobs=2)], os.getenv('PYTHONSAFEPATH'))"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"},
        capture_output=True,
        text=True,
    )
    assert ran.stdout == "[1, 1, 1] None\n", ran.stderr


def test_closed_early():
    """Who stops a sweep while workers are busy gets no warning, which would be an error here."""
    results = run_tasks(time.sleep, [(0.2,)] * 10, jobs=2)
    next(results)
    results.close()


def test_threads():
    """Workers that a thread has started serve others after that thread has ended."""

    def run():
        return len(list(bfenv.simulate_many(WORKLOAD, POLICIES, jobs=2)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert run() == len(POLICIES)


def test_dask(cluster):
    """A Dask cluster gives the same schedules."""
    where = {"backend": "dask", "scheduler": cluster.scheduler_address}
    trace = bfenv.load_workload(WORKLOAD)
    here = identity(bfenv.simulate_many([trace, WORKLOAD], POLICIES, 2))
    assert identity(bfenv.simulate_many([trace, WORKLOAD], POLICIES, 2, **where)) == here


def test_own_client(cluster):
    """A client that you pass is used and left open."""
    with cluster.get_client() as client:
        sizes = dict(run_tasks(len, [("ab",), ("c",)], backend="dask", scheduler=client))
        assert sizes == {0: 2, 1: 1}
        assert client.status == "running"


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ({"jobs": 0}, "0"),
        ({"jobs": -2}, "-2"),
        ({"backend": "lokey"}, "'lokey'"),
        ({"backend": "dask"}, "scheduler None"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "tcp://127.0.0.1:1"),
        ({"backend": "dask", "scheduler": "nonsense://x"}, "nonsense://x"),
    ],
)
def test_bad_workers(where, named):
    """A place to run that does not exist is refused by name."""
    with pytest.raises(bfenv.BfenvError) as error:
        list(run_tasks(len, [((),)], **where))
    assert named in str(error.value)


PROGRAM = (
    "import bfenv\n"
    "for s in bfenv.simulate_many('lublin:jobs=3000', ['easy'] * 1000, jobs=2):\n"
    "    print(flush=True)\n"
)


def start_sweep():
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=os.environ,
    )


def left_of(workers):
    """Those processes that do not end within half a minute."""
    deadline = time.monotonic() + 30
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [pid for pid in workers if is_alive(pid)]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "how",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGINT, marks=pytest.mark.thorough),
        pytest.param(signal.SIGTERM, marks=pytest.mark.thorough),
    ],
)
def test_killed(how):
    """No process is left behind, however the sweep is ended from outside."""
    process = start_sweep()
    with process:
        process.stdout.readline()
        workers = descendants(process.pid)
        assert len(workers) >= 2
        if how is signal.SIGINT:  # as Ctrl-C in a terminal, which goes to all processes
            os.killpg(process.pid, how)
        else:
            process.send_signal(how)
        process.stdout.read()
        process.wait(30)
    assert left_of(workers) == []


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_killed_early():
    """Workers that have had no task yet end with a killed sweep, too."""
    with start_sweep() as process:
        while len(workers := descendants(process.pid)) < 4:  # two of them track resources
            assert process.poll() is None
        process.kill()
    assert left_of(workers) == []


@given(st.integers(0, 40), st.integers(1, 12))
def test_partition(tasks, parts):
    """Shards are disjoint, make up the whole, and differ in size by at most one."""
    shards = [take_shard(range(tasks), read_shard(f"{part + 1}/{parts}")) for part in range(parts)]
    assert sorted(chain(*shards)) == list(range(tasks))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "-1/3", "1/0", "", "1/3/5"])
def test_bad_shard(text):
    """Anything but I/N with 1 <= I <= N is refused by name."""
    with pytest.raises(BfenvError) as error:
        read_shard(text)
    assert repr(text) in str(error.value)
