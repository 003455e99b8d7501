"""A small package with kernels, imported again as a new process would, or run in one."""

import importlib
import os
import subprocess
import sys

from bfenv.core.kernel_sources import code_digest

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


def forget():
    """Forget that modules of `own` have been imported."""
    for name in [each for each in sys.modules if each.partition(".")[0] == "own"]:
        del sys.modules[name]


def import_again(module):
    """Import a module of `own` as a new process would, from its file and the disk cache."""
    forget()
    importlib.invalidate_caches()
    code_digest.cache_clear()
    return importlib.import_module(f"own.{module}")


def run_python(program, folder, cache, **environment):
    """Run a program with the packages of `folder` in a new process, which must not fail."""
    environment = {"BFENV_CACHE": str(cache), "PYTHONPATH": str(folder)} | environment
    environment = os.environ | {"BFENV_COMPILE": "now"} | environment
    environment.pop("NUMBA_DISABLE_JIT", None)
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return result
