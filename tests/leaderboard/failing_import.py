"""A module that cannot be imported, for tests of names that lead to it."""

raise RuntimeError("this module cannot be imported")
