"""The kernels' disk cache: what its key depends on, and what it survives."""

import math
import os
import sys

import pytest

from bfenv.core import kernel_cache
from bfenv.core.kernel_cache import DAY, KEPT_DIGESTS, code_digest, prune
from tests.core.own_package import PROGRAM, edit, run_python, write_package


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The folder of the package `own`, which can be imported; the cache is empty."""
    write_package(tmp_path / "own")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_cache, "BEGAN", math.inf)
    kernel_cache.root.cache_clear()
    yield tmp_path / "own"
    kernel_cache.root.cache_clear()


@pytest.fixture
def digest(own):
    """The key of a module of `own`, worked out anew."""

    def digest(module):
        code_digest.cache_clear()
        return code_digest(f"own.{module}", str(own / f"{module}.py"), ())

    return digest


IMPORTS = (
    "import own.deep.values",
    "import own.deep.values as v",
    "from own.deep import values",
    "from own.deep.values import *",
    "from .deep import values",
    "from . import deep",
    "def f():\n    from own.deep.values import VALUE",
    "if False:\n    from .deep.values import VALUE as v",
)


@pytest.mark.parametrize("text", IMPORTS)
def test_import_forms(own, digest, text):
    """Whatever way a module is imported, a change in it changes the key."""
    (own / "deep").mkdir()
    (own / "deep/__init__.py").write_text("from own.deep import values\n")
    (own / "deep/values.py").write_text("VALUE = 1\n")
    (own / "user.py").write_text(text)
    before = digest("user")
    edit(own / "deep/values.py", "1", "1  # a comment")
    assert digest("user") == before
    edit(own / "deep/values.py", "1", "2")
    assert digest("user") != before


def test_packages_on_the_way(own, digest):
    """A package is not part of the key because a module of it is imported."""
    (own / "user.py").write_text("from own.callee import number\n")
    before = digest("user")
    (own / "__init__.py").write_text("import own.sibling\n")
    assert digest("user") == before


def test_not_python(own, digest):
    """A file that cannot be parsed counts with its bytes."""
    (own / "user.py").write_text("def f():\n    from own import broken\n")
    (own / "broken.py").write_text("def\n")
    before = digest("user")
    edit(own / "broken.py", "def", "class")
    assert digest("user") != before


def test_installed_packages(own, digest, tmp_path, monkeypatch):
    """Imports lead into folders on the path, and not into site-packages or the library."""
    for folder, expected in (("site-packages", False), ("src", True)):
        name = f"other_{folder[:3]}"
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.py").write_text("VALUE = 1\n")
        monkeypatch.syspath_prepend(tmp_path / folder)
        (own / "user.py").write_text(f"import json, numpy, {name}\n")
        before = digest("user")
        edit(tmp_path / folder / f"{name}.py", "1", "2")
        assert (digest("user") != before) == expected


def test_imported_code_is_older_than_its_file(own, digest, monkeypatch):
    """Nothing is kept of a process that may have imported an older state of a file."""
    assert digest("caller") is not None
    monkeypatch.setattr(kernel_cache, "BEGAN", 0)
    assert digest("caller") is None


@pytest.mark.parametrize("damage", ["", "[", "[1]", '{"x": 1}', None])
def test_damaged_memo(own, digest, tmp_path, damage):
    """Digests of files are remembered, and a damaged memory of them is replaced."""
    for file in own.iterdir():
        os.utime(file, (1, 1))
    before = digest("caller")
    memo = tmp_path / "cache/kernels/sources.json"
    if damage is None:
        damage = memo.read_text().replace("[", "[null, ")
    memo.write_text(damage)
    assert digest("caller") == before
    assert str(own / "callee.py") in memo.read_text()
    assert "null" not in memo.read_text()


def test_private_folder(own, tmp_path, monkeypatch):
    """The folder is made for its owner alone; one that others may write to is not used."""
    second = tmp_path / "second"
    monkeypatch.setattr(kernel_cache.platformdirs, "user_cache_path", lambda name: second)
    first = tmp_path / "cache/kernels"
    assert kernel_cache.root() == first
    assert first.stat().st_mode & 0o777 == 0o700
    for mode in (0o720, 0o702):
        first.chmod(mode)
        kernel_cache.root.cache_clear()
        assert kernel_cache.root() == second / "kernels"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners of files")
def test_folder_of_another_user(own, tmp_path, monkeypatch, capsys):
    """A folder of another user is not used; without any there is one line on stderr."""
    monkeypatch.setattr(
        kernel_cache.platformdirs, "user_cache_path", lambda name: tmp_path / "second"
    )
    monkeypatch.setattr(kernel_cache, "_complaints", [])
    monkeypatch.setattr(kernel_cache.os, "geteuid", lambda: os.getuid() + 1)
    assert kernel_cache.root() is None
    error = capsys.readouterr().err
    assert error.startswith("bfenv: compiled kernels are not kept: ")
    assert error.count("\n") == 1


def test_prune(tmp_path):
    """Folders long unused are removed, and all but the latest digests of a module."""
    now = os.stat(tmp_path).st_mtime
    for days in range(KEPT_DIGESTS + 3):
        folder = tmp_path / f"own.a-{days}"
        folder.mkdir()
        (folder / "f.nbc").touch()
        os.utime(folder, (now - days * DAY,) * 2)
    for name, days in (("own.b-1", 29), ("own.b-2", 31), ("0123456789abcdef", 40)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (now - days * DAY,) * 2)
    for name, days in (("old.tmp", 2), ("new.tmp", 0)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now - days * DAY,) * 2)
    prune(tmp_path)
    left = {f"own.a-{days}" for days in range(KEPT_DIGESTS)} | {"own.b-1", "new.tmp"}
    assert {entry.name for entry in tmp_path.iterdir()} == left
    prune.cache_clear()
    prune(tmp_path / "gone")


def test_folder_in_use(tmp_path):
    """A folder that is used is not old."""
    os.utime(tmp_path, (1, 1))
    kernel_cache._used(tmp_path)
    assert tmp_path.stat().st_mtime > 1
    kernel_cache._used(tmp_path / "gone")


def test_damaged_files(own, tmp_path):
    """A damaged file is compiled anew and replaced."""
    run = lambda: run_python(PROGRAM, tmp_path, tmp_path / "cache").stdout  # noqa: E731
    assert run() == "42 0\n"
    for damaged in (b"", b"x" * 100, None):
        for file in tmp_path.glob("cache/kernels/*/*.nbc"):
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(content if damaged is None else damaged)
        assert run() == "42 0\n"
    assert run() == "42 1\n"


FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
def test_nowhere_to_write(own, tmp_path):
    """Where nothing can be written, kernels are compiled, and one line says so."""
    blocked = tmp_path / "file"
    blocked.touch()
    for program, cache in ((PROGRAM, blocked), (FULL + PROGRAM, tmp_path / "cache")):
        result = run_python(program, tmp_path, cache, XDG_CACHE_HOME=str(blocked))
        assert result.stdout == "42 0\n"
        assert result.stderr.startswith("bfenv: compiled kernels are not kept: ")
        assert result.stderr.count("\n") == 1
