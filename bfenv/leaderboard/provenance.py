"""What numbers depend on: versions of the programs, commit of the sources, machine."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

from bfenv.core.versions import versions

__all__ = ["commit", "machine", "model_versions", "versions"]


@cache
def model_versions() -> dict[str, str]:
    """Return the versions that the decisions of a saved model may depend on besides."""
    return {name: version(name) for name in ("torch", "stable-baselines3", "sb3-contrib")}


@cache
def commit() -> str | None:
    """Return the commit of the sources, with "-dirty" if they differ; None outside of git."""
    file = Path(__file__).resolve()
    try:
        for command in (
            ["git", "ls-files", "--error-unmatch", file.name],
            ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"],
        ):
            run = subprocess.run(
                command, cwd=file.parent, capture_output=True, text=True, timeout=30, check=True
            )
        return run.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def machine() -> str:
    """Return the processor and the number of cores in one line."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            name = next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores"
