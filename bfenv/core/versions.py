"""Versions of the programs that a result may depend on."""

import platform
from functools import cache
from importlib.metadata import version


@cache
def versions() -> dict[str, str]:
    """Return the versions of bfenv, numpy, numba and Python, by name."""
    packages = {name: version(name) for name in ("bfenv", "numpy", "numba")}
    return packages | {"python": platform.python_version()}
