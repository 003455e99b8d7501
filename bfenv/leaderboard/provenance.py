"""What numbers depend on: versions of the programs, hash and commit of the sources, machine."""

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from bfenv.core.versions import versions

__all__ = ["commit", "is_made_here", "machine", "model_versions", "sources_hash", "versions"]
DECIDING = ("core", "baselines", "workloads", "analysis", "envs", "agents")  # rooms, see below
ATTEMPTS = 10  # at a command that is killed


@cache
def model_versions() -> dict[str, str]:
    """Return the versions that the decisions of a saved model may depend on besides."""
    return {name: version(name) for name in ("torch", "stable-baselines3", "sb3-contrib")}


@cache
def sources_hash() -> str:
    """Return the first 16 digits of the hash of all files that make schedules and metrics."""
    digest = hashlib.sha256()
    for room in DECIDING:
        spec = find_spec(f"bfenv.{room}")
        for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
            for file in sorted((*folder.rglob("*.py"), *folder.rglob("*.json"))):
                name = f"{room}/{file.relative_to(folder).as_posix()}"
                digest.update(f"{name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def is_made_here(made_by: Mapping[str, str]) -> bool:
    """Return whether the programs and sources on this machine have the versions that made a row."""
    here = versions() | {"sources": sources_hash()}
    try:
        return made_by == here or made_by == here | model_versions()
    except PackageNotFoundError:
        return False


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
