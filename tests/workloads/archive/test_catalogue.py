"""The catalogue of the archive: well-formed, and right about the logs on this machine."""

import gzip
import hashlib
import json
import os
import re

import pytest
from typer.testing import CliRunner

import bfenv
from bfenv.cli import workloads as command
from bfenv.core.errors import UnknownNameError
from bfenv.workloads.archive import catalogue, download
from bfenv.workloads.archive.catalogue import CATALOGUE, log_folders
from bfenv.workloads.archive.download import BASE
from tests.workloads.archive.server import FILE, GZ, KNOWN, NEW, PACKED, TEXT
from tests.workloads.refusals import refused

TRACES = log_folders()[:-1]  # before a test hides them
SEEN = [log for log in CATALOGUE if log.sha256 or log.name == "METACENTRUM-2009-2"]


def test_well_formed():
    """A log is in the catalogue once, under a well-formed address."""
    assert len({log.name for log in CATALOGUE}) == len(CATALOGUE) == 42
    known = [log.sha256 for log in CATALOGUE if log.sha256]
    assert len(set(known)) == len(known) == 10
    assert [log.name for log in CATALOGUE if log.folder is None] == ["METACENTRUM-2008"]
    for log in CATALOGUE:
        if log.folder is None:  # not in the archive, so without its number of an edition
            assert log.sha256 is None and log.acknowledge
            continue
        assert re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*-[0-9](\.[0-9]-cln)?", log.name)
        assert re.fullmatch(r"l_[a-z0-9_]+", log.folder)
        assert log.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", log.sha256)
        assert re.search(r"(19|20)[0-9]{2}", log.period)
        assert log.remarks and log.terms and log.acknowledge != ""
    for base in (BASE,):
        assert re.fullmatch(r"https?://[a-z.]+(/[a-z]+)+", base)


@pytest.mark.parametrize("log", SEEN, ids=lambda log: log.name)
def test_logs_at_hand(log):
    """The catalogue is right about the logs at hand."""
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


def test_unknown_log():
    """A log that is not in the catalogue is answered with those alike."""
    with refused(UnknownNameError, "'Known'", KNOWN):
        catalogue.find_log("Known")
    assert catalogue.find_log(f"{KNOWN}.swf").name == KNOWN


def test_folders(tmp_path, cache, monkeypatch):
    """Logs are looked for in every folder that is named, and then in the cache."""
    first, second, missing = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    for folder in (first, second, cache):
        folder.mkdir(parents=True)
    monkeypatch.setenv("BFENV_TRACES", os.pathsep.join(map(str, (missing, first, "", second))))
    assert catalogue.log_folders() == [missing, first, second, cache]
    assert catalogue.locate(KNOWN) is None and catalogue.local_logs() == {}
    (cache / GZ).write_bytes(PACKED)
    assert catalogue.locate(KNOWN) == catalogue.locate(GZ) == cache / GZ
    (second / GZ).write_bytes(PACKED)
    (first / f"{KNOWN}.swf").write_bytes(TEXT)
    assert catalogue.locate(KNOWN) == first / f"{KNOWN}.swf"
    assert catalogue.locate(GZ) == second / GZ
    (first / GZ).write_bytes(PACKED)
    (first / "folder.swf").mkdir()
    (first / f"{GZ}.part").write_bytes(PACKED)
    assert catalogue.locate(KNOWN) == first / GZ
    (second / "other.swf").write_bytes(TEXT)
    assert catalogue.local_logs() == {KNOWN: first / GZ, "other": second / "other.swf"}
    assert all(catalogue.locate(name) == path for name, path in catalogue.local_logs().items())


def test_user_cache(monkeypatch):
    """Without variables in the environment, the one folder is the cache of the user."""
    monkeypatch.delenv("BFENV_CACHE")
    (folder,) = catalogue.log_folders()
    assert folder == catalogue.cache_folder() and folder.parts[-1] == "traces"
    assert "bfenv" in folder.parts


@pytest.fixture
def run(monkeypatch, server):
    """Run `bfenv workloads` with the server for the archive."""
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *arguments: CliRunner().invoke(command.app, arguments, prog_name="bfenv")


def test_list(run, tmp_path, monkeypatch):
    """The list has models, logs and other files, and marks those at hand."""
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


def test_list_width(run, monkeypatch):
    """The list fits a terminal of 80 columns without broken names."""
    monkeypatch.setattr(catalogue, "CATALOGUE", CATALOGUE)
    table = run().stdout
    assert max(map(len, table.splitlines())) <= 80
    assert all(f"\n {log.name} " in table for log in CATALOGUE)


def test_fetch(run, server, cache, tmp_path):
    """`bfenv workloads fetch` prints the path of the log and whom to thank."""
    result = run("fetch", KNOWN)
    assert result.exit_code == 0
    assert result.stdout == f"{cache / FILE}\n"
    assert "A. Donor" in result.stderr and "Experience with using" in result.stderr
    assert f"{server.base}/l_new/index.html" in run("fetch", NEW).stderr
    assert len(server.requests) == 2
    assert run("fetch", KNOWN, "--folder", str(tmp_path)).stdout == f"{tmp_path / FILE}\n"


def test_failed_fetch(run, server):
    """A fetch that fails is an error of bfenv, and so is one of an unknown name."""
    server.status = 404
    assert isinstance(run("fetch", KNOWN).exception, bfenv.BfenvError)
    assert isinstance(run("fetch", "../x").exception, bfenv.BfenvError)


def test_no_address(monkeypatch, tmp_path):
    """For a log without an address, `fetch` says why, whom to ask, and where to save it."""
    monkeypatch.setattr(catalogue, "CATALOGUE", CATALOGUE)
    with pytest.raises(bfenv.WorkloadError) as caught:
        download.fetch("METACENTRUM-2008", tmp_path)
    for part in ("does not list it", "Dalibor Klusacek", f"{tmp_path}/METACENTRUM-2008.swf.gz"):
        assert part in str(caught.value)
