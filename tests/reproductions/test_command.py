"""`python -m reproductions`: the list, pages of worked examples, and wrong input."""

import sys

import pytest

from bfenv.cli.app import run_app
from reproductions.__main__ import app


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process: (status, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["reproductions", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as exit_:
            run_app(app, "python -m reproductions")
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return run


def test_list_and_help(run):
    """Papers with their items; the help has examples."""
    assert "python -m reproductions zotkin2000" in run("--help")[1]
    out = run("list")[1]
    assert "zotkin2000" in out and "table-9" in out and "figure-4.15" in out


def test_a_worked_example(run, tmp_path):
    """Table, verdict, page; the second time nothing is left to do."""
    arguments = ("shmueli-los2003", "table-1.1", "table-3.7", "--out", tmp_path)
    status, out, _ = run(*arguments)
    assert status == 0
    assert "36 of 36" in out and "4_2^ / 4_2^ ✓" in out and "2 rows, 0 of them" in out
    assert "Verdict: **agrees**" in (tmp_path / "shmueli-los2003.md").read_text()
    assert "2 rows, 2 of them from earlier runs" in run(*arguments)[1]


def test_items_one_by_one(run, tmp_path):
    """A page has the items that were complete before, though they share a row, and no others."""
    page = tmp_path / "shmueli-los2003.md"
    for count, item in enumerate(("table-3.7", "table-3.1", "table-1.1"), 1):
        run("shmueli-los2003", item, "--out", tmp_path)
        assert page.read_text().count("Verdict: **agrees**") == count
        assert "not comparable" not in page.read_text().partition("## Logs")[0]


def test_quick(run, tmp_path, monkeypatch):
    """Generated workloads stand in for logs, and the page says so; a missing log is named."""
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    monkeypatch.setenv("BFENV_DATA", str(tmp_path))
    out, err = run("zotkin2000", "table-8", "--quick", "--out", tmp_path)[1:]
    assert "not comparable" in out and "not on this machine: LLNL-T3D-1996-2" in err
    assert "generated workloads stand in" in (tmp_path / "zotkin2000.md").read_text()


def test_wrong_input(run, tmp_path):
    """One line that names it."""
    for arguments, word in (
        (("zotkin",), "zotkin"),
        (("zotkin2000", "table2"), "table2"),
        (("all", "table-2"), "all"),
        (("zotkin2000", "table-2", "--shard", "3"), "3"),
        (("zotkin2000", "table-8", "--quick", "--jobs", "0"), "0"),
    ):
        status, _, err = run(*arguments, "--out", tmp_path)
        assert status == 2 and word in err and len(err.splitlines()) == 1, arguments
