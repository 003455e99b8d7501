"""The text of a file: whatever ends its lines, however it is packed, and up to a limit."""

import gzip
import zlib

import pytest

import bfenv
from bfenv.workloads.logs import text
from bfenv_site.logs.formats import read_log
from bfenv_site.logs.slurm import read_sacct
from bfenv_site.logs.table import read_columns
from tests.workloads.refusals import refused

LINE = "1 0 -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("packed", [False, True])
def test_ends_of_lines(tmp_path, end, packed):
    """Lines are the same whatever ends them, zipped or not."""
    data = f"\ufeffa{end}{end}b".encode()
    (tmp_path / "log").write_bytes(gzip.compress(data) if packed else data)
    assert text.read_lines(tmp_path / "log")[0] == ["a", "", "b"]


def test_joined_gzip_files(tmp_path):
    """Several gzip files in one are one text."""
    (tmp_path / "log").write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\n"))
    assert text.read_lines(tmp_path / "log")[0] == ["a", "bc", ""]


def bomb(path, megabytes, line=bytes(1)):
    """A gzip file of so many MB of one line over and over, made without holding them."""
    packer, mega = zlib.compressobj(9, wbits=31), line * (2**20 // len(line))
    path.write_bytes(b"".join(packer.compress(mega) for _ in range(megabytes)) + packer.flush())
    return path


READERS = [
    bfenv.read_swf,
    read_sacct,
    lambda path: read_columns(path, {"submit": "s", "size": "n", "runtime": "r"}),
]


@pytest.mark.parametrize("read", READERS, ids=["swf", "sacct", "columns"])
@pytest.mark.parametrize("line", [bytes(1), LINE.encode(), b"\n"], ids=["zeros", "jobs", "blank"])
def test_swelling_file(tmp_path, read, line, monkeypatch):
    """A small file that unpacks to a large one is refused before it fills the memory."""
    path = bomb(tmp_path / "log.swf.gz", 40, line)
    assert path.stat().st_size < 200_000
    parts, unzip = [], text.unzip

    def watched(path):
        for part in unzip(path):
            parts.append(len(part))
            yield part

    monkeypatch.setattr(text, "unzip", watched)
    most = max(text.HARMLESS, text.RATIO * path.stat().st_size)
    with refused(bfenv.WorkloadError, path, f"{most:,}"):
        read(path)
    assert sum(parts) <= most


def test_equal_lines(tmp_path):
    """Equal lines that pack well are no bomb."""
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(("; MaxProcs: 8\n" + LINE * 20_000).encode()))
    assert path.stat().st_size * text.RATIO < len(LINE) * 20_000
    assert bfenv.read_swf(path).cleaning.duplicates == 19_999


@pytest.mark.parametrize("packed", [False, True])
def test_large_file(tmp_path, packed, monkeypatch):
    """A file that is larger than any log is refused."""
    monkeypatch.setattr(text, "MOST", 100)
    path = tmp_path / "log.swf"
    for size in (100, 101):
        path.write_bytes(gzip.compress(b";" * size) if packed else b";" * size)
        if size == 100:
            assert text.read_lines(path)[0] == [";" * 100]
    with refused(bfenv.WorkloadError, path, 100):
        text.read_lines(path, "latin-1")


@pytest.mark.parametrize("data", [b"", b"\n \n\t\r\n"])
def test_blank_file(tmp_path, data):
    """A file of blank lines only is named."""
    (tmp_path / "log").write_bytes(data)
    with refused(bfenv.WorkloadError, tmp_path / "log"):
        text.numbered_lines(tmp_path / "log")


def test_numbers_of_lines(tmp_path):
    """Blank lines are left out, and counted in the numbers of the others."""
    (tmp_path / "log").write_bytes(b"a\n\n b\r\n\r\nc")
    assert list(text.numbered_lines(tmp_path / "log")[0]) == [(1, "a"), (3, " b"), (5, "c")]


@pytest.mark.parametrize("read", READERS, ids=["swf", "sacct", "columns"])
@pytest.mark.parametrize("packed", [False, True])
def test_short_lines(tmp_path, read, packed, monkeypatch):
    """Many lines that are shorter than those of any log are refused before they are parsed."""
    monkeypatch.setattr(text, "FEW", 1000)
    path = tmp_path / "log"
    for count in (1000, 1001):
        data = b"1234567" + b"\n1" * count
        path.write_bytes(gzip.compress(data) if packed else data)
        if count == 1000:
            assert len(text.read_lines(path)[0]) == 1001
    with refused(bfenv.WorkloadError, path, "1,001 lines"):
        read(path)
    path.write_bytes(b"1234567\n" * 1001)
    assert len(text.read_lines(path)[0]) == 1002


@pytest.mark.parametrize("read", READERS, ids=["swf", "sacct", "columns"])
def test_endless_line(tmp_path, read, monkeypatch):
    """A line that is longer than those of any log is refused before it is split."""
    monkeypatch.setattr(text, "LONGEST", 100)
    path = tmp_path / "log"
    path.write_text(f"{'1|' * 50}\n{'1|' * 50}1\n")
    with refused(bfenv.WorkloadError, f"{path}:2: ", "100"):
        read(path)
    path.write_text("1|" * 50)
    assert text.read_lines(path)[0] == ["1|" * 50]


@pytest.mark.parametrize("value", ["{}", "[]", "0"])
def test_dense_json(tmp_path, value, monkeypatch):
    """JSON of many tiny values is refused before they are made."""
    monkeypatch.setattr(text, "FEW", 100)
    path = tmp_path / "log"
    path.write_text(f'{{"jobs": [{",".join([value] * 200)}]}}')
    with refused(bfenv.WorkloadError, path, "characters on average"):
        read_log(path, "sacct-json")
    path.write_text(f'{{"jobs": [{",".join([value] * 40)}]}}')
    with refused(bfenv.WorkloadError, f"{path}:1: ", "object" if value != "{}" else "JobID"):
        read_log(path, "sacct-json")
