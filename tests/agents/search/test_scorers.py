"""Scorers as policies, and many evaluated at once."""

import math
import pickle

import numpy as np
import pytest

import bfenv
from bfenv.agents.search import METRICS, dimension, evaluate_many, scorer, weights
from bfenv.baselines.registry import find_policy
from bfenv.workloads.transform import split_range
from tests.agents.search.scoring_traces import HIDDEN, hard


@pytest.mark.parametrize("hidden", HIDDEN)
def test_evaluate_many(hidden):
    """Many at once have the metrics of each alone."""
    trace = hard()
    thetas = np.random.default_rng(1).normal(size=(6, dimension(hidden)))
    results = evaluate_many(trace, thetas, hidden)
    assert results.shape == (6, len(METRICS))
    for theta, result in zip(thetas, results, strict=True):
        expected = bfenv.metrics(bfenv.simulate(trace, scorer(theta, hidden)).check())
        assert result == pytest.approx([expected[name] for name in METRICS], rel=1e-12)
        assert result[METRICS.index("max_wait")] == expected["max_wait"]
    assert len(set(results[:, 0])) > 3


def test_independent(monkeypatch):
    """No evaluation knows of the one before."""
    trace = hard()
    thetas = np.random.default_rng(2).normal(size=(5, dimension()))
    together = evaluate_many(trace, thetas)
    backwards = evaluate_many(trace, thetas[::-1])[::-1]
    monkeypatch.setattr("bfenv.agents.search.scorers.JOBS_PER_CALL", 2 * len(trace))
    assert np.array_equal(together, backwards)
    assert np.array_equal(together, evaluate_many(trace, thetas))
    assert np.array_equal(together[2], evaluate_many(trace, thetas[2])[0])
    assert evaluate_many(trace, np.empty((0, dimension()))).shape == (0, len(METRICS))


def test_search():
    """An evolution strategy of ten generations of eight; what it costs others is not claimed."""
    whole = bfenv.load_workload("lublin", procs=64, jobs=3000, load=0.9, seed=4)
    trace = whole[slice(*split_range(whole, "train"))]
    generator = np.random.default_rng(0)
    mean, best = np.zeros(dimension()), math.inf
    for _ in range(10):
        thetas = mean + generator.normal(size=(8, dimension()))
        slowdown = evaluate_many(trace, thetas)[:, 0]
        mean = thetas[np.argsort(slowdown)[:2]].mean(axis=0)
        if slowdown.min() < best:
            best, theta = slowdown.min(), thetas[slowdown.argmin()]
    easy = bfenv.metrics(bfenv.simulate(trace, "easy"))["mean_bounded_slowdown"]
    found = bfenv.metrics(bfenv.simulate(trace, scorer(theta)))["mean_bounded_slowdown"]
    assert found == pytest.approx(best) and found < 0.7 * easy


@pytest.mark.parametrize("hidden", HIDDEN)
def test_name(hidden):
    """Its name is the expression that makes it, and it survives pickling."""
    trace = hard()
    policy = scorer(np.random.default_rng(0).normal(size=dimension(hidden)), hidden)
    start = bfenv.simulate(trace, policy).start
    for twin in (find_policy(policy.name), pickle.loads(pickle.dumps(policy))):
        assert twin.name == policy.name
        assert np.array_equal(bfenv.simulate(trace, twin).start, start)
    assert scorer(weights(size=1), name="mine").name == "mine"


def test_stateful():
    """It must see every pass only if it has a weight on users' accuracy."""
    assert not scorer(weights(wait=1)).stateful
    assert scorer(weights(accuracy=1e-9)).stateful
    assert scorer([*np.zeros(11), *weights(accuracy=1), 1, 1], hidden=2).stateful


@pytest.mark.parametrize(
    "theta, hidden, message",
    [
        ([0.0] * 10, 0, "theta .*11 .*hidden=0"),
        ([0.0] * 11, 1, "theta .*12 .*hidden=1"),
        ([math.nan] * 11, 0, r"theta\[0\] .*nan"),
        ([0.0] * 10 + [2.0**53], 0, r"theta\[10\] .*9007199254740992"),
        ("sjf", 0, "theta .*'sjf'"),
        ([0.0] * 11, True, "hidden .*True"),
        ([0.0] * 11, 0.5, "hidden .*0.5"),
    ],
)
def test_parameters(theta, hidden, message):
    """Wrong parameters are refused, naming what is wrong."""
    with pytest.raises(bfenv.PolicyError, match=message):
        scorer(theta, hidden)
    if not isinstance(theta, str):
        with pytest.raises(bfenv.PolicyError, match=message):
            evaluate_many(hard(), [theta], hidden)


def test_refused():
    """A weight on an unknown feature, and requested starts, are refused."""
    with pytest.raises(bfenv.UnknownNameError, match="did you mean estimate"):
        weights(estimates=1)
    trace = bfenv.make_trace([0], [1], [1], 1, requested_start=[5])
    with pytest.raises(bfenv.PolicyError, match="requested start times"):
        evaluate_many(trace, [weights()])
