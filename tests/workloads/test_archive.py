"""Logs of the archive: what the catalogue says, and downloads from a small server on loopback."""

import gzip
import hashlib
import json
import os
import random
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bfenv
from bfenv.cli import workloads as command
from bfenv.workloads.archive import catalogue
from bfenv.workloads.archive import download as archive
from bfenv.workloads.archive.catalogue import CATALOGUE, Log
from bfenv.workloads.logs import text


def swf(seed):
    """An SWF file of 3,000 jobs; some 60 kB when packed."""
    rng = random.Random(seed)
    jobs = [
        f"{i} {i * 60} {rng.randrange(10**6)} {rng.randrange(1, 10**6)} {rng.randrange(1, 8)} "
        f"-1 -1 -1 {10**6 + rng.randrange(10**6)} -1 1 {rng.randrange(99)} 1 1 1 1 -1 -1"
        for i in range(3000)
    ]
    return "\n".join(["; MaxProcs: 8", *jobs, ""]).encode()


TRACES = archive.folders()[:-1]  # before a test hides them
SEEN = [log for log in CATALOGUE if log.sha256 or log.name == "METACENTRUM-2009-2"]
TEXT, OTHER = swf(0), swf(1)
PACKED = gzip.compress(TEXT, mtime=0)
KNOWN, NEW = "Known-1", "New-1"  # with and without a hash in the catalogue
LOGS = (
    Log(KNOWN, "l_known", 8, 3000, "2001", "A. Donor", "none", hashlib.sha256(TEXT).hexdigest()),
    Log(NEW, "l_new", None, None, "2002", None, "none"),
)


class Server(ThreadingHTTPServer):
    """Serves `content` under any log's address, with faults on demand."""

    content = PACKED
    status = 200
    ranges = True  # understands the Range header
    length = True  # says how long the content is
    cut = None  # breaks off after as many bytes
    stall = False  # where it would break off, it falls silent instead
    endless = False  # sends the content over and over
    encoding = None  # what it says of the content
    offset = 0  # by how much the part sent is off

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.over = threading.Event()
        self.asked = []  # (path, Range)
        self.base = f"http://127.0.0.1:{self.server_port}/workload"


class Handler(BaseHTTPRequestHandler):
    timeout = 5

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers["Range"]))
        if not re.fullmatch(r"/workload/l_(known|new)/(Known|New)-1\.swf\.gz", self.path):
            return self.send_error(404)
        if server.status != 200:
            return self.send_error(server.status)
        if server.cut == 0 and server.stall:
            return server.over.wait(5)
        start, size = 0, len(server.content)
        if server.ranges and self.headers["Range"]:
            start = int(re.fullmatch(r"bytes=(\d+)-", self.headers["Range"])[1])
            if start >= size:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{size}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            start += server.offset
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        else:
            self.send_response(200)
        if server.length:
            self.send_header("Content-Length", str(size - start))
        if server.encoding:
            self.send_header("Content-Encoding", server.encoding)
        self.end_headers()
        end = size if server.cut is None else min(size, start + server.cut)
        try:
            for _ in range(100 if server.endless else 1):
                self.wfile.write(server.content[start:end])
        except ConnectionError:
            return
        if server.stall and end < size:
            server.over.wait(5)

    def log_message(self, *_):
        pass


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of this test's own, no other logs, no proxy; and the catalogue of two logs."""
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BFENV_TRACES", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(catalogue, "CATALOGUE", LOGS)
    return tmp_path / "cache" / "traces"


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join(10)
    assert not thread.is_alive()


@pytest.fixture
def closed():
    """The address of a server that is not there."""
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))  # taken, but nobody listens
        yield f"http://127.0.0.1:{port.getsockname()[1]}/workload"


def fetch(server, name=KNOWN, folder=None, progress=None, timeout=5):
    base = server if isinstance(server, str) else server.base
    return archive.fetch(name, folder, progress, bases=(base,), timeout=timeout)


