"""A small package with kernels, and programs that run them in processes of their own."""

import os
import subprocess
import sys

CALLEE = '''
"""Numbers."""
from bfenv.core.kernel import kernel
NUMBER = 21

@kernel
def number():
    """The number."""
    return NUMBER
'''
CALLER = '''
from bfenv.core.kernel import kernel
from own import callee

@kernel
def twice():
    """Twice the number."""
    return 2 * callee.number()
'''
SIBLING = "from own.caller import twice\nWIDTH = 1\n"
PROGRAM = "import own.caller as c; print(c.twice(), sum(c.twice.stats.cache_hits.values()))"


def write_package(folder):
    """Write the package `own` of a kernel, one that it calls, and a module beside them."""
    folder.mkdir()
    for name, text in {
        "__init__": "",
        "callee": CALLEE,
        "caller": CALLER,
        "sibling": SIBLING,
    }.items():
        (folder / f"{name}.py").write_text(text)


def edit(file, old, new):
    """Replace a text that is in the file."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def run_python(program, folder, cache, **environment):
    """Run a program with the packages of `folder` in a new process, which must not fail."""
    environment = {"BFENV_CACHE": str(cache), "PYTHONPATH": str(folder)} | environment
    environment = os.environ | environment
    environment.pop("NUMBA_DISABLE_JIT", None)
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return result
