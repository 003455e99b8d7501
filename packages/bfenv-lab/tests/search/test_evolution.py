"""Scorers as expressions: their values are those of plain numpy."""

import re

import numpy as np
import pytest

import bfenv
import bfenv_lab.search.evolution as ev
from bfenv.knowledge.user_history import NAMES
from bfenv_lab.search.template import read_template

WIDTH = 2 + len(ev.FEATURES)  # of the row of a hidden unit


NUMPY = {"log": np.log, "exp": np.exp}


def written(weights):
    """The weights as an expression has them, rounded to four digits."""
    return np.array([float(f"{weight:.4g}") for weight in weights])


@pytest.mark.parametrize("hidden", [0, 1, ev.MOST_UNITS])
def test_values(hidden):
    """A scorer has the values of its matrices, to rounding; tanh units have the same order."""
    generator = np.random.default_rng(hidden)
    names = {name: generator.uniform(1, 50, 30) for name in NAMES}
    features = np.array([eval(text, NUMPY, names) for text in ev.FEATURES]).T
    size = hidden * WIDTH if hidden else len(ev.FEATURES)
    weights = 0.3 * generator.standard_normal(size)
    if not hidden:
        expected = features @ written(weights)
        assert eval(ev.linear_order(weights), NUMPY, names) == pytest.approx(expected, rel=1e-12)
        return
    outer, bias, inner = np.split(written(weights).reshape(hidden, WIDTH), [1, 2], axis=1)
    sums = features @ inner.T + bias.T
    expected = (1 / (1 + np.exp(sums))) @ outer[:, 0]
    found = eval(ev.network_order(weights), NUMPY, names)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-14)
    as_tanh = (outer[:, 0].sum() - np.tanh(sums / 2) @ outer[:, 0]) / 2
    assert as_tanh == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_largest_network(covariance):
    """The largest network is a policy, from the first generation on and after many."""
    pytest.importorskip("cma")
    search = ev.EvolutionSearch(
        read_template("guard={1:2}"),
        np.random.default_rng(1),
        population=4,
        hidden=ev.MOST_UNITS,
        covariance=covariance,
    )
    for _ in range(8):
        policies = search.ask()
        search.tell([float(len(policy)) for policy in policies])
    for policy in policies:
        assert bfenv.find_policy(policy).stateful
        assert len(re.findall(r"exp\(", policy)) == ev.MOST_UNITS
    assert (np.ndim(search.strategy.C) == 2) == (covariance == "full")  # else one scale per weight


def test_favorite():
    """The favorite is the mean of the distribution: at first the start, and ranges halfway."""
    pytest.importorskip("cma")
    template = read_template("guard={1.0:2}")
    search = ev.EvolutionSearch(template, np.random.default_rng(1), 4, ("size ** 2",))
    assert search.favorites() == ["easy(order='size ** 2', guard=1.41)"]
    for _ in range(30):  # smaller guards are better
        policies = search.ask()
        guards = [float(re.search("guard=([0-9.]+)", policy)[1]) for policy in policies]
        search.tell(guards)
    (favorite,) = search.favorites()
    assert float(re.search("guard=([0-9.]+)", favorite)[1]) < 1.2
