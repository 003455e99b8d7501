"""Every policy acts in the environment, whatever the settings: no index leaves its array.

Uncompiled, strict arrays refuse such an index; `make bounds` compiles with a check of every index.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv import baselines
from bfenv.baselines.registry import FAMILIES
from tests.agents.acting import FEW, SETTINGS, check_default, check_free, check_settings
from tests.drawn_policies import drawn_policies

REGISTERED = [name for name, policy in baselines.ALL.items() if not policy.trials]
every_policy = pytest.mark.parametrize("policy", REGISTERED)
every_family = pytest.mark.parametrize("family", FAMILIES)


@every_policy
def test_free(policy):
    """Where all is allowed, each job starts when it does under `simulate`, and none is replaced."""
    check_free(policy)


@every_family
@given(data=st.data())
@settings(max_examples=30)
def test_free_options(family, data):
    """The same holds of every family with drawn options."""
    check_free(data.draw(drawn_policies(family, trials=False)), FEW)


@every_policy
def test_default(policy):
    """By default, each planned start that is not made counts as replaced, and each other start."""
    check_default(policy)


@every_family
@given(data=st.data())
@settings(max_examples=30)
def test_default_options(family, data):
    """The same holds of every family with drawn options."""
    check_default(data.draw(drawn_policies(family, trials=False)), FEW)


@every_policy
@given(drawn=SETTINGS, seed=st.integers(0, 3))
@settings(max_examples=10)
def test_settings(policy, drawn, seed):
    """Under drawn settings it chooses legal actions."""
    check_settings(policy, drawn, seed)


@every_family
@given(data=st.data(), drawn=SETTINGS, seed=st.integers(0, 3))
@settings(max_examples=30)
def test_settings_and_options(family, data, drawn, seed):
    """So does every family with drawn options."""
    check_settings(data.draw(drawn_policies(family, trials=False)), drawn, seed)
