"""The digest of the code that a kernel can call: what it depends on, and what not."""

import math
import os
import time

import pytest

from bfenv.core import kernel_sources
from bfenv.core.cache_folder import cache_root
from bfenv.core.kernel_sources import code_digest
from tests.conftest import ROOT
from tests.core.own_package import edit, write_package


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The folder of the package `own`, which can be imported; the cache is empty."""
    write_package(tmp_path / "own")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_sources, "PROCESS_START", math.inf)
    cache_root.cache_clear()
    yield tmp_path / "own"
    cache_root.cache_clear()


@pytest.fixture
def digest(own, tmp_path):
    """The key of a module of `own`, computed again at every call."""
    (tmp_path / "cache/kernels").mkdir(parents=True)

    def digest(module):
        code_digest.cache_clear()
        file = str(own / f"{module}.py")
        return code_digest(f"own.{module}", file, (), tmp_path / "cache/kernels")

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


def test_installations(own, tmp_path, monkeypatch):
    """All copies of bfenv share a key; a module of another package has one for each place."""
    monkeypatch.setattr(kernel_sources, "PROCESS_START", time.time() + 60)
    for module, source, shared in (
        ("bfenv.core.event_heap", ROOT / "bfenv/core/event_heap.py", True),
        ("own.caller", own / "caller.py", False),
    ):
        copy = tmp_path / f"copy_of_{source.name}"
        copy.write_text(source.read_text())
        here, there = (code_digest(module, str(file), (), tmp_path) for file in (source, copy))
        assert (here == there) == shared


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
    monkeypatch.setattr(kernel_sources, "PROCESS_START", 0)
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
