"""The kernels' disk cache: what it survives."""

import sys

import pytest

from tests.core.own_package import PROGRAM, run_python, write_package


@pytest.fixture
def own(tmp_path):
    """The folder of the package `own`; the cache is empty."""
    write_package(tmp_path / "own")
    return tmp_path / "own"


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