def refused(server, why, name=KNOWN, folder=None, **options):
    """A fetch says why it fails, from where, and where to put the file by hand."""
    base = server if isinstance(server, str) else server.base
    with pytest.raises(bfenv.WorkloadError) as error:
        fetch(server, name, folder, **options)
    message = str(error.value)
    assert re.search(why, message), message
    assert f"{base}/l_{name[:-2].lower()}/{name}.swf.gz" in message
    assert str(Path(folder or archive.cache_folder()) / f"{name}.swf.gz") in message
    assert "\n" not in message
    return message


def left(folder):
    return sorted(path.name for path in folder.iterdir())


GZ, FILE, PART, PIN = f"{KNOWN}.swf.gz", f"{KNOWN}.swf", f"{KNOWN}.swf.gz.part", f"{NEW}.swf.sha256"


# Downloads


def test_a_log_is_downloaded_into_the_cache_and_nothing_else(server, cache):
    assert fetch(server) == cache / FILE
    assert (cache / FILE).read_bytes() == TEXT
    assert left(cache) == [FILE]
    assert server.asked == [(f"/workload/l_known/{FILE}.gz", None)]
    assert len(bfenv.read_swf(cache / FILE)) == 3000


def test_a_log_is_downloaded_into_a_folder_of_ones_own(server, cache, tmp_path):
    assert fetch(server, folder=tmp_path / "my" / "logs") == tmp_path / "my" / "logs" / FILE
    assert not cache.exists()


def test_a_log_at_hand_is_not_downloaded_again(server, cache, tmp_path, monkeypatch):
    path = fetch(server)
    assert fetch(server) == fetch(server, name=FILE) == path
    assert len(server.asked) == 1
    assert fetch(server, folder=tmp_path) == tmp_path / FILE  # there it is not
    assert fetch(server, folder=tmp_path) == tmp_path / FILE
    assert len(server.asked) == 2
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    assert fetch(server) == tmp_path / FILE
    assert len(server.asked) == 2


