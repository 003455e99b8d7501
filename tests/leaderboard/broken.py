"""A module whose import fails, for tests of names that lead to it."""

raise RuntimeError("this module cannot be imported")
