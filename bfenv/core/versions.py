"""Versions of the programs that a result may depend on."""

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

DECIDING = {
    "bfenv": ("core", "baselines", "workloads", "analysis", "envs", "agents"),
    "bfenv_site": ("slurm", "futures"),
    "bfenv_lab": ("rlscheduler",),
}  # the rooms that make schedules and metrics, by package


@cache
def versions() -> dict[str, str]:
    """Return the versions of bfenv, numpy, numba and Python, by name."""
    packages = {name: version(name) for name in ("bfenv", "numpy", "numba")}
    return packages | {"python": platform.python_version()}


@cache
def sources_hash(package: str = "bfenv") -> str:
    """Return the first 16 digits of the hash of all files that make schedules and metrics.

    * `package`: a key of DECIDING.
    """
    digest = hashlib.sha256()
    for room in DECIDING[package]:
        spec = find_spec(f"{package}.{room}")
        for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
            for file in sorted((*folder.rglob("*.py"), *folder.rglob("*.json"))):
                name = f"{room}/{file.relative_to(folder).as_posix()}"
                digest.update(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]
