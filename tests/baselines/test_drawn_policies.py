"""The options that tests draw are all options of all families."""

import inspect

from bfenv.baselines.registry import FAMILIES
from tests.drawn_policies import OPTIONS


def test_every_option_is_drawn():
    """A family, or an option, that is added without values to draw is named here."""
    options = {name: set(inspect.signature(family).parameters) for name, family in FAMILIES.items()}
    assert options == {name: set(drawn) for name, drawn in OPTIONS.items()}
