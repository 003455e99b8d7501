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
import bfenv.core
after = set(sys.modules) - before
foreign = {name.partition(".")[0] for name in bare} - sys.stdlib_module_names
rooms = {".".join(name.split(".")[:2]) for name in after if name.startswith("bfenv")}
print(*sorted(foreign), "|", *sorted(rooms))
"""


def test_imports():
    """`import bfenv` loads gymnasium and no room; `import bfenv.core` loads no other room."""
    run = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(run, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "bfenv | bfenv bfenv.core"


def test_exports():
    """Every exported name is there, once, and is defined in this room."""
    names = bfenv.core.__all__
    assert len(set(names)) == len(names)
    for name in names:
        value = getattr(bfenv.core, name)
        assert getattr(value, "__module__", "bfenv.core.jobs").startswith("bfenv.core.")


def test_parts_load_alone():
    """Importing a module imports only what it needs; a public name is imported when it is used."""
    program = (
        "import sys, bfenv.core.errors, bfenv.analysis.formatting; print('numba' in sys.modules); "
        "from bfenv.core import BfenvError, start; print('numba' in sys.modules); "
        "assert BfenvError is bfenv.core.errors.BfenvError"
    )
    run = [sys.executable, "-c", program]
    result = subprocess.run(run, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "True"]


def test_room_of_the_package():
    """`import bfenv` is enough to reach the room by its name."""
    program = "import bfenv; print(bfenv.core.BfenvError is bfenv.BfenvError)"
    run = [sys.executable, "-c", program]
    result = subprocess.run(run, capture_output=True, text=True, check=True)
    assert result.stdout == "True\n"


def test_unknown_name():
    """A name that a room does not have is answered with the room's name."""
    with pytest.raises(AttributeError, match="module 'bfenv.core' has no attribute 'nothing'"):
        bfenv.core.nothing  # noqa: B018


def test_dir():
    """Completion offers the public names of a room before they are imported."""
    program = "import bfenv.parallel; print(*dir(bfenv.parallel))"
    run = [sys.executable, "-c", program]
    result = subprocess.run(run, capture_output=True, text=True, check=True)
    assert {"simulate_many", "call_in_worker"} <= set(result.stdout.split())
