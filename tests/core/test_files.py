"""Files that are written in one step."""

import io
import os
import signal
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

from bfenv.core import files
from bfenv.core.errors import BfenvError
from bfenv.core.files import load_arrays, read_file, remove_leftovers, write_atomically


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


KILLED = """
import os, signal, sys
from pathlib import Path
from bfenv.core.files import write_atomically
def stop(*_):
    print("writing", flush=True)
    sys.stdin.readline()
os.replace = stop
write_atomically(Path(sys.argv[1], "file"), b"data")
"""


@pytest.mark.skipif(files.fcntl is None, reason="this system has no locks that end with a process")
def test_killed_writer(tmp_path):
    """The next write into a folder removes what a killed process left, and nothing else."""
    others = {".bfenv.tmp", ".0123456789abcdef.tmp", "work.tmp"}
    for name in others:
        (tmp_path / name).touch()
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"writing\n"
    write_atomically(tmp_path / "other", b"other")  # the writer lives
    assert len(os.listdir(tmp_path)) == len(others) + 2
    process.send_signal(signal.SIGKILL)
    process.communicate()
    write_atomically(tmp_path / "file", b"data")
    assert set(os.listdir(tmp_path)) == others | {"other", "file"}


@pytest.mark.skipif(files.fcntl is None, reason="this system has no locks that end with a process")
def test_removed_before_lock(tmp_path, monkeypatch):
    """A writer whose temporary file is taken for a leftover writes another one."""
    flock, removed = files.fcntl.flock, []

    def late(file, kind):
        if not removed and kind == files.fcntl.LOCK_EX:
            removed.append(True)
            remove_leftovers(tmp_path)
            assert os.listdir(tmp_path) == []
        flock(file, kind)

    monkeypatch.setattr(files.fcntl, "flock", late)
    write_atomically(tmp_path / "file", b"data")
    assert removed and (tmp_path / "file").read_bytes() == b"data"
    assert os.listdir(tmp_path) == ["file"]


def test_no_locks(tmp_path, monkeypatch):
    """Where a system has no locks, what is a day old is a leftover."""
    monkeypatch.setattr(files, "fcntl", None)
    names = [f".bfenv-{number:016x}.tmp" for number in range(2)]
    for name in names:
        (tmp_path / name).touch()
    os.utime(tmp_path / names[0], (1, 1))
    write_atomically(tmp_path / "file", b"data")
    assert set(os.listdir(tmp_path)) == {names[1], "file"}


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


def bomb(path, size):
    """Write an array of zeros, which packs a thousand times."""
    np.savez_compressed(path, start=np.zeros(size // 8, dtype=np.int64))


def test_zip_bomb(tmp_path):
    """A small file that unpacks to far more than arrays do is refused before it is unpacked."""
    bomb(tmp_path / "bomb.npz", 2**28)
    assert (tmp_path / "bomb.npz").stat().st_size < 2**19
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="unpacks to more than 67,108,864 bytes"):
            load_arrays(tmp_path / "bomb.npz")
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_most(path, tmp_path):
    """A caller that knows how large arrays are says so; arrays that are not read do not count."""
    bomb(tmp_path / "zeros.npz", 8000)
    assert load_arrays(tmp_path / "zeros.npz", most=8128)["start"].shape == (1000,)
    with pytest.raises(ValueError, match="unpacks to more than 8,000 bytes"):
        load_arrays(tmp_path / "zeros.npz", most=8000)
    assert load_arrays(tmp_path / "zeros.npz", ["end"], most=10) == {}


def test_false_heading(tmp_path):
    """An array whose heading names a shape that the file does not hold takes no memory."""
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        content, {"descr": "<i8", "fortran_order": False, "shape": (2**36,)}
    )
    with zipfile.ZipFile(tmp_path / "lie.npz", "w") as archive:
        archive.writestr("start.npy", content.getvalue())
    with pytest.raises(ValueError, match="promises more than there is"):
        load_arrays(tmp_path / "lie.npz")


def test_another_packing(tmp_path):
    """Only what numpy writes is unpacked: other methods pack a million times."""
    with zipfile.ZipFile(tmp_path / "other.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("start.npy", bytes(1000))
    with pytest.raises(ValueError, match="packed in another way"):
        load_arrays(tmp_path / "other.npz")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_pipes_and_links(tmp_path):
    """A pipe is refused and hangs no reader; so are links if they are not to be followed."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        with pytest.raises(BfenvError, match="is not a regular file"):
            read_file(path)
    with pytest.raises(ValueError, match="is not a regular file"):
        load_arrays(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"data")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_file(tmp_path / "link") == b"data"
    with pytest.raises(BfenvError, match="is a link, not a file"):
        read_file(tmp_path / "link", follow=False)


def test_the_largest_file(tmp_path):
    """A file may have as many bytes as are allowed, and not one more."""
    (tmp_path / "file").write_bytes(b"data")
    assert read_file(tmp_path / "file", 4) == b"data"
    with pytest.raises(BfenvError, match="has more than 3 bytes"):
        read_file(tmp_path / "file", 3)
