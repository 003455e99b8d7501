"""What importing the room `bfenv.core` loads, and what it exports."""

import subprocess
import sys

import pytest

import bfenv.core

PROGRAM = """
import sys, gymnasium
before = set(sys.modules)
import bfenv
bare = set(sys.modules) - before
import bfenv.core.errors
print("numba" in sys.modules)
assert bfenv.core.BfenvError is bfenv.BfenvError
from bfenv.core import start
after = set(sys.modules) - before
foreign = {name.partition(".")[0] for name in bare} - sys.stdlib_module_names
rooms = {".".join(name.split(".")[:2]) for name in after if name.startswith("bfenv")}
print("numba" in sys.modules, *sorted(foreign), "|", *sorted(rooms))
import bfenv.parallel
print(*dir(bfenv.parallel))
import bfenv.envs
assert "stable_baselines3" not in sys.modules
"""


def test_imports():
    """What is imported is what is needed.

    `import bfenv` loads gymnasium and no room, and reaches the rooms by their names; `bfenv.core`
    loads no other room; a module imports only what it needs, and a public name is imported when it
    is used. The environments do not need stable-baselines3. Completion offers the public names of
    a room before they are imported.
    """
    run = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(run, capture_output=True, text=True, check=True)
    *lines, names = result.stdout.splitlines()
    assert lines == ["False", "True bfenv | bfenv bfenv.core"]
    assert {"simulate_many", "call_in_worker"} <= set(names.split())


def test_exports():
    """Every exported name is there, once, and is defined in this room."""
    names = bfenv.core.__all__
    assert len(set(names)) == len(names)
    for name in names:
        value = getattr(bfenv.core, name)
        assert getattr(value, "__module__", "bfenv.core.jobs").startswith("bfenv.core.")


def test_unknown_name():
    """A name that a room does not have is answered with the room's name."""
    with pytest.raises(AttributeError, match="module 'bfenv.core' has no attribute 'nothing'"):
        bfenv.core.nothing  # noqa: B018