@pytest.mark.parametrize(("name", "data"), [(GZ, PACKED), (FILE, TEXT)])
def test_a_log_put_there_by_hand_is_at_hand(server, tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    assert fetch(server, folder=tmp_path) == tmp_path / name
    assert server.asked == []


@pytest.mark.parametrize("length", [True, False])
def test_the_progress_is_told_to_the_last_byte(server, length):
    server.length = length
    told = []
    fetch(server, progress=lambda *told_now: told.append(told_now))
    total = len(PACKED) if length else None
    assert told[0] == (0, total)
    assert told[-1] == (len(PACKED), total)
    assert told == sorted(told, key=lambda pair: pair[0])


def test_a_log_that_the_server_labels_as_encoded_stays_packed(server):
    server.encoding = "x-gzip"
    assert fetch(server).read_bytes() == TEXT


# Broken off


def test_a_truncated_download_is_refused_and_the_next_one_continues_it(server, cache):
    server.cut = 20_000
    refused(server, f"ended after 20,000 of {len(PACKED):,} bytes")
    assert left(cache) == [PART]
    assert (cache / PART).read_bytes() == PACKED[:20_000]
    refused(server, f"ended after 40,000 of {len(PACKED):,} bytes")
    server.cut = None
    told = []
    assert fetch(server, progress=lambda *now: told.append(now)).read_bytes() == TEXT
    assert told[0] == (40_000, len(PACKED)) and told[-1] == (len(PACKED), len(PACKED))
    assert left(cache) == [FILE]
    assert [part for _, part in server.asked] == [None, "bytes=20000-", "bytes=40000-"]


def test_a_server_that_knows_no_ranges_makes_it_start_anew(server, cache):
    server.cut = 20_000
    refused(server, "ended after 20,000")
    server.cut, server.ranges = None, False
    assert fetch(server).read_bytes() == TEXT
    assert left(cache) == [FILE]


@pytest.mark.parametrize("extra", [b"", b"too much"])
def test_a_part_that_is_all_there_or_more_is_no_hindrance(server, cache, extra):
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(PACKED + extra)
    assert fetch(server).read_bytes() == TEXT
    assert len(server.asked) == (2 if extra else 1)


@pytest.mark.parametrize("spoil", [b"?" * 1000, gzip.compress(OTHER, mtime=0)[:1000]])
def test_a_spoiled_part_is_refused_once(server, cache, spoil):
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(spoil)
    refused(server, "gzip|SHA256")
    assert left(cache) == []
    assert fetch(server).read_bytes() == TEXT


def test_another_part_than_asked_for_is_refused_once(server, cache):
    cache.mkdir(parents=True)
    (cache / PART).write_bytes(PACKED[:1000])
    server.offset = 5
    refused(server, "another part")
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
    assert server.asked[-1][1].startswith("bytes=")


def test_a_server_that_falls_silent_is_given_up_and_what_came_is_kept(server, cache):
    server.cut, server.stall = 20_000, True
    start = time.monotonic()
    refused(server, "broke off.*timed out", timeout=0.2)
    assert time.monotonic() - start < 2
    assert (cache / PART).stat().st_size == 20_000


def test_a_server_that_never_answers_is_given_up(server, cache):
    server.cut, server.stall = 0, True
    start = time.monotonic()
    refused(server, "no answer.*timed out", timeout=0.2)
    assert time.monotonic() - start < 2
    assert left(cache) == []


# Not to be had


def test_without_a_network_it_says_so(closed, cache):
    refused(closed, "no answer from the server.*refused")
    assert left(cache) == []


@pytest.mark.parametrize(("status", "why"), [(404, "404 Not Found"), (503, "503")])
def test_what_the_server_answers_instead_is_said(server, cache, status, why):
    server.status = status
    refused(server, why)
    assert left(cache) == []


def test_the_second_address_serves_only_logs_whose_hash_is_known(server, closed):
    bases = (closed, server.base)
    assert archive.fetch(KNOWN, bases=bases).read_bytes() == TEXT
    with pytest.raises(bfenv.WorkloadError, match="no answer"):
        archive.fetch(NEW, bases=bases)
    assert len(server.asked) == 1
    assert archive.BASES[0].startswith("https://")


def test_a_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_text("")
    refused(server, f"{tmp_path / 'file'}.*(exists|Not a directory)", folder=tmp_path / "file")
    (tmp_path / FILE).mkdir()
    refused(server, "directory", folder=tmp_path)
    assert server.asked[1:] == []


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
    with pytest.raises(bfenv.UnknownNameError, match="unknown log"):
        fetch(server, name)
    assert archive.locate(name) is None
    assert server.asked == [] and not cache.exists()


# Not the log


def test_another_text_than_the_known_one_is_refused_and_removed(server, cache):
    server.content = gzip.compress(OTHER)
    message = refused(server, "SHA256 hash")
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
    refused(server, "corrupted gzip file|is empty", name=name)
    assert left(cache) == []


def test_a_decompression_bomb_is_refused_and_removed_unread(server, cache, monkeypatch):
    server.content = gzip.compress(bytes(2**25), 9)
    assert len(server.content) * text.RATIO < 2**24 == text.HARMLESS
    refused(server, "unzips to more than", name=NEW)
    assert left(cache) == []
    monkeypatch.setattr(text, "MOST", len(TEXT) - 1)
    server.content = PACKED
    refused(server, f"unzips to more than {len(TEXT) - 1:,} bytes")
    monkeypatch.setattr(text, "MOST", len(TEXT))
    assert fetch(server).read_bytes() == TEXT


def test_an_endless_download_is_stopped_and_removed(server, cache, monkeypatch):
    monkeypatch.setattr(archive, "MOST", 10**6)
    server.length, server.endless = False, True
    told = []
    refused(server, "more than 1,000,000 bytes", progress=lambda *now: told.append(now))
    assert told[-1][0] < 10**6 + archive.CHUNK + 1
    assert left(cache) == []


# First download


def test_the_first_download_of_an_unknown_text_is_remembered(server, cache):
    path = fetch(server, NEW)
    digest = hashlib.sha256(TEXT).hexdigest()
    assert (cache / PIN).read_text() == f"{digest}  {NEW}.swf\n"
    path.unlink()
    server.content = gzip.compress(OTHER)
    message = refused(server, "first download", name=NEW)
    assert digest in message and str(cache / PIN) in message
    assert left(cache) == [PIN]
    server.content = gzip.compress(TEXT, 1)  # packed otherwise
    fetch(server, NEW).unlink()
    (cache / PIN).unlink()  # the user has looked into it and accepts
    server.content = gzip.compress(OTHER)
    assert fetch(server, NEW).read_bytes() == OTHER


def test_a_download_into_another_folder_is_held_against_the_first(server, tmp_path):
    fetch(server, NEW, tmp_path)
    server.content = gzip.compress(OTHER)
    refused(server, "first download", NEW, tmp_path / "other")
    refused(server, "first download", NEW)


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
    assert len(server.asked) == 1


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
        assert "SHA256" in str(first.exception(10))
        assert started[1].wait(5)
        third = pool.submit(fetch, server)
        time.sleep(0.1)
        assert len(server.asked) == 2 and not third.done()
        go_on[1].set()
        assert second.result(10) == third.result(10) == cache / FILE
    assert (cache / FILE).read_bytes() == TEXT
    assert left(cache) == [FILE] and len(server.asked) == 2


def test_a_file_system_without_locks_is_no_hindrance(server, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def flock(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    assert fetch(server).read_bytes() == TEXT


# At hand


def test_logs_are_looked_for_in_every_folder_named_and_then_in_the_cache(
    tmp_path, cache, monkeypatch
):
    first, second, missing = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    for folder in (first, second, cache):
        folder.mkdir(parents=True)
    monkeypatch.setenv("BFENV_TRACES", os.pathsep.join(map(str, (missing, first, "", second))))
    assert archive.folders() == [missing, first, second, cache]
    assert archive.locate(KNOWN) is None and archive.at_hand() == {}
    (cache / GZ).write_bytes(PACKED)
    assert archive.locate(KNOWN) == archive.locate(GZ) == cache / GZ
    (second / GZ).write_bytes(PACKED)
    (first / f"{KNOWN}.swf").write_bytes(TEXT)
    assert archive.locate(KNOWN) == first / f"{KNOWN}.swf"
    assert archive.locate(GZ) == second / GZ
    (first / GZ).write_bytes(PACKED)
    (first / "folder.swf").mkdir()
    (first / PART).write_bytes(PACKED)
    assert archive.locate(KNOWN) == first / GZ
    (second / "other.swf").write_bytes(TEXT)
    assert archive.at_hand() == {KNOWN: first / GZ, "other": second / "other.swf"}
    assert all(archive.locate(name) == path for name, path in archive.at_hand().items())


def test_without_an_environment_the_cache_is_the_users(monkeypatch):
    monkeypatch.delenv("BFENV_CACHE")
    (folder,) = archive.folders()
    assert folder == archive.cache_folder() and folder.parts[-1] == "traces"
    assert "bfenv" in folder.parts


# The catalogue


def test_a_log_is_in_the_catalogue_once_under_a_well_formed_address():
    assert len({log.name for log in CATALOGUE}) == len(CATALOGUE) == 41
    known = [log.sha256 for log in CATALOGUE if log.sha256]
    assert len(set(known)) == len(known) == 10
    for log in CATALOGUE:
        assert re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*-[0-9](\.[0-9]-cln)?", log.name)
        assert re.fullmatch(r"l_[a-z0-9_]+", log.folder)
        assert log.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", log.sha256)
        assert re.search(r"(19|20)[0-9]{2}", log.period)
        assert log.remarks and log.terms and log.acknowledge != ""
    for base in archive.BASES:
        assert re.fullmatch(r"https?://[a-z.]+(/[a-z]+)+", base)


@pytest.mark.parametrize("log", SEEN, ids=lambda log: log.name)
def test_the_catalogue_is_right_about_the_logs_at_hand(log):
    paths = (folder / f"{log.name}.swf.gz" for folder in TRACES)
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        pytest.skip("not in BFENV_TRACES")
    text = gzip.decompress(path.read_bytes())
    assert log.sha256 in (None, hashlib.sha256(text).hexdigest())
    jobs = re.findall(rb"^ *[0-9].*$", text, re.M)
    assert len(jobs) == log.jobs
    size = re.search(rb"^; *MaxProcs: *([0-9]+)", text, re.M)
    assert size is None or int(size[1]) == log.processors
    if "no estimates" in log.remarks:
        assert all(int(job.split()[8]) <= 0 for job in jobs)
    if "submit times are start times" in log.remarks:
        assert all(int(job.split()[2]) <= 0 for job in jobs)


def test_a_log_not_in_the_catalogue_is_answered_with_those_alike():
    with pytest.raises(bfenv.UnknownNameError, match=r"unknown log 'Known'; did you mean Known-1"):
        catalogue.find_log("Known")
    assert catalogue.find_log(f"{KNOWN}.swf").name == KNOWN


# The command


@pytest.fixture
def run(monkeypatch, server):
    """Run `bfenv workloads` with the server for the archive."""
    monkeypatch.setattr(archive, "BASES", (server.base,))
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *arguments: CliRunner().invoke(command.app, arguments, prog_name="bfenv")


def test_the_list_has_models_logs_and_other_files_and_marks_those_at_hand(
    run, tmp_path, monkeypatch
):
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    (tmp_path / FILE).write_bytes(PACKED)
    (tmp_path / "mine.swf").write_bytes(TEXT)
    rows = json.loads(run("--format", "json").stdout)
    assert {"lublin", "sud", KNOWN, NEW, "mine"} == {row["workload"] for row in rows}
    files = {row["workload"]: row["file"] for row in rows}
    assert (files[KNOWN], files[NEW]) == (str(tmp_path / FILE), None)
    assert files["mine"] == str(tmp_path / "mine.swf")
    known = next(row for row in rows if row["workload"] == KNOWN)
    assert (known["processors"], known["jobs"], known["acknowledge"]) == (8, 3000, "A. Donor")
    assert known["url"].endswith(f"/l_known/{GZ}")
    assert all(list(row) == list(known) for row in rows)
    table, markdown, csv = run().stdout, run("-f", "markdown").stdout, run("-f", "csv").stdout
    assert re.search(rf"^ {KNOWN} +\* .* 8  3,000 $", table, re.M)
    assert re.search(rf"^ {NEW} ", table, re.M)
    assert re.search(rf"^\| {KNOWN} \| \* \| .* \| 8 \| 3,000 \|$", markdown, re.M)
    assert re.search(rf"^\| {NEW} \|  \| .*\|  \|  \|$", markdown, re.M)
    assert csv.startswith("workload,processors,jobs,") and csv.count("\n") == 6


def test_the_list_fits_a_terminal_of_80_columns_without_broken_names(run, monkeypatch):
    monkeypatch.setattr(catalogue, "CATALOGUE", CATALOGUE)
    table = run().stdout
    assert max(map(len, table.splitlines())) <= 80
    assert all(f"\n {log.name} " in table for log in CATALOGUE)


def test_fetch_prints_the_path_and_whom_to_thank(run, server, cache):
    result = run("fetch", KNOWN)
    assert result.exit_code == 0
    assert result.stdout == f"{cache / FILE}\n"
    assert "A. Donor" in result.stderr and "Experience with using" in result.stderr
    assert f"{server.base}/l_new/index.html" in run("fetch", NEW).stderr
    assert len(server.asked) == 2


def test_fetch_takes_a_folder(run, tmp_path):
    assert run("fetch", KNOWN, "--folder", str(tmp_path)).stdout == f"{tmp_path / FILE}\n"


def test_fetch_shows_its_progress_on_a_terminal(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes stderr for a terminal
    assert f"{len(PACKED) / 1000:.1f}" in run("fetch", KNOWN).stderr


def test_a_fetch_that_fails_is_an_error_that_the_command_prints(run, server):
    server.status = 404
    assert isinstance(run("fetch", KNOWN).exception, bfenv.BfenvError)
    assert isinstance(run("fetch", "../x").exception, bfenv.BfenvError)


@pytest.mark.parametrize("arguments", [(), ("fetch",)])
def test_every_help_text_has_examples(run, arguments):
    result = run(*arguments, "--help")
    assert re.findall(r"^ +bfenv workloads", result.stdout.partition("Examples:")[2], re.M)
