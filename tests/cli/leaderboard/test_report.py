"""`bfenv leaderboard report`: the ranking in every format, the page."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

import bfenv
from bfenv.core.durations import HOUR
from bfenv.leaderboard.report.ranking import render_markdown
from bfenv.leaderboard.store import read_leaderboard
from tests.leaderboard.stores import make_store

PAGE = Path(__file__).resolve().parents[3] / "docs" / "agents" / "boards" / "synthetic.md"


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("report") / "board")


def test_formats(run, board):
    """Every format has the same ranking."""
    lines = json.loads(run("leaderboard", "report", board, "--format", "json")[1])
    names = [line["policy"] for line in lines]
    table = run("leaderboard", "report", board, columns=140)[1]
    first = [line.split()[0].rstrip("*") for line in table.splitlines() if line[:2].strip()]
    assert [name for name in first if name in names] == names
    status, text, _ = run("leaderboard", "report", board, "--format", "csv")
    assert status == 0
    assert [row["policy"] for row in csv.DictReader(io.StringIO(text))] == names
    assert run("leaderboard", "report", board, "-f", "markdown")[1] == render_markdown(
        read_leaderboard(board)
    )


@pytest.mark.together
def test_nothing_to_rank(run, tmp_path):
    """Where only what a log records has been written so far, every format is without lines."""
    board = make_store(tmp_path / "board", ("easy",), {"lublin": "lublin:jobs=50"})
    (path,) = (board / "rows").iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"policy": "logged", "kind": "log"}))
    assert run("leaderboard", "report", board, "-f", "json")[:2] == (0, "[]\n")
    status, text, _ = run("leaderboard", "report", board, "-f", "csv")
    assert (status, list(csv.DictReader(io.StringIO(text)))) == (0, [])
    assert text.startswith("policy,")
    for format in ("table", "markdown"):
        assert run("leaderboard", "report", board, "-f", format)[0] == 0
    assert run("leaderboard", "report", board, "--html", tmp_path / "page.html")[0] == 0


def test_narrow_terminal(run, board):
    """Numbers and names are whole on a narrow terminal."""
    for columns in (60, 80, 120):
        table = run("leaderboard", "report", board, columns=columns)[1]
        assert "…" not in table and "easy-sjbf" in table


@pytest.mark.together
def test_files(run, board, tmp_path):
    """The page and the Markdown are written, the same bytes every time."""
    page, text = tmp_path / "page.html", tmp_path / "board.md"
    both = ("--html", page, "--markdown", text)
    assert run("leaderboard", "report", board, *both)[0] == 0
    best = json.loads(run("leaderboard", "report", board, "-f", "json")[1])[0]["policy"]
    assert f"Gantt chart: easy and {best}" in page.read_text()
    assert text.read_text() == render_markdown(read_leaderboard(board))
    before = page.read_bytes()
    run("leaderboard", "report", board, "--html", page)
    assert page.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("--html", "nowhere/page.html"), "nowhere"),
        (("--log", "log.swf"), "--log needs --html"),
        (("--html", "page.html", "--by", "wait"), "--by wait is not for --html"),
        (("--html", "page", "--markdown", "./page"), "the same file, page"),
        (("--metrics", "-f", "csv"), "--metrics needs --format"),
        (("--metric", "max_wait", "-f", "json"), "--metric needs --format"),
        (("--metric", "p95"), "no row has the metric 'p95'; there are"),
    ],
)
def test_bad_options(run, board, tmp_path, monkeypatch, arguments, value):
    """A bad option is one line that names it, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    status, _, error = run("leaderboard", "report", board, *arguments)
    assert status == 2 and value in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.together
def test_metric(run, board, tmp_path):
    """A column has the mean over runs of any metric of the rows, on the page, too."""
    page = tmp_path / "page.html"
    command = ("leaderboard", "report", board, "-f", "markdown", "--html", page)
    out = run(*command, "--metric", "max_wait")[1]
    heading, _, *lines = (line for line in out.splitlines() if line.startswith("|"))
    assert heading.endswith("| max wait |")
    rows = [row for row in read_leaderboard(board).rows if row.policy == "easy"]
    mean = f"{sum(row.metrics['max_wait'] for row in rows) / len(rows) / HOUR:.1f} h"
    (easy,) = (line for line in lines if line.startswith("| easy |"))
    assert easy.endswith(f"| {mean} |")
    assert f">{mean}</td>" in page.read_text()


def test_no_rows(run, tmp_path):
    """A folder without rows is one line that names it."""
    status, _, error = run("leaderboard", "report", tmp_path)
    assert status == 2 and str(tmp_path) in error and error.count("\n") == 1


def test_several_commits(run, tmp_path):
    """Rows of several commits are pointed out."""
    folder = make_store(tmp_path / "board", policies=("easy", "fcfs"))
    assert "several versions" not in run("leaderboard", "report", folder)[1]
    (changed, *_) = sorted((folder / "rows").iterdir())
    changed.write_text(json.dumps(json.loads(changed.read_text()) | {"commit": "f" * 40}))
    out = run("leaderboard", "report", folder)[1]
    assert f"{bfenv.__version__} (fff" in out


@pytest.mark.together
@pytest.mark.parametrize("policy", ["=cmd|mine", "=cmd|\x1b]0;x\x07mine\x9b1m"])
def test_hostile_rows(run, tmp_path, policy):
    """Whatever is printed of rows steers no terminal, and no spreadsheet finds a formula.

    A name that could steer a terminal is refused, in a message that does not.
    """
    folder = make_store(tmp_path / "board", policies=("easy", "fcfs"))
    for path in (folder / "rows").iterdir():
        row = json.loads(path.read_text())
        if row["policy"] == "fcfs":
            row["policy"] = policy
        else:
            row |= {"status": "failed", "error": "\x1b[2J\nfine", "commit": "\x1b[1m"}
        path.write_text(json.dumps(row))
    for name in ("table", "markdown", "csv", "json"):
        status, *printed = run("leaderboard", "report", folder, "-f", name)
        out = "".join(printed)
        assert "mine" in out and not set(out) & {"\x1b", "\x07", "\x9b"}
        assert (status == 2) == (not policy.isprintable())
        if name == "csv" and policy.isprintable():
            assert "'=cmd" in out and "\n=cmd" not in out and ",=cmd" not in out


@pytest.mark.thorough
def test_published_leaderboard(run, tmp_path, monkeypatch):
    """The table of the documentation is the one that its commands make."""
    monkeypatch.setenv("BFENV_COMPILE", "now")  # of the worker processes, which make the rows
    text = (PAGE.parents[2] / "leaderboard.md").read_text()
    line = re.search(r"^bfenv (leaderboard run --suite synthetic-v1 (?:\\\n|.)*)", text, re.M)[1]
    words = line.replace("\\\n", " ").split()
    assert words[-2:] == ["--out", "board"]
    assert run(*words[:-1], tmp_path / "board")[0] == 0
    assert run("leaderboard", "report", tmp_path / "board", "-f", "markdown")[1] == (
        PAGE.read_text()
    )
