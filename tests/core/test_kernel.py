"""Kernels, compiled and kept on disk: found again, never stale, and announced."""

import ast

import pytest

from bfenv.core.event_heap import new_event_heap, pop, push
from bfenv.core.kernel import compiled_for
from tests.conftest import ROOT
from tests.core.own_package import PROGRAM, edit, run_python, write_package


@pytest.fixture
def own(tmp_path):
    """The folder of the package `own`."""
    write_package(tmp_path / "own")
    return tmp_path / "own"


@pytest.fixture
def twice(own, tmp_path):
    """Call own.caller.twice in a new process: (result, cache hits)."""

    def twice():
        output = run_python(PROGRAM, tmp_path, tmp_path / "cache").stdout
        return tuple(map(int, output.split()))

    return twice


def test_second_process_loads(twice):
    """A second process finds the kernels of the first."""
    assert twice() == (42, 0)
    assert twice() == (42, 1)


def test_comments_recompile_nothing(own, twice):
    """Comments, docstrings and blank lines recompile neither a kernel nor what calls it."""
    assert twice() == (42, 0)
    edit(own / "callee.py", '"""The number."""', '"""Another docstring."""  # a comment')
    edit(own / "callee.py", "NUMBER = 21", "\n\n# a constant\nNUMBER = 21")
    edit(own / "caller.py", "@kernel", "\n# a comment\n\n@kernel")
    edit(own / "caller.py", "Twice the", "Two times the")
    assert twice() == (42, 1)


def test_constant_recompiles_the_caller(own, twice):
    """A changed constant of an imported module recompiles the kernel that calls into it."""
    assert twice() == (42, 0)
    edit(own / "callee.py", "21", "4")
    assert twice() == (8, 0)


def test_sibling_recompiles_nothing(own, twice):
    """A change in a module that the kernel's module does not import recompiles nothing."""
    assert twice() == (42, 0)
    edit(own / "sibling.py", "1", "2")
    assert twice() == (42, 1)


def test_one_name_twice(own, tmp_path):
    """Two functions of one name in one module are told apart, by code and by closure."""
    (own / "pair.py").write_text(
        "from bfenv.core.kernel import kernel\n"
        "def adder(n):\n"
        "    @kernel\n"
        "    def f(x):\n"
        "        return x + n\n"
        "    return f\n"
        "@kernel\n"
        "def f(x):\n"
        "    return x + 1\n"
        "first = f\n"
        "@kernel\n"
        "def f(x):\n"
        "    return x + 2\n"
    )
    program = (
        "from own.pair import adder, f, first\n"
        "kernels = first, f, adder(3), adder(4)\n"
        "print([g(0) for g in kernels], sum(sum(g.stats.cache_hits.values()) for g in kernels))\n"
    )
    for hits in (0, 4):
        assert run_python(program, tmp_path, tmp_path / "cache").stdout == f"[1, 2, 3, 4] {hits}\n"


def test_recursion(own, tmp_path):
    """A kernel may call itself, be called by another, and be sent to another process."""
    (own / "recursive.py").write_text(
        "from bfenv.core.kernel import kernel\n"
        "@kernel\n"
        "def factorial(n):\n"
        "    return 1 if n < 2 else n * factorial(n - 1)\n"
        "@kernel\n"
        "def other(n):\n"
        "    return 1 + factorial(n)\n"
    )
    program = (
        "from pickle import dumps, loads\n"
        "from own.recursive import factorial, other\n"
        "print(factorial(5), other(5), loads(dumps(other))(4))\n"
    )
    assert run_python(program, tmp_path, tmp_path / "cache").stdout == "120 121 25\n"


