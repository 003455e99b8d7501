"""Sweeps: the same results in the same order, whoever does the work and how many."""

import os
import signal
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv
from bfenv.core.cluster import may_start, start, waiting
from bfenv.parallel.evaluation import evaluate
from bfenv.parallel.sweep import portable, read_shard, share, sweep

POLICIES = ["easy", "easy-aged-random", "easy(order=saf, lookahead=50)"]
WORKLOAD = "lublin:jobs=300,procs=64"


def greedy(cluster, jobs, memory):
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def faulty(cluster, jobs, memory):
    start(cluster, jobs, 10**6)


def told(schedules):
    return [(s.trace.name, len(s.trace), s.policy, s.seed, s.start.tolist()) for s in schedules]


def without_seconds(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_many_simulations_are_those_of_simulate_in_a_fixed_order():
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
        assert told(many) == expected
        assert many[0].trace is long
        assert all(schedule.check() is schedule for schedule in many)


def test_one_trace_one_policy_and_a_number_of_seeds_will_do():
    seeds = [s.seed for s in bfenv.simulate_many(WORKLOAD, "easy-aged-random", 3)]
    assert seeds == [0, 1, 2]
    assert [s.seed for s in bfenv.simulate_many(WORKLOAD, "easy", 3)] == [0]
    assert list(bfenv.simulate_many([], [])) == []


def test_a_policy_of_ones_own_goes_to_the_workers_itself():
    policy = bfenv.Policy(name="greedy", decide=greedy)
    trace = bfenv.load_workload(WORKLOAD)
    (one,) = bfenv.simulate_many(trace, policy)
    first, second = bfenv.simulate_many([trace, trace], policy, jobs=2)
    assert np.array_equal(one.start, first.start) and np.array_equal(one.start, second.start)
    assert portable(policy) is policy
    assert portable(bfenv.policies()["easy"]) == "easy"


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_goes_wrong_in_a_worker_is_raised_here(jobs):
    policy = bfenv.Policy(name="faulty", decide=faulty)
    with pytest.raises((bfenv.PolicyError, IndexError)):
        list(bfenv.simulate_many([WORKLOAD, WORKLOAD], policy, jobs=jobs))


def test_rows_do_not_depend_on_the_number_of_workers():
    one = evaluate(WORKLOAD, POLICIES, seeds=3)
    heard = []
    two = evaluate(WORKLOAD, POLICIES, seeds=3, jobs=2, done=heard.append)
    assert without_seconds(one) == without_seconds(two)
    assert len(heard) == len(one) == 9


def test_a_dask_cluster_gives_the_same(cluster):
    where = {"backend": "dask", "scheduler": cluster.scheduler_address}
    one = evaluate(WORKLOAD, POLICIES, seeds=2)
    assert without_seconds(evaluate(WORKLOAD, POLICIES, seeds=2, **where)) == without_seconds(one)
    trace = bfenv.load_workload(WORKLOAD)
    here = told(bfenv.simulate_many([trace, WORKLOAD], POLICIES, 2))
    assert told(bfenv.simulate_many([trace, WORKLOAD], POLICIES, 2, **where)) == here


def test_a_client_that_is_given_is_left_open(cluster):
    with cluster.get_client() as client:
        rows = evaluate(WORKLOAD, ["easy"], backend="dask", scheduler=client)
        assert without_seconds(rows) == without_seconds(evaluate(WORKLOAD, ["easy"]))
        assert client.status == "running"


@given(st.integers(0, 40), st.integers(1, 12))
def test_shards_are_disjoint_and_together_the_whole(tasks, parts):
    shares = [share(range(tasks), read_shard(f"{part + 1}/{parts}")) for part in range(parts)]
    assert sorted(chain(*shares)) == list(range(tasks))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_rows_of_shards_are_those_of_the_whole():
    whole = evaluate(WORKLOAD, POLICIES, seeds=2)
    shards = [evaluate(WORKLOAD, POLICIES, seeds=2, shard=(part, 3)) for part in (3, 1, 2)]
    rows = without_seconds(chain(*shards))
    assert sorted(map(str, rows)) == sorted(map(str, without_seconds(whole)))
    assert evaluate(WORKLOAD, ["easy"], shard=(2, 2)) == []


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "-1/3", "1/0", "", "1/3/5"])
def test_a_shard_that_is_none_is_refused(text):
    with pytest.raises(bfenv.BfenvError, match="a shard is like 3/20"):
        read_shard(text)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"jobs": 0}, "jobs is a number of processes"),
        ({"jobs": -2}, "not -2"),
        ({"backend": "lokey"}, "unknown backend 'lokey'; did you mean loky"),
        ({"backend": "dask"}, "needs the address of a scheduler"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "needs the address of a scheduler"),
        ({"backend": "dask", "scheduler": "nonsense://x"}, "no Dask scheduler answers at nonsense"),
    ],
)
def test_a_place_to_work_that_is_none_is_refused(where, message):
    with pytest.raises(bfenv.BfenvError, match=message):
        list(sweep(len, [((),)], **where))


def descendants(pid):
    """Process ids of the children, theirs and so on; Linux only."""
    children = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found, line = [], [pid]
    while line:
        line += children.get(line[0], [])
        found += children.get(line.pop(0), [])
    return found


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_end_from_outside_leaves_no_process_behind(how):
    program = (
        "import bfenv; ready = 0\n"
        "for s in bfenv.simulate_many('lublin:jobs=30000', ['easy'] * 1000, jobs=2):\n"
        "    print(flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=os.environ,
    )
    with process:
        process.stdout.readline()
        workers = descendants(process.pid)
        assert len(workers) >= 2
        if how is signal.SIGINT:  # as Ctrl-C in a terminal, which all processes hear
            os.killpg(process.pid, how)
        else:
            process.send_signal(how)
        process.stdout.read()
        process.wait(30)
    deadline = time.monotonic() + 30
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in workers if alive(pid)] == []
