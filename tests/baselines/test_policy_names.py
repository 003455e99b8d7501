"""Policies made from options: their names, their flags, and options that cannot be."""

import math
import pickle

import pytest

from bfenv.baselines.cons_rs import cons_rs
from bfenv.baselines.conservative import conservative
from bfenv.baselines.easy_orders import easy
from bfenv.baselines.los import los
from bfenv.baselines.multiqueue import multiqueue
from bfenv.baselines.policy_names import expression, family_name
from bfenv.baselines.registry import find_policy
from bfenv.baselines.selective import selective
from bfenv.baselines.slack import relaxed, slack
from bfenv.baselines.speculative import easy_speculative
from bfenv.core.errors import PolicyError


def some_family(order="fcfs", bounds=(1, 2), weight=None):
    """Make nothing: only the signature counts."""


def test_defaults_are_left_out():
    """A value counts as given if it differs from the default of the signature."""
    assert family_name(some_family) == "some-family"
    options = {"order": "fcfs", "bounds": (1, 2), "weight": None}
    assert expression(some_family, options) == "some-family"
    options = {"order": "sjf", "bounds": (5,), "weight": 0.5}
    assert expression(some_family, options) == "some-family(order=sjf, bounds=(5,), weight=0.5)"


@pytest.mark.parametrize(
    "text",
    [
        "easy(order=wfp3, backfill=sjf, reservations=all, lookahead=100)",
        "easy(order='log(estimate) * size', backfill='max(wait, size)', lookahead=100)",
        "easy(order=sjf, guard=1.5, backfill_estimate=0.9 * prediction, trial=180)",
        "easy(reservations=all, guard=0.5)",
        "queue",
        "queue(order='max(wait, size)')",
        "queue(order=aged-random)",
        "conservative(order=aged-sjf, guarantees=False, weight=0.5)",
        "cons-rs(iterations=7)",
        "cons-rs(limit_ms=50)",
        "multiqueue(bounds=(5,), speculation=0, tried_above=9)",
        "easy-speculative(speculation=60)",
        "los",
        "los(basic=True, selected_first=True, merit=jobs, lookahead=None, counts=fitting)",
        "selective(threshold=1.5)",
        "slack(seconds=60)",
        "relaxed(factor=0.5)",
    ],
)
def test_names_read_again(text):
    """Reading a name gives a policy of that name, with a summary; so does a pickled one."""
    policy = find_policy(text)
    assert policy.name == text and policy.summary
    assert pickle.loads(pickle.dumps(policy)).name == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("easy()", "easy"),
        ("queue()", "queue"),
        ("conservative()", "conservative"),
        ("slack()", "slack"),
        ("relaxed(factor=1)", "relaxed"),
        ("selective(threshold=2)", "selective"),
        ("los(merit=none)", "los"),
        ("easy(trial=3min, trial_above=2h)", "easy(trial=180, trial_above=7200)"),
        ("slack(seconds=2h)", "slack(seconds=7200)"),
        ("easy-speculative(speculation=3min)", "easy-speculative"),
        (
            "multiqueue(bounds=(10min, 2h), tried_above=90s)",
            "multiqueue(bounds=(600, 7200), tried_above=90)",
        ),
    ],
)
def test_one_spelling(text, name):
    """Options at their defaults are left out; those in seconds may have a unit, names have none."""
    assert find_policy(text).name == find_policy(name).name == name


def test_flags_tell_the_options():
    """A policy is stochastic, stateful or has trials if one of its parts does."""
    assert easy(backfill="random").stochastic and not easy("sjf").stochastic
    assert easy("sjf", trial=180).trials and not easy("sjf").trials
    assert easy("sjf", guard=1).stateful and not easy("sjf").stateful
    assert (multiqueue().trials, multiqueue(speculation=0).trials) == (True, False)
    assert multiqueue().stateful and multiqueue().requested_starts
    for policy in (conservative("saf"), conservative("saf", guarantees=False)):
        assert "smallest area" in policy.summary and policy.source


WRONG = [
    (easy, "order", ["sfj", 3, "", "size +"]),
    (easy, "backfill", ["shortest"]),
    (easy, "reservations", [-1, "none", True]),
    (easy, "lookahead", [0, 2.5]),
    (easy, "guard", [-1, "easy"]),
    (easy, "guard_scale", ["fcfs"]),
    (easy, "backfill_estimate", ["predictio", 3]),
    (easy, "trial", [0.5, "soon"]),
    (easy, "trial_above", [-1]),
    (conservative, "order", ["alphabetical"]),
    (conservative, "guarantees", ["yes"]),
    (conservative, "weight", [1.0]),
    (cons_rs, "iterations", [-1, 2.5]),
    (cons_rs, "limit_ms", [0, "long"]),
    (los, "basic", ["yes"]),
    (los, "selected_first", [2]),
    (los, "merit", ["best"]),
    (los, "lookahead", [0, 2.0]),
    (los, "counts", ["all"]),
    (multiqueue, "bounds", [(), (10, 5), (0, 5), "5", (5.0,)]),
    (multiqueue, "speculation", [-1, "-3min"]),
    (multiqueue, "tried_above", [None]),
    (easy_speculative, "speculation", [1.5]),
    (easy_speculative, "tried_above", [-1]),
    (selective, "threshold", [-1, math.nan, math.inf, False, "adaptive"]),
    (slack, "seconds", [-1, math.nan, math.inf, True, "much"]),
    (relaxed, "factor", [-1, math.nan, math.inf, True, "much"]),
]


@pytest.mark.parametrize(
    ("family", "option", "value"),
    [(family, option, value) for family, option, values in WRONG for value in values],
)
def test_wrong_option(family, option, value):
    """What is out of an option's range is an error that names the option."""
    with pytest.raises(PolicyError, match=option):
        family(**{option: value})


@pytest.mark.parametrize("weight", [-1.0, "heavy", math.inf, math.nan])
def test_weight(weight):
    """A weight of an aged order that is negative or no finite number is named in the error."""
    with pytest.raises(PolicyError, match="weight"):
        conservative("aged-sjf", weight=weight)
