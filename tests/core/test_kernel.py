"""The kernels' disk cache: found again, and never stale."""

import os
import subprocess
import sys

import pytest

from bfenv.core.kernel import CORE, _sources

CALLEE = """
from bfenv.core.kernel import kernel

@kernel
def number():
    return {number}
"""
CALLER = """
import callee
from bfenv.core.kernel import kernel

@kernel
def twice():
    return 2 * callee.number()
"""
PROGRAM = "import own.caller as c; print(c.twice(), sum(c.twice.stats.cache_hits.values()))"


@pytest.fixture
def run(tmp_path):
    """Run twice() in a new process after writing the callee: (result, cache hits)."""
    package = tmp_path / "own"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "caller.py").write_text(CALLER.replace("import callee", "from own import callee"))

    def run(number, cache=tmp_path / "cache"):
        (package / "callee.py").write_text(CALLEE.format(number=number))
        environment = os.environ | {"BFENV_CACHE": str(cache), "PYTHONPATH": str(tmp_path)}
        environment.pop("NUMBA_DISABLE_JIT", None)
        result = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        return tuple(map(int, result.stdout.split()))

    return run


def test_a_second_process_finds_the_kernels_of_the_first(run):
    assert run(21) == (42, 0)
    assert run(21) == (42, 1)


def test_a_change_in_a_called_function_of_another_file_is_noticed(run):
    assert run(21) == (42, 0)
    assert run(4) == (8, 0)


@pytest.fixture
def digested():
    """The names of the files and folders that a kernel's cache depends on, by its own file."""

    def names(file):
        scope = {}
        exec(compile("def f(): pass", str(file), "exec"), scope)
        return [source.name for source in _sources(scope["f"])]

    return names


LAYERS = ["core", "workloads", "envs", "bench"]


def test_the_cache_depends_on_all_that_a_kernel_may_call(digested, tmp_path):
    root = CORE.parent.parent
    assert digested(root / "bfenv/core/cluster.py") == LAYERS[:1]
    assert digested(root / "bfenv/envs/episode.py") == LAYERS[:3]
    assert digested(root / "baselines/easy.py") == ["core", "baselines"]
    assert digested(root / "agents/network.py") == [*LAYERS, "baselines", "agents"]
    for name in ("pack/__init__.py", "pack/deep/__init__.py", "pack/deep/f.py", "b.py", "a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert digested(tmp_path / "pack/deep/f.py") == [*LAYERS, "baselines", "pack"]
    assert digested(tmp_path / "a.py") == [*LAYERS, "baselines", "a.py", "b.py"]


def test_a_cache_folder_that_cannot_be_written_is_done_without(run, tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    assert run(3, cache=blocked)[0] == 6


def test_a_kernel_typed_at_a_prompt_is_compiled_all_the_same():
    program = (
        "from bfenv.core.kernel import kernel\n"
        "exec('@kernel\\ndef f(x):\\n    return x + 1')\n"
        "print(f(1))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout == "2\n", result.stderr
