"""Evaluations: one row for each competitor and case, the same on any number of workers."""

from itertools import chain

import pytest

import bfenv
from bfenv.analysis import summarize
from bfenv.analysis.logged import LOGGED
from bfenv.evaluation import evaluate, variant_cases, workload_cases
from bfenv.evaluation.evaluator import plan_runs
from bfenv.parallel.sweep import simulate_safely

POLICIES = ["easy", "easy-aged-random", "easy(order=saf, lookahead=50)"]
WORKLOAD = "lublin:jobs=300,procs=64"


def run(policies, workload=WORKLOAD, seeds=1, **options):
    return evaluate(policies, workload_cases(workload, seeds), **options)


def test_plan():
    """A seed generates jobs, or else decides for stochastic policies; the order is fixed."""
    plan = plan_runs(POLICIES, workload_cases(WORKLOAD, 2, 0.7))
    assert [(policy, dict(case.options)) for policy, case in plan] == [
        (policy, {"load": 0.7, "seed": seed}) for seed in (0, 1) for policy in POLICIES
    ]
    fixed = plan_runs(POLICIES, workload_cases(f"{WORKLOAD},seed=3", 2))
    assert [(policy, case.seed) for policy, case in fixed] == [
        *((policy, 0) for policy in POLICIES),
        ("easy-aged-random", 1),
    ]
    assert all(case.options == () for _, case in fixed)
    with pytest.raises(bfenv.UnknownNameError, match="'esay'"):
        plan_runs(["esay"], workload_cases(WORKLOAD))


def test_rows(site):
    """A row has the metrics of its simulation; what a log records is a competitor as well."""
    rows = run(POLICIES, seeds=2)
    schedule = bfenv.simulate(bfenv.load_workload(WORKLOAD, seed=1), "easy")
    row = next(row for row in rows if (row.policy, row.seed) == ("easy", 1))
    assert row.metrics == bfenv.metrics(schedule)
    assert row.flat()["mean_wait"] == row.metrics["mean_wait"] and row.seconds > 0
    assert row.jobs == 300 and row.processors == 64
    logged, fcfs = run([LOGGED, "fcfs"], str(site))
    assert (logged.kind, fcfs.metrics["log_close"]) == ("log", 1)
    assert [row.policy for row in run([LOGGED, "fcfs"])] == ["fcfs"]  # nothing is recorded


def test_full():
    """A full row is compared with EASY, has curves, and its schedule if that is kept."""
    trace = bfenv.load_workload(WORKLOAD)
    [row] = evaluate(["easy-sjf"], variant_cases({"as is": trace}), full=True, keep_schedules=True)
    easy, own, fair = (bfenv.simulate(trace, name) for name in ("easy", "easy-sjf", "fcfs"))
    expected = summarize(own, easy, fcfs=fair)
    assert row.metrics == expected["metrics"] and row.workload == "as is"
    assert row.versus.to_dict() == expected["versus"]
    assert row.schedule.start.tolist() == own.start.tolist() and row.schedule.trace is trace


def test_workers():
    """Rows do not depend on the number of workers, and `done` is called with each."""
    heard = []
    two = run(POLICIES, seeds=3, jobs=2, done=heard.append, keep_schedules=True)
    assert run(POLICIES, seeds=3) == two
    assert len(heard) == len(two) == 9
    assert sorted(map(str, heard)) == sorted(map(str, two))
    assert two[8].schedule.trace == bfenv.load_workload(WORKLOAD, seed=2)


def test_shards():
    """The rows of all shards are those of the whole; a shard may be empty."""
    shards = [run(POLICIES, seeds=2, shard=(part, 3)) for part in (3, 1, 2)]
    rows = {(row.policy, row.seed): row for row in chain(*shards)}
    assert list(rows.values()) != [] and len(rows) == 6
    assert all(rows[row.policy, row.seed] == row for row in run(POLICIES, seeds=2))
    assert run(["easy"], shard=(2, 2)) == []


def crash(cluster, jobs):
    raise KeyError("one\nline")


def leave(cluster, jobs):
    raise SystemExit(3)


@pytest.mark.parametrize(("decide", "cause"), [(crash, "KeyError: "), (leave, "SystemExit: 3")])
def test_failing_policy(decide, cause):
    """Whatever a policy raises becomes a PolicyError of one line: name, cause, file and line."""
    policy = bfenv.Policy(name="mine", decide=lambda cluster, jobs, memory: decide(cluster, jobs))
    trace = bfenv.load_workload(WORKLOAD)
    line = decide.__code__.co_firstlineno + 1
    with pytest.raises(bfenv.PolicyError) as error:
        simulate_safely(trace, policy, 0)
    [row] = run([policy])
    for text in (str(error.value), row.failure):
        assert text.startswith("mine failed, ") and cause in text and "\n" not in text
        assert text.endswith(f"(test_evaluator.py, line {line})")


@pytest.mark.parametrize("jobs", [1, 2])
def test_failed_runs(jobs):
    """A policy that fails has a failed row with what the engine says; the others have theirs."""
    idle = bfenv.Policy(name="idle", decide=lambda cluster, jobs, memory: None)
    rows = run([idle, "easy"], "lublin:jobs=50", 2, jobs=jobs)
    assert [(row.policy, row.seed, row.ok) for row in rows] == [
        ("idle", 0, False),
        ("easy", 0, True),
        ("idle", 1, False),
        ("easy", 1, True),
    ]
    text = "idle leaves 50 jobs waiting forever, the first is job 0"
    assert {row.error for row in rows} == {text, ""}
