"""`bfenv workloads` and `bfenv workloads fetch`, with a server on loopback for the archive."""

import json
import re

import pytest
from typer.testing import CliRunner

import bfenv
from bfenv.cli import workloads as command
from bfenv.workloads.archive import catalogue
from bfenv.workloads.archive.catalogue import CATALOGUE
from tests.workloads.archive.server import FILE, GZ, KNOWN, NEW, PACKED, TEXT


@pytest.fixture
def run(monkeypatch, server):
    """Run `bfenv workloads` with the server for the archive."""
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


def test_fetch_prints_the_path_and_whom_to_thank(run, server, cache, tmp_path):
    result = run("fetch", KNOWN)
    assert result.exit_code == 0
    assert result.stdout == f"{cache / FILE}\n"
    assert "A. Donor" in result.stderr and "Experience with using" in result.stderr
    assert f"{server.base}/l_new/index.html" in run("fetch", NEW).stderr
    assert len(server.requests) == 2
    assert run("fetch", KNOWN, "--folder", str(tmp_path)).stdout == f"{tmp_path / FILE}\n"


def test_a_fetch_that_fails_is_an_error_that_the_command_prints(run, server):
    server.status = 404
    assert isinstance(run("fetch", KNOWN).exception, bfenv.BfenvError)
    assert isinstance(run("fetch", "../x").exception, bfenv.BfenvError)
