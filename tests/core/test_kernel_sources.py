"""The digest of the code that a kernel can call: what it depends on, and what not."""

import os
import time

import pytest

from bfenv.core import cache_folder, kernel_sources
from bfenv.core.cache_folder import KEPT_DIGESTS, cache_root, note_use, prune
from bfenv.core.durations import DAY
from bfenv.core.kernel_sources import code_digest
from tests.conftest import ROOT
from tests.core.own_package import edit


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
        ("bfenv.core.events", ROOT / "bfenv/core/events.py", True),
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


def test_older_code(own, digest, monkeypatch):
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


@pytest.fixture(autouse=True)
def first(tmp_path, monkeypatch):
    """An empty folder named by BFENV_CACHE."""
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path / "cache"))
    cache_root.cache_clear()
    yield tmp_path / "cache/kernels"
    cache_root.cache_clear()


def test_private_folder(first, tmp_path, monkeypatch):
    """The folder is made for its owner alone; one that others may write to is not used."""
    second = tmp_path / "second"
    monkeypatch.setattr(cache_folder.platformdirs, "user_cache_path", lambda name: second)
    assert cache_root() == first
    assert first.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(cache_folder, "_own_group", lambda: None)
    for folder in (first, first.parent, tmp_path):
        for mode in (0o720, 0o702):
            folder.chmod(mode)
            cache_root.cache_clear()
            assert cache_root() == (None if folder is tmp_path else second / "kernels")
        folder.chmod(0o700)
    tmp_path.chmod(0o1777)  # sticky: others cannot put another folder in the place of this one
    cache_root.cache_clear()
    assert cache_root() == first


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs groups")
def test_own_group(first, monkeypatch):
    """A folder may be open to the group that is the user's own."""
    cache_root()
    first.parent.chmod(0o770)
    group = first.parent.stat().st_gid
    for own, found in ((group, None), (group + 1, first.parent), (None, first.parent)):
        monkeypatch.setattr(cache_folder, "_own_group", lambda own=own: own)
        assert cache_folder._open_to_others(first) == found


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs links")
def test_link(first, tmp_path, monkeypatch):
    """The folder is not a link, and one that it is in is used by its real name."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path / "link"))
    assert cache_root() == tmp_path / "real/kernels"
    (tmp_path / "real/kernels").rename(tmp_path / "elsewhere")
    (tmp_path / "real/kernels").symlink_to(tmp_path / "elsewhere")
    assert cache_folder._open_to_others(tmp_path / "real/kernels") == tmp_path / "real/kernels"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners of files")
def test_folder_of_another_user(tmp_path, monkeypatch, capsys):
    """A folder of another user is not used; without any there is one line on stderr."""
    monkeypatch.setattr(
        cache_folder.platformdirs, "user_cache_path", lambda name: tmp_path / "second"
    )
    monkeypatch.setattr(cache_folder, "_complaints", [])
    monkeypatch.setattr(cache_folder.os, "geteuid", lambda: os.getuid() + 1)
    assert cache_root() is None
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
    for folder in (tmp_path, tmp_path / "own.a-0"):  # by writers that were killed
        (folder / ".bfenv-0123456789abcdef.tmp").touch()
        os.utime(folder / ".bfenv-0123456789abcdef.tmp", (now - 2 * DAY,) * 2)
    os.utime(tmp_path / "own.a-0", (now, now))
    prune(tmp_path)
    assert os.listdir(tmp_path / "own.a-0") == ["f.nbc"]
    left = {f"own.a-{days}" for days in range(KEPT_DIGESTS)} | {"own.b-1"}
    assert {entry.name for entry in tmp_path.iterdir()} == left
    prune.cache_clear()
    prune(tmp_path / "gone")


def test_folder_in_use(tmp_path):
    """A folder that is used is not old."""
    os.utime(tmp_path, (1, 1))
    note_use(tmp_path)
    assert tmp_path.stat().st_mtime > 1
    note_use(tmp_path / "gone")
