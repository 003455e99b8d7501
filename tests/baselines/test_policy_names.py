"""The names of policies made from options."""

import pytest

from bfenv.baselines.policy_names import expression, family_name
from bfenv.baselines.registry import find_policy


def some_family(order="fcfs", bounds=(1, 2), weight=None):
    """Stands for a family."""


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
        "easy(order=wfp3, backfill=sjf, reservations=all, lookahead=100, predictor=recent)",
        "easy(order=aged-sjf, weight=0.125, shadow_intervals=2)",
        "queue(order=aged-random, weight=0.125)",
        "conservative(order=saf, guarantees=False)",
        "cons-rs(iterations=7)",
        "multiqueue(bounds=(5,), speculation=0, tried_above=9)",
        "easy-speculative(speculation=60)",
        "los(basic=True, selected_first=True, merit=jobs, lookahead=None)",
        "selective(threshold=1.5)",
        "slack(seconds=60)",
        "relaxed(factor=0.5)",
    ],
)
def test_the_name_of_a_policy_makes_the_same_policy_again(text):
    """Reading a name gives a policy of that name."""
    assert find_policy(text).name == text
