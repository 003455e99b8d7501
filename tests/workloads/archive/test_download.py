"""Downloads from a small server on loopback: complete, checked and stored in one step."""

import gzip
import hashlib
import re
from pathlib import Path

import pytest

import bfenv
from bfenv.workloads.archive import catalogue, download
from tests.workloads.archive.server import FILE, GZ, KNOWN, LOGS, NEW, OTHER, PACKED, TEXT

OTHERS = {
    "page": b"<html>Log in to this network</html>",
    "no end": PACKED[:-9],
    "stub": PACKED[:50],
    "nothing": b"",
}


def refused(server, named, name=KNOWN, folder=None):
    """A fetch fails; the message names the values, the address, and where to save the file."""
    with pytest.raises(bfenv.WorkloadError) as error:
        download.fetch(name, folder)
    message = str(error.value)
    assert re.search(named, message), message
    assert f"{download.BASE}/l_{name[:-2].lower()}/{name}.swf.gz" in message
    assert str(Path(folder or catalogue.cache_folder()) / f"{name}.swf.gz") in message
    assert "\n" not in message


def left(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_cache(server, cache):
    """A log is downloaded into the cache, as text and nothing else."""
    assert download.fetch(KNOWN) == cache / FILE
    assert (cache / FILE).read_bytes() == TEXT
    assert left(cache) == [FILE]
    assert server.requests == [f"/workload/l_known/{FILE}.gz"]
    assert len(bfenv.read_swf(cache / FILE)) == 3000


def test_once(server, cache, tmp_path, monkeypatch):
    """A log on this machine, or in the folder if one is named, is not downloaded again."""
    path = download.fetch(KNOWN)
    assert download.fetch(KNOWN) == download.fetch(FILE) == path
    assert len(server.requests) == 1
    assert download.fetch(KNOWN, tmp_path) == download.fetch(KNOWN, tmp_path) == tmp_path / FILE
    assert len(server.requests) == 2
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    assert download.fetch(KNOWN) == tmp_path / FILE
    assert len(server.requests) == 2


@pytest.mark.parametrize(("name", "data"), [(GZ, PACKED), (FILE, TEXT)])
def test_by_hand(server, tmp_path, name, data):
    """A log that was saved by hand is found."""
    (tmp_path / name).write_bytes(data)
    assert download.fetch(KNOWN, tmp_path) == tmp_path / name
    assert server.requests == []


@pytest.mark.parametrize(
    "content", [gzip.compress(TEXT[:1000], 1) + gzip.compress(TEXT[1000:], 3), TEXT]
)
def test_packed(server, content):
    """The hash is that of the text, however it is packed."""
    server.content = content
    assert download.fetch(KNOWN).read_bytes() == TEXT


def test_encoded(server):
    """So is that of a log which the server labels as encoded, and which is unpacked on the way."""
    server.encoding = "x-gzip"
    assert download.fetch(KNOWN).read_bytes() == TEXT


def test_another_text(server, cache):
    """Another text than the known one is refused and removed."""
    server.content = gzip.compress(OTHER)
    refused(server, LOGS[0].sha256)
    refused(server, hashlib.sha256(OTHER).hexdigest())
    assert left(cache) == []


@pytest.mark.parametrize("name", [KNOWN, NEW])
@pytest.mark.parametrize("content", OTHERS)
def test_no_log(server, cache, name, content):
    """What is no whole log is refused and removed, whether its hash is known or not."""
    server.content = OTHERS[content]
    refused(server, "", name=name)
    assert left(cache) == []


@pytest.mark.parametrize("status", [404, 503])
def test_answer(server, cache, status):
    """What the server answers instead is in the message."""
    server.status = status
    refused(server, str(status))
    assert left(cache) == []


def test_no_network(closed, cache):
    """Without a network, the message says so."""
    refused(closed, "refused")
    assert left(cache) == []


def test_folder(server, tmp_path):
    """A folder that cannot be written is named."""
    (tmp_path / "file").write_text("")
    refused(server, f"{tmp_path / 'file'}", folder=tmp_path / "file")


@pytest.mark.parametrize(
    "name", ["../x", "..", "", "/etc/passwd", f"../{KNOWN}", "x\0y", "x" * 999]
)
def test_name(server, cache, tmp_path, monkeypatch, name):
    """A name that leads elsewhere is no log."""
    for path in (tmp_path / "x.swf", tmp_path / FILE):
        path.write_bytes(PACKED)
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path / "logs"))
    with pytest.raises(bfenv.UnknownNameError) as error:
        download.fetch(name)
    assert repr(name)[:40] in str(error.value)
    assert catalogue.locate(name) is None
    assert server.requests == [] and not cache.exists()
