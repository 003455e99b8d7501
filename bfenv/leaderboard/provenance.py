"""What numbers depend on: versions of distributions and models, commit of the sources, machine."""

import os
import platform
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bfenv.core.distributions import PACKAGES, is_installed
from bfenv.core.versions import sources_hash, versions

DECIDING_EXTRAS = ("site", "lab")  # distributions with policies
ATTEMPTS = 10  # at a command that is killed


@cache
def distribution_versions(extra: str) -> dict[str, str]:
    """Return version and hash of the sources of a distribution beside bfenv, a key of PACKAGES."""
    name = f"bfenv-{extra}"
    return {name: version(name), f"{name} sources": sources_hash(PACKAGES[extra])}


@cache
def model_versions() -> dict[str, str]:
    """Return the versions that the decisions of a saved model may depend on besides."""
    return {name: version(name) for name in ("torch", "stable-baselines3", "sb3-contrib")}


def is_made_here(made_by: Mapping[str, str]) -> bool:
    """Return whether the programs and sources on this machine have the versions that made a row."""
    local_versions = versions() | {"sources": sources_hash()}
    beside: dict[str, str] = {}
    for extra in DECIDING_EXTRAS:
        if is_installed(extra):
            beside |= distribution_versions(extra)
    with suppress(PackageNotFoundError):
        beside |= model_versions()
    return local_versions.items() <= made_by.items() <= (local_versions | beside).items()


@cache
def commit() -> str | None:
    """Return the commit of the sources, with "-dirty" if they differ; None outside of git."""
    try:
        _ask_git("ls-files", "--error-unmatch", Path(__file__).name)
        return _ask_git("describe", "--always", "--abbrev=40", "--dirty", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return None


def _ask_git(*words: str) -> str:
    """Return what git prints in the folder of the sources; if it is killed, it is asked again.

    Otherwise a row that is made while processes are killed would say that there is no commit.
    """
    for _ in range(ATTEMPTS):
        run = subprocess.run(
            ["git", *words],
            cwd=Path(__file__).resolve().parent,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        if run.returncode >= 0:
            break
    run.check_returncode()
    return run.stdout.strip()


def machine() -> str:
    """Return the processor and the number of cores in one line."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            name = next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores"
