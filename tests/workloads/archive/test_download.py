"""Downloads from a small server on loopback: complete, continued, refused, several at once."""

import gzip
import hashlib
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import bfenv
from bfenv.workloads.archive import download, local, transfer
from bfenv.workloads.logs import text
from tests.workloads.archive.server import (
    FILE,
    GZ,
    KNOWN,
    LOGS,
    NEW,
    OTHER,
    PACKED,
    PART,
    PIN,
    TEXT,
)


def fetch(server, name=KNOWN, folder=None, progress=None, timeout=5):
    base = server if isinstance(server, str) else server.base
    return download.fetch(name, folder, progress, bases=(base,), timeout=timeout)


def refused(server, named, name=KNOWN, folder=None, **options):
    """A fetch fails; the message names the values, the address, and where to save the file."""
    base = server if isinstance(server, str) else server.base
    with pytest.raises(bfenv.WorkloadError) as error:
        fetch(server, name, folder, **options)
    message = str(error.value)
    assert re.search(named, message), message
    assert f"{base}/l_{name[:-2].lower()}/{name}.swf.gz" in message
    assert str(Path(folder or local.cache_folder()) / f"{name}.swf.gz") in message
    assert "\n" not in message
    return message


def left(folder):
    return sorted(path.name for path in folder.iterdir())


# Downloads


def test_a_log_is_downloaded_into_the_cache_and_nothing_else(server, cache):
    assert fetch(server) == cache / FILE
    assert (cache / FILE).read_bytes() == TEXT
    assert left(cache) == [FILE]
    assert server.requests == [(f"/workload/l_known/{FILE}.gz", None)]
    assert len(bfenv.read_swf(cache / FILE)) == 3000


def test_a_log_is_downloaded_into_a_folder_of_ones_own(server, cache, tmp_path):
    assert fetch(server, folder=tmp_path / "my" / "logs") == tmp_path / "my" / "logs" / FILE
    assert not cache.exists()


def test_a_log_at_hand_is_not_downloaded_again(server, cache, tmp_path, monkeypatch):
    path = fetch(server)
    assert fetch(server) == fetch(server, name=FILE) == path
    assert len(server.requests) == 1
    assert fetch(server, folder=tmp_path) == tmp_path / FILE  # there it is not
    assert fetch(server, folder=tmp_path) == tmp_path / FILE
    assert len(server.requests) == 2
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    assert fetch(server) == tmp_path / FILE
    assert len(server.requests) == 2


