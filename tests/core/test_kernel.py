"""Kernels, compiled and kept on disk: found again, and never stale."""

import ast
import gc
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest
from llvmlite.ir import LiteralStructType
from numba.core import types
from numba.core.datamodel import default_manager
from numba.core.registry import CPUDispatcher

import bfenv
from bfenv.core.compiled_kernel import COLLECTION
from bfenv.core.events import new_cluster, pop, push
from bfenv.core.kernel import Code, compiling, kernel, shared_kernel
from bfenv.core.numba_compiler import has_index_patch
from tests.conftest import ROOT
from tests.core.heaps import new_heap
from tests.core.own_package import edit, import_again, run_python

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(numba.config.DISABLE_JIT, reason="needs numba's compiler"),
]


def hits(*kernels):
    """How many signatures of kernels were loaded from the cache."""
    return sum(sum(each.compiled.stats.cache_hits.values()) for each in kernels)


def twice():
    """Call own.caller.twice as a new process would: (result, cache hits)."""
    function = import_again("caller").twice
    return function(), hits(function)


def test_recompilation(own):
    """Only what can change a kernel recompiles it.

    A changed constant of an imported module does; comments and modules beside it do not.
    """
    assert twice() == (42, 0)
    assert twice() == (42, 1)
    edit(own / "callee.py", '"""The number."""', '"""Another docstring."""  # a comment')
    edit(own / "callee.py", "NUMBER = 21", "\n\n# a constant\nNUMBER = 21")
    edit(own / "caller.py", "@kernel", "\n# a comment\n\n@kernel")
    edit(own / "sibling.py", "1", "2")
    assert twice() == (42, 1)
    edit(own / "callee.py", "21", "4")
    assert twice() == (8, 0)


def test_damaged_files(own, tmp_path):
    """A damaged file is compiled again and replaced."""
    assert twice() == (42, 0)
    for damaged in (b"", b"x" * 100, None):
        for file in tmp_path.glob("cache/kernels/*/*.nbc"):
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(content if damaged is None else damaged)
        assert twice() == (42, 0)
    assert twice() == (42, 1)


KINDS = """
from bfenv.core.kernel import kernel, shared_kernel

def adder(n):
    @kernel
    def f(x):
        return x + n
    return f

@kernel
def f(x):
    return x + 1

first = f

@kernel
def f(x):
    return x + 2

@kernel
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

@kernel
def other(n):
    return 1 + factorial(n)

@shared_kernel
def add(values, x):
    for i in range(len(values)):
        values[i] += x * values[i] // (i + x)

@kernel
def add_twice(values, x):
    add(values, x)
    add(values, x + 1)

@kernel
def ends(values, i):
    return 10 * values[-1] + values[i]

@kernel
def answer(x):
    print("x is", x)
    if x > 1:
        raise ValueError("too large")
    return x

@kernel
def ask(x):
    return answer(x)
"""
PROGRAM = """
import bfenv.core.kernel
import pickle
import numpy as np
from own.kinds import add, add_twice, adder, ask, ends, f, factorial, first, other

one_name = first, f, adder(3), adder(4)
print([g(0) for g in one_name])
print(factorial(5), other(5), pickle.loads(pickle.dumps(other))(4))
a, b, c = (np.array([1, 5, 9]) for _ in range(3))
add_twice(a, 2)
add(b, 2), pickle.loads(pickle.dumps(add))(b, 3)
add.py_func(c, 2), add.py_func(c, 3)
print(a.tolist(), b.tolist(), c.tolist())
print(ends(np.array([1, 2, 3]), -2))
exec('@bfenv.core.kernel.kernel\\ndef typed(x):\\n    return x + 1')
print(typed(1))
print(ask(1))
try:
    ask(2)
except ValueError as error:
    print(error)
print([sum(g.compiled.stats.cache_hits.values()) for g in (*one_name, add, add_twice, ends)])
"""


def test_kinds(own, tmp_path):
    """Functions of one name, recursive and shared ones, and those that were sent or typed work.

    Here recursive ones call themselves and are called. A negative index of yours counts from the
    end. A kernel that is called by another may print and fail. A second process loads the kernels
    of the first. Nothing is announced.
    """
    (own / "kinds.py").write_text(KINDS)
    for found in (0, 1):
        run = run_python(PROGRAM, tmp_path, tmp_path / "cache")
        lines = ["[1, 2, 3, 4]", "120 121 25", "[4, 14, 20] [4, 14, 20] [4, 14, 20]", "32", "2"]
        lines += ["x is 1", "1", "x is 2", "too large"]
        assert run.stdout.splitlines() == [*lines, str([found] * 7)]
        assert run.stderr == ""


