"""Files that are written in one step."""

import os

import numpy as np
import pytest

from bfenv.core.errors import BfenvError
from bfenv.core.files import load_arrays, write_atomically


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


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "arrays.npz"
    numbers = np.random.default_rng(0).integers(0, 10, 2000)
    np.savez_compressed(path, numbers=numbers, text=np.array("text"))
    return path


def test_names(path):
    """All arrays are read, or those of some names that are there."""
    assert load_arrays(path).keys() == {"numbers", "text"}
    assert load_arrays(path, ("text", "other")).keys() == {"text"}


def test_no_file(tmp_path):
    """A missing file is an OSError."""
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / "none.npz")


def test_damage(path):
    """Whatever is wrong with a file, the error is a ValueError or an OSError."""
    data, generator = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data[: generator.integers(1, len(data) + 1)])
        for place in generator.integers(len(damaged), size=generator.integers(1, 20)):
            damaged[place] = generator.integers(256)
        path.write_bytes(damaged)
        try:
            load_arrays(path)
        except (ValueError, OSError):
            refused += 1
    assert refused > 250


def test_pickled_objects(tmp_path):
    """Objects that only pickle can hold are refused."""
    np.savez(tmp_path / "objects.npz", objects=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="it is damaged"):
        load_arrays(tmp_path / "objects.npz")