@pytest.mark.parametrize(("name", "data"), [(GZ, PACKED), (FILE, TEXT)])
def test_a_log_put_there_by_hand_is_at_hand(server, tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    assert fetch(server, folder=tmp_path) == tmp_path / name
    assert server.requests == []


@pytest.mark.parametrize("length", [True, False])
def test_the_progress_is_told_to_the_last_byte(server, length):
    server.length = length
    steps = []
    fetch(server, progress=lambda *now: steps.append(now))
    total = len(PACKED) if length else None
    assert steps[0] == (0, total)
    assert steps[-1] == (len(PACKED), total)
    assert steps == sorted(steps, key=lambda pair: pair[0])


def test_a_log_that_the_server_labels_as_encoded_stays_packed(server):
    server.encoding = "x-gzip"
    assert fetch(server).read_bytes() == TEXT


# Broken off


def test_a_truncated_download_is_refused_and_the_next_one_continues_it(server, cache):
    server.cut = 20_000
    refused(server, f"20,000.*{len(PACKED):,}")
    assert left(cache) == [PART]
    assert (cache / PART).read_bytes() == PACKED[:20_000]
    refused(server, f"40,000.*{len(PACKED):,}")
    server.cut = None
    steps = []
    assert fetch(server, progress=lambda *now: steps.append(now)).read_bytes() == TEXT
    assert steps[0] == (40_000, len(PACKED)) and steps[-1] == (len(PACKED), len(PACKED))
    assert left(cache) == [FILE]
    assert [part for _, part in server.requests] == [None, "bytes=20000-", "bytes=40000-"]


def test_a_server_that_knows_no_ranges_makes_it_start_anew(server, cache):
    server.cut = 20_000
    refused(server, "20,000")
    server.cut, server.ranges = None, False
    assert fetch(server).read_bytes() == TEXT
    assert left(cache) == [FILE]


@pytest.mark.parametrize("extra", [b"", b"too much"])
def test_a_part_that_is_all_there_or_more_is_no_hindrance(server, cache, extra):
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(PACKED + extra)
    assert fetch(server).read_bytes() == TEXT
    assert len(server.requests) == (2 if extra else 1)


@pytest.mark.parametrize("spoil", [b"?" * 1000, gzip.compress(OTHER, mtime=0)[:1000]])
def test_a_spoiled_part_is_refused_once(server, cache, spoil):
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(spoil)
    refused(server, "")
    assert left(cache) == []
    assert fetch(server).read_bytes() == TEXT


def test_another_part_than_asked_for_is_refused_once(server, cache):
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(PACKED[:1000])
    server.offset = 5
    refused(server, r"\b1000\b")
    assert left(cache) == []
    assert fetch(server).read_bytes() == TEXT


def test_an_interrupted_download_is_continued(server, cache):
    def interrupt(done, total):
        if done:
            raise KeyboardInterrupt

    server.cut = 20_000
    with pytest.raises(KeyboardInterrupt):
        fetch(server, progress=interrupt)
    (part,) = cache.iterdir()
    assert part.name == PART and part.read_bytes() == PACKED[: part.stat().st_size] != b""
    server.cut = None
    assert fetch(server).read_bytes() == TEXT
    assert server.requests[-1][1].startswith("bytes=")


def test_a_server_that_falls_silent_is_given_up_and_what_came_is_kept(server, cache):
    server.cut, server.stall = 20_000, True
    start = time.monotonic()
    refused(server, "timed out", timeout=0.2)
    assert time.monotonic() - start < 2
    assert (cache / PART).stat().st_size == 20_000


def test_a_server_that_never_answers_is_given_up(server, cache):
    server.cut, server.stall = 0, True
    start = time.monotonic()
    refused(server, "timed out", timeout=0.2)
    assert time.monotonic() - start < 2
    assert left(cache) == []


# Not to be had


def test_without_a_network_it_says_so(closed, cache):
    refused(closed, "refused")
    assert left(cache) == []


@pytest.mark.parametrize(("status", "why"), [(404, "404 Not Found"), (503, "503")])
def test_what_the_server_answers_instead_is_said(server, cache, status, why):
    server.status = status
    refused(server, why)
    assert left(cache) == []


def test_the_second_address_serves_only_logs_whose_hash_is_known(server, closed):
    bases = (closed, server.base)
    assert download.fetch(KNOWN, bases=bases).read_bytes() == TEXT
    with pytest.raises(bfenv.WorkloadError, match=re.escape(closed)):
        download.fetch(NEW, bases=bases)
    assert len(server.requests) == 1
    assert download.BASES[0].startswith("https://")


def test_a_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_text("")
    refused(server, f"{tmp_path / 'file'}.*(exists|Not a directory)", folder=tmp_path / "file")
    (tmp_path / FILE).mkdir()
    refused(server, "directory", folder=tmp_path)
    assert server.requests[1:] == []


@pytest.mark.parametrize(
    "name",
    ["../x", "..", ".", "", "/etc/passwd", f"../{KNOWN}", f"l/{KNOWN}.swf", "x\0y", "x" * 999],
)
def test_a_name_that_leads_elsewhere_is_no_log(server, cache, tmp_path, monkeypatch, name):
    folder = tmp_path / "logs"
    folder.mkdir()
    for path in (tmp_path / "x.swf", tmp_path / FILE):
        path.write_bytes(PACKED)
    monkeypatch.setenv("BFENV_TRACES", str(folder))
    with pytest.raises(bfenv.UnknownNameError) as error:
        fetch(server, name)
    assert repr(name) in str(error.value)
    assert local.locate(name) is None
    assert server.requests == [] and not cache.exists()


# Not the log


def test_another_text_than_the_known_one_is_refused_and_removed(server, cache):
    server.content = gzip.compress(OTHER)
    message = refused(server, "")
    assert LOGS[0].sha256 in message and hashlib.sha256(OTHER).hexdigest() in message
    assert left(cache) == []


def test_the_hash_is_that_of_the_text_however_it_is_packed(server):
    server.content = gzip.compress(TEXT[:1000], 1) + gzip.compress(TEXT[1000:], 3)
    assert fetch(server).read_bytes() == TEXT


@pytest.mark.parametrize("name", [KNOWN, NEW])
@pytest.mark.parametrize(
    "content",
    [b"<html>Log in to this network</html>", PACKED[:-9], PACKED[:50], TEXT, b""],
    ids=["page", "no end", "stub", "text", "nothing"],
)
def test_what_is_no_whole_gzip_file_is_refused_and_removed(server, cache, name, content):
    server.content = content
    refused(server, "", name=name)
    assert left(cache) == []


def test_a_decompression_bomb_is_refused_and_removed_unread(server, cache, monkeypatch):
    server.content = gzip.compress(bytes(2**25), 9)
    assert len(server.content) * text.RATIO < 2**24 == text.HARMLESS
    refused(server, f"{text.HARMLESS:,}", name=NEW)
    assert left(cache) == []
    monkeypatch.setattr(text, "MOST", len(TEXT) - 1)
    server.content = PACKED
    refused(server, f"{len(TEXT) - 1:,}")
    monkeypatch.setattr(text, "MOST", len(TEXT))
    assert fetch(server).read_bytes() == TEXT


def test_an_endless_download_is_stopped_and_removed(server, cache, monkeypatch):
    monkeypatch.setattr(transfer, "MOST", 10**6)
    server.length, server.endless = False, True
    steps = []
    refused(server, "1,000,000", progress=lambda *now: steps.append(now))
    assert steps[-1][0] < 10**6 + transfer.CHUNK + 1
    assert left(cache) == []


# First download


def test_the_first_download_of_an_unknown_text_is_remembered(server, cache):
    path = fetch(server, NEW)
    digest = hashlib.sha256(TEXT).hexdigest()
    assert (cache / PIN).read_text() == f"{digest}  {NEW}.swf\n"
    path.unlink()
    server.content = gzip.compress(OTHER)
    message = refused(server, digest, name=NEW)
    assert str(cache / PIN) in message
    assert left(cache) == [PIN]
    server.content = gzip.compress(TEXT, 1)  # packed otherwise
    fetch(server, NEW).unlink()
    (cache / PIN).unlink()  # the user has looked into it and accepts
    server.content = gzip.compress(OTHER)
    assert fetch(server, NEW).read_bytes() == OTHER


def test_a_download_into_another_folder_is_held_against_the_first(server, tmp_path):
    fetch(server, NEW, tmp_path)
    server.content = gzip.compress(OTHER)
    digest = hashlib.sha256(TEXT).hexdigest()
    refused(server, digest, NEW, tmp_path / "other")
    refused(server, digest, NEW)


@pytest.mark.parametrize("pin", [b"", b"\xff\xfe", b"nonsense"])
def test_a_damaged_note_of_the_first_download_is_named(server, cache, pin):
    cache.mkdir(parents=True)
    (cache / PIN).write_bytes(pin)
    refused(server, re.escape(str(cache / PIN)), NEW)


# Several at once


def test_fetches_of_one_log_at_once_take_turns(server, cache):
    pytest.importorskip("fcntl")
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: fetch(server), range(8)))
    assert set(paths) == {cache / FILE}
    assert (cache / FILE).read_bytes() == TEXT
    assert left(cache) == [FILE]
    assert len(server.requests) == 1