def test_pickled_closure():
    """A kernel is pickled by its name, or with its closure if no name leads to it."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="needs Dask's cloudpickle")

    def adder(n):
        @shared_kernel
        def add(x):
            return x + n

        return add

    add = cloudpickle.loads(cloudpickle.dumps(adder(3)))
    assert add(4) == 7 and add.is_shared
    assert cloudpickle.loads(cloudpickle.dumps(push)) is push


def test_code():
    """Code of a kernel does what the kernel does; code of a plain function is the function."""
    events = new_heap(2)
    code = Code(push)
    code.call(events, 3, 1)
    assert code.is_compiled and pop(events) == 1
    assert Code(push.py_func).call is push.py_func


@kernel
def first(values):
    return values[0]


def test_code_by_types():
    """Code that was found once is found again for the same types, and for no others."""
    whole, half = np.array([3]), np.array([0.5])
    with compiling("now"):
        code = first.code_for(whole)
        assert first.code_for(whole + 1) is code and code(whole) == 3
        assert first.code_for(half) is not code and first.code_for(half)(half) == 0.5
    with compiling("never"):
        assert first.code_for(whole) == first.run_uncompiled


FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
def test_nowhere_to_write(own, tmp_path):
    """Where nothing can be written, kernels are compiled, and one line says so."""
    blocked = tmp_path / "file"
    blocked.touch()
    program = "from own.caller import twice\nprint(twice())\n"
    for begin, cache in (("", blocked), (FULL, tmp_path / "cache")):
        result = run_python(begin + program, tmp_path, cache, XDG_CACHE_HOME=str(blocked))
        assert result.stdout == "42\n"
        assert result.stderr.startswith("bfenv: compiled kernels are not kept: ")
        assert result.stderr.count("\n") == 1


def test_passed_whole():
    """A NamedTuple of bfenv is one argument of a kernel, if its values differ in type.

    numba keeps functions of other packages on disk, so they must be called as without bfenv.
    """
    trace = bfenv.make_trace([0], [1], [1], 1)
    memory = bfenv.find_policy("easy-sjf").memory(trace.jobs, 1, np.random.default_rng(0))
    foreign = NamedTuple("Memory", [("first", int), ("second", float)])(1, 2.0)
    cluster = new_cluster(trace)[0]
    whole, part_of_it, *others = (
        default_manager.lookup(numba.typeof(value)).get_argument_type()
        for value in (memory, memory.queue, foreign, cluster)
    )
    assert isinstance(whole, LiteralStructType) and isinstance(part_of_it, LiteralStructType)
    assert all(isinstance(arguments, tuple) for arguments in others)


@pytest.mark.parametrize("before", [(700, 10, 10), (0, 10, 10), (10**6, 30, 60)], ids=str)
def test_garbage_collection(before, monkeypatch):
    """While numba compiles, garbage is collected less often, and never if the program says so.

    Afterwards, it is collected as before, even if compiling fails.
    """
    seen, thresholds = [], gc.get_threshold()

    def fail(dispatcher, signature):
        seen.append(gc.get_threshold())
        raise RuntimeError

    monkeypatch.setattr(CPUDispatcher, "compile", fail)
    try:
        gc.set_threshold(*before)
        with pytest.raises(RuntimeError):
            first.compiled.compile((types.int64,))
        assert gc.get_threshold() == before
    finally:
        gc.set_threshold(*thresholds)
    assert seen == [before if before[0] == 0 else tuple(map(max, before, COLLECTION))]


OTHER_NUMBA = """
from numba.np import arrayobj

known = arrayobj.fix_integer_index
arrayobj.fix_integer_index = lambda context, builder, *rest: known(context, builder, *rest)
from bfenv.core.numba_compiler import has_index_patch
from bfenv import make_trace
from bfenv.core.events import new_cluster, pop, push

events = new_cluster(make_trace([0] * 4, [1] * 4, [1] * 4, 4))[2]
push(events, 5, 2), push(events, 3, 1)
print(has_index_patch(), pop(events))
"""


def test_other_numba(tmp_path):
    """Kernels run with a numba that compiles indices otherwise.

    They run without the replaced function where another is called in its place.
    """
    assert has_index_patch()
    assert run_python(OTHER_NUMBA, tmp_path, tmp_path / "cache").stdout == "False 1\n"


def test_negative_index_of_ours(tmp_path):
    """In bfenv's own kernels, a negative index is an error if indices are checked."""
    program = (
        "from bfenv import make_trace\n"
        "from bfenv.core.events import new_cluster, pop\n"
        "try:\n"
        "    pop(new_cluster(make_trace([0], [1], [1], 1))[2])\n"
        "except IndexError as error:\n"
        "    print(error)\n"
    )
    checked = run_python(program, tmp_path, tmp_path / "cache", NUMBA_BOUNDSCHECK="1").stdout
    assert checked == "index is out of bounds\n"


def kernels():
    """The functions of bfenv's own modules that are compiled, with their files."""
    marks = {"kernel", "shared_kernel", "inlined"}
    for folder in ("bfenv", "baselines", "agents"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                decorators = getattr(node, "decorator_list", [])
                if marks & {getattr(decorator, "id", None) for decorator in decorators}:
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
    assert sum(1 for _ in kernels()) > 290
