"""Evaluations: one row per run, the same on any number of workers."""

from itertools import chain

import pytest

import bfenv
from bfenv.parallel.evaluation import (
    Run,
    evaluate,
    evaluate_run,
    plan_evaluation,
    run_plan,
    simulate_safely,
)

POLICIES = ["easy", "easy-aged-random", "easy(order=saf, lookahead=50)"]
WORKLOAD = "lublin:jobs=300,procs=64"


def without_seconds(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_plan():
    """A seed generates jobs, or else decides for stochastic policies; the order is fixed."""
    runs = plan_evaluation(WORKLOAD, POLICIES, seeds=2, load=0.7)
    options = [{"load": 0.7, "seed": seed} for seed in (0, 0, 0, 1, 1, 1)]
    assert runs == [
        Run(WORKLOAD, each, policy, each["seed"])
        for each, policy in zip(options, POLICIES * 2, strict=True)
    ]
    fixed = plan_evaluation(f"{WORKLOAD},seed=3", POLICIES, seeds=2)
    assert [(run.policy, run.seed) for run in fixed] == [
        *((policy, 0) for policy in POLICIES),
        ("easy-aged-random", 1),
    ]
    assert all(run.options == {} for run in fixed)
    assert plan_evaluation(WORKLOAD, [], seeds=2) == []
    with pytest.raises(bfenv.UnknownNameError, match="'esay'"):
        plan_evaluation(f"{WORKLOAD},seed=3", ["esay"])


def test_evaluate_runs_the_plan():
    """`evaluate` is `plan_evaluation` and `run_plan`, and each row is that of its run."""
    plan = plan_evaluation(WORKLOAD, POLICIES, seeds=2)
    rows = without_seconds(run_plan(plan))
    assert rows == without_seconds(evaluate(WORKLOAD, POLICIES, seeds=2))
    assert rows == without_seconds(evaluate_run(*run) for run in plan)
    schedule = bfenv.simulate(bfenv.load_workload(WORKLOAD, seed=1), "easy")
    row = next(row for row in rows if (row["policy"], row["seed"]) == ("easy", 1))
    assert row["mean_wait"] == bfenv.metrics(schedule)["mean_wait"]
    assert row["jobs"] == 300 and row["processors"] == 64


def test_workers():
    """Rows do not depend on the number of workers, and `done` is called with each."""
    one = evaluate(WORKLOAD, POLICIES, seeds=3)
    heard = []
    two = evaluate(WORKLOAD, POLICIES, seeds=3, jobs=2, done=heard.append)
    assert without_seconds(one) == without_seconds(two)
    assert len(heard) == len(one) == 9
    assert sorted(map(str, heard)) == sorted(map(str, two))


def test_dask(cluster):
    """A Dask cluster gives the same rows."""
    where = {"backend": "dask", "scheduler": cluster.scheduler_address}
    one = evaluate(WORKLOAD, POLICIES, seeds=2)
    assert without_seconds(evaluate(WORKLOAD, POLICIES, seeds=2, **where)) == without_seconds(one)


def test_shards():
    """The rows of all shards are those of the whole; a shard may be empty."""
    whole = evaluate(WORKLOAD, POLICIES, seeds=2)
    shards = [evaluate(WORKLOAD, POLICIES, seeds=2, shard=(part, 3)) for part in (3, 1, 2)]
    rows = without_seconds(chain(*shards))
    assert sorted(map(str, rows)) == sorted(map(str, without_seconds(whole)))
    assert evaluate(WORKLOAD, ["easy"], shard=(2, 2)) == []


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
    for call in (lambda: simulate_safely(trace, policy, 0), lambda: evaluate(WORKLOAD, [policy])):
        with pytest.raises(bfenv.PolicyError) as error:
            call()
        text = str(error.value)
        assert text.startswith("mine failed, ") and cause in text and "\n" not in text
        assert text.endswith(f"(test_evaluation.py, line {line})")


def test_waiting_for_ever():
    """The error of a policy that starts nothing counts the jobs of the run, not of a warm-up."""
    policy = bfenv.Policy(name="idle", decide=lambda cluster, jobs, memory: None)
    with pytest.raises(bfenv.PolicyError, match=r"^idle leaves 50 jobs waiting .* first is job 0$"):
        evaluate("lublin:jobs=50", [policy])


@pytest.mark.parametrize("jobs", [1, 2])
def test_failed_runs(jobs):
    """Runs that fail are given to `failed` in the order of the plan; the others have their rows."""
    idle = bfenv.Policy(name="idle", decide=lambda cluster, jobs, memory: None)
    failed = []
    rows = run_plan(
        plan_evaluation("lublin:jobs=50", [idle, "easy"], 2),
        failed=lambda run, error: failed.append((run.seed, str(error))),
        jobs=jobs,
    )
    assert [(row["policy"], row["seed"]) for row in rows] == [("easy", 0), ("easy", 1)]
    text = "idle leaves 50 jobs waiting forever, the first is job 0"
    assert failed == [(0, text), (1, text)]


def test_a_bfenv_error_is_raised_as_it_is():
    """What the engine says about a policy is not rephrased."""

    def idle(cluster, jobs, memory):
        pass

    policy = bfenv.Policy(name="idle", decide=idle)
    trace = bfenv.load_workload(WORKLOAD)
    with pytest.raises(bfenv.PolicyError) as expected:
        bfenv.simulate(trace, policy)
    with pytest.raises(bfenv.PolicyError) as error:
        simulate_safely(trace, policy, 0)
    assert str(error.value) == str(expected.value)