def test_when_a_fetch_fails_those_that_wait_try_in_turn(server, cache):
    pytest.importorskip("fcntl")
    server.content = gzip.compress(OTHER)
    started, go_on = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]

    def hold(turn):
        def progress(done, total):
            started[turn].set()
            assert go_on[turn].wait(5)

        return progress

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(fetch, server, progress=hold(0))
        assert started[0].wait(5)
        second = pool.submit(fetch, server, progress=hold(1))
        time.sleep(0.1)
        server.content = PACKED
        go_on[0].set()
        assert hashlib.sha256(OTHER).hexdigest() in str(first.exception(10))
        assert started[1].wait(5)
        third = pool.submit(fetch, server)
        time.sleep(0.1)
        assert len(server.requests) == 2 and not third.done()
        go_on[1].set()
        assert second.result(10) == third.result(10) == cache / FILE
    assert (cache / FILE).read_bytes() == TEXT
    assert left(cache) == [FILE] and len(server.requests) == 2


def test_a_file_system_without_locks_is_no_hindrance(server, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def flock(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    assert fetch(server).read_bytes() == TEXT


def test_a_download_that_drips_is_given_up_and_continued_later(server, cache, monkeypatch):
    monkeypatch.setattr(transfer, "LEISURE", 0)
    monkeypatch.setattr(transfer, "SLOWEST", 10**15)
    refused(server, "1,000,000,000,000,000")
    assert left(cache) == [PART]
    monkeypatch.setattr(transfer, "LEISURE", 60)
    assert fetch(server).read_bytes() == TEXT
    assert left(cache) == [FILE]
