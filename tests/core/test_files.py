"""Files that are written in one step."""

import os

import pytest

from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically


def test_write(tmp_path):
    """A file is created or replaced, and nothing else remains."""
    for data in (b"one", b"", b"two" * 10_000):
        write_atomically(tmp_path / "file", data)
        assert (tmp_path / "file").read_bytes() == data
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("path", ["folder", "nosuch/file"])
def test_unwritable(tmp_path, path):
    """The error names a path that is a folder, or in no folder; nothing remains."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(BfenvError, match=path):
        write_atomically(tmp_path / path, b"data")
    assert os.listdir(tmp_path) == ["folder"] and os.listdir(tmp_path / "folder") == []


def test_failure_keeps_the_old(tmp_path, monkeypatch):
    """If the last step fails, the old content stays and no partial file remains."""
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(BfenvError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]