def test_shared(own, tmp_path):
    """A shared kernel does what a kernel does: called from Python, by a kernel, after pickling."""
    (own / "shared.py").write_text(
        "from bfenv.core.kernel import kernel, shared_kernel\n"
        "@shared_kernel\n"
        "def add(values, x):\n"
        "    for i in range(len(values)):\n"
        "        values[i] += x * values[i] // (i + x)\n"
        "@kernel\n"
        "def add_twice(values, x):\n"
        "    add(values, x)\n"
        "    add(values, x + 1)\n"
    )
    program = (
        "import numpy as np\n"
        "from pickle import dumps, loads\n"
        "from own.shared import add, add_twice\n"
        "a, b, c = (np.array([1, 5, 9]) for _ in range(3))\n"
        "add_twice(a, 2)\n"
        "add(b, 2), loads(dumps(add))(b, 3)\n"
        "add.py_func(c, 2), add.py_func(c, 3)\n"
        "print(a.tolist(), a.tolist() == b.tolist() == c.tolist())\n"
        "print(sum(sum(f.stats.cache_hits.values()) for f in (add, add_twice)))\n"
    )
    for hits in (0, 2):
        output = run_python(program, tmp_path, tmp_path / "cache").stdout.splitlines()
        assert output[0] == "[4, 14, 20] True" and int(output[1]) == hits


def test_compiled_for():
    """The machine code alone does what the kernel does; without a compiler it is the function."""
    events = new_event_heap(2)
    compiled_for(push, events, 3, 1)(events, 3, 1)
    assert pop(events) == 1
    function = getattr(push, "py_func", push)
    assert compiled_for(function, events, 3, 1) is function


def test_prompt(tmp_path):
    """A kernel typed at a prompt is compiled all the same."""
    program = (
        "from bfenv.core.kernel import kernel\n"
        "exec('@kernel\\ndef f(x):\\n    return x + 1')\n"
        "print(f(1))\n"
    )
    assert run_python(program, tmp_path, tmp_path / "cache").stdout == "2\n"


def test_announcement(own, tmp_path):
    """The wait is announced once per module, for kernels alone, and only if it is one."""
    (own / "user.py").write_text(
        "import numba\nfrom own.callee import number\n@numba.njit\ndef f():\n    return 1\n"
    )
    program = (
        "import bfenv.core.kernel\n"
        "bfenv.core.kernel.PATIENCE = {patience}\n"
        "from own.user import f, number\n"
        "from own.caller import twice\n"
        "f(), number(), twice()\n"
    )
    line = "bfenv: compiling {} (first use on this machine) ...\n".format
    patient = run_python(program.format(patience=1000), tmp_path, tmp_path / "a").stderr
    assert patient == ""
    program = program.format(patience=0)
    assert run_python(program, tmp_path, tmp_path / "b").stderr == line("callee") + line("caller")
    assert run_python(program, tmp_path, tmp_path / "b").stderr == ""


def test_negative_index_of_yours(own, tmp_path):
    """In a kernel of your own, a negative index counts from the end, as in Python."""
    (own / "last.py").write_text(
        "from bfenv.core.kernel import kernel\n"
        "@kernel\n"
        "def ends(values, i):\n"
        "    return 10 * values[-1] + values[i]\n"
    )
    program = (
        "import numpy as np\nfrom own.last import ends\nprint(ends(np.array([1, 2, 3]), -2))\n"
    )
    assert run_python(program, tmp_path, tmp_path / "cache").stdout == "32\n"


def test_negative_index_of_ours(tmp_path):
    """In bfenv's own kernels, a negative index is an error if indices are checked."""
    program = (
        "from bfenv.core.event_heap import new_event_heap, pop\n"
        "try:\n"
        "    pop(new_event_heap(2))\n"
        "except IndexError as error:\n"
        "    print(error)\n"
    )
    checked = run_python(program, tmp_path, tmp_path / "cache", NUMBA_BOUNDSCHECK="1").stdout
    assert checked == "index is out of bounds\n"


def kernels():
    """The functions of bfenv's own modules that are compiled, with their files."""
    compiled = {"kernel", "shared_kernel", "inlined"}
    for folder in ("bfenv", "baselines", "agents"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                decorators = getattr(node, "decorator_list", [])
                if compiled & {getattr(decorator, "id", None) for decorator in decorators}:
                    yield file.name, node


def test_no_negative_constant_index():
    """No kernel of bfenv's own counts from the end of an array, which would read before it."""
    found = [
        f"{file}: {ast.unparse(node)}"
        for file, function in kernels()
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript)
        for part in ast.walk(node.slice)
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub)
    ]
    assert found == []
    assert sum(1 for _ in kernels()) > 300
