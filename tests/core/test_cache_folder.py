"""The folder of the kernel cache: private, and pruned of what is not used."""

import os

import pytest

from bfenv.core import cache_folder
from bfenv.core.cache_folder import KEPT_DIGESTS, cache_root, note_use, prune
from bfenv.core.durations import DAY


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
    note_use(tmp_path)
    assert tmp_path.stat().st_mtime > 1
    note_use(tmp_path / "gone")
