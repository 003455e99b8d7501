"""Scorers as expressions: their values are those of plain numpy."""

import re

import numpy as np
import pytest

import bfenv
from bfenv.agents.search.evolution import (
    FEATURES,
    MOST_UNITS,
    EvolutionSearch,
    linear_order,
    network_order,
)
from bfenv.agents.search.template import read_template
from bfenv.core.cluster import start, waiting
from bfenv.core.events import advance, new_cluster
from bfenv.knowledge.expression_program import new_columns, parse_expression, score_jobs
from bfenv.knowledge.user_history import NAMES, count_jobs, learn, new_user_history, quantity

WIDTH = 2 + len(FEATURES)  # of the row of a hidden unit


@pytest.fixture(scope="module")
def machine():
    """A machine with waiting jobs of users of whom some jobs have ended."""
    generator = np.random.default_rng(5)
    trace = bfenv.make_trace(
        np.arange(60),
        generator.integers(1, 9, 60),
        generator.integers(1, 30, 60),
        8,
        estimate=generator.integers(50, 99, 60),
        user=generator.integers(-1, 4, 60),
    )
    cluster, jobs, truth = new_cluster(trace)
    history = new_user_history(jobs)
    for _ in range(70):
        assert advance(cluster, jobs, truth)
        learn(history, cluster, jobs)
        for job in waiting(cluster).tolist():
            if jobs.size[job] <= cluster.state[1] and job % 2:
                start(cluster, jobs, job)
    assert advance(cluster, jobs, truth)
    learn(history, cluster, jobs)
    count_jobs(history, cluster, jobs, True, True)
    assert history.ended.min() > 0 and len(waiting(cluster)) > 20
    return cluster, jobs, history


def features(machine):
    """The features of the waiting jobs, (jobs, features)."""
    cluster, jobs, history = machine
    queue = waiting(cluster)
    names = {
        name: np.array([quantity(history, cluster, jobs, job, which) for job in queue])
        for which, name in enumerate(NAMES)
    }
    return np.array([eval(text, {"log": np.log}, names) for text in FEATURES]).T


def values(order, machine):
    """The values of the waiting jobs, computed by compiled code."""
    cluster, jobs, history = machine
    program, value = parse_expression(order), np.empty(len(jobs.submit))
    columns = new_columns(program, len(value))
    score_jobs(program, columns, history, cluster, jobs, waiting(cluster), value)
    return value[waiting(cluster)]


def written(weights):
    """The weights as an expression has them, rounded to four digits."""
    return np.array([float(f"{weight:.4g}") for weight in weights])


@pytest.mark.parametrize("hidden", range(MOST_UNITS + 1))
def test_values(machine, hidden):
    """A scorer has the values of its matrices, to rounding; tanh units have the same order."""
    size = hidden * WIDTH if hidden else len(FEATURES)
    weights = 0.3 * np.random.default_rng(hidden).standard_normal(size)
    if not hidden:
        expected = features(machine) @ written(weights)
        assert values(linear_order(weights), machine) == pytest.approx(expected, rel=1e-12)
        return
    outer, bias, inner = np.split(written(weights).reshape(hidden, WIDTH), [1, 2], axis=1)
    sums = features(machine) @ inner.T + bias.T
    expected = (1 / (1 + np.exp(sums))) @ outer[:, 0]
    found = values(network_order(weights), machine)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-14)
    as_tanh = (outer[:, 0].sum() - np.tanh(sums / 2) @ outer[:, 0]) / 2
    assert as_tanh == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_largest_network(covariance):
    """The largest network is a policy, from the first generation on and after many."""
    pytest.importorskip("cma")
    search = EvolutionSearch(
        read_template("guard={1:2}"),
        np.random.default_rng(1),
        population=4,
        hidden=MOST_UNITS,
        covariance=covariance,
    )
    for _ in range(30):
        policies = search.ask()
        search.tell([float(len(policy)) for policy in policies])
    for policy in policies:
        assert bfenv.find_policy(policy).stateful
        assert len(re.findall(r"exp\(", policy)) == MOST_UNITS
    assert (np.ndim(search.strategy.C) == 2) == (covariance == "full")  # else one scale per weight
