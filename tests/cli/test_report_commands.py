"""The commands that make something of a leaderboard's folder or a schedule."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import pytest

import bfenv
from bfenv import cli
from bfenv.leaderboard.report.markdown import BEGIN, END, render_markdown
from bfenv.leaderboard.store import read_leaderboard
from tests.leaderboard.stores import make_store

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("commands") / "board")


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process: (status, stdout, stderr)."""

    def run(*arguments, columns=140):
        monkeypatch.setattr(sys, "argv", ["bfenv", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return run


def test_report_prints_the_ranking_in_every_format(run, board):
    lines = json.loads(run("leaderboard", "report", board, "--format", "json")[1])
    names = [line["policy"] for line in lines]
    table = run("leaderboard", "report", board)[1]
    assert [line.split()[0] for line in table.splitlines()[5:13]] == names
    status, text, _ = run("leaderboard", "report", board, "--format", "csv")
    assert status == 0
    assert [row["policy"] for row in csv.DictReader(io.StringIO(text))] == names
    expected = render_markdown(read_leaderboard(board))
    assert run("leaderboard", "report", board, "-f", "markdown")[1] == expected


def test_a_narrow_terminal_shows_whole_numbers(run, board):
    for columns in (60, 80, 120):
        table = run("leaderboard", "report", board, columns=columns)[1]
        assert "…" not in table and "easy-sjbf" in table


def test_report_writes_the_page_and_the_markdown(run, board, tmp_path):
    page, text = tmp_path / "page.html", tmp_path / "board.md"
    asked = ("--policy", "easy", "--policy", "los", "--from", "1h", "--span", "2h")
    both = ("--html", page, "--markdown", text)
    assert run("leaderboard", "report", board, *both, *asked)[0] == 0
    assert "2 h from 01:00 on" in page.read_text()
    assert "los: which job ran where" in page.read_text()
    assert text.read_text() == render_markdown(read_leaderboard(board))
    before = page.read_bytes()
    run("leaderboard", "report", board, "--html", page, *asked)
    assert page.read_bytes() == before


def test_report_renews_a_readme(run, board, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"# One\n{BEGIN}\nstale\n{END}\nTwo\n")
    assert run("leaderboard", "report", board, "--readme", readme)[0] == 0
    expected = render_markdown(read_leaderboard(board))
    assert readme.read_text() == f"# One\n{BEGIN}\n{expected}{END}\nTwo\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--html", "nowhere/page.html"), "no such folder"),
        (("--html", "page.html", "--policy", "eazy"), "did you mean"),
        (("--span", "1h"), "--span is for the page"),
        (("--html", "page.html", "--span", "soon"), "'soon' is no time"),
        (("--html", "page.html", "--from", "-1h"), "out of range"),
    ],
)
def test_bad_options_of_report_are_one_line(run, board, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    status, _, error = run("leaderboard", "report", board, *arguments)
    assert status == 2 and told in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_rows_is_one_line(run, tmp_path):
    status, _, error = run("leaderboard", "report", tmp_path)
    assert status == 2 and "no rows" in error and error.count("\n") == 1


def test_export_writes_rows(run, board, tmp_path):
    text = run("leaderboard", "export", board)[1]
    assert len(list(csv.DictReader(io.StringIO(text)))) == 16
    out = tmp_path / "rows.jsonl"
    assert run("leaderboard", "export", board, "--format", "jsonl", "--out", out)[0] == 0
    assert len([json.loads(line) for line in out.read_text().splitlines()]) == 16
    status, _, error = run("leaderboard", "export", board, "--out", out)
    assert status == 2 and "--force" in error


def test_export_writes_schedules(run, board, tmp_path):
    folder = tmp_path / "swf"
    assert run("leaderboard", "export", board, "-f", "swf", "-o", folder)[0] == 0
    (one,) = folder.glob("easy_lublin-64*.swf.gz")
    trace = bfenv.load_workload("lublin:procs=64,jobs=600,load=0.8,seed=0")
    waits = bfenv.simulate(trace, "easy").wait
    assert bfenv.read_swf(one).records[:, 2].tolist() == waits.tolist()
    assert len(list(folder.iterdir())) == 16
    assert "say --out" in run("leaderboard", "export", board, "-f", "batsim")[2]
    assert "--force" in run("leaderboard", "export", board, "-f", "batsim", "-o", folder)[2]
    assert run("leaderboard", "export", board, "-f", "batsim", "-o", folder, "--force")[0] == 0
    assert len(list(folder.glob("*_jobs.csv"))) == 16


def test_simulate_writes_the_format_of_the_files_name(run, tmp_path):
    workload = "lublin:procs=32,jobs=50"
    for name in ("one.csv", "one.swf", "one_jobs.csv"):
        assert run("simulate", "-w", workload, "-o", tmp_path / name)[0] == 0
    assert (tmp_path / "one.csv").read_text().startswith("job,submit,size,")
    assert (tmp_path / "one.swf").read_text().startswith("; ")
    assert (tmp_path / "one_jobs.csv").read_text().startswith("job_id,workload_name,profile,")


def test_a_schedule_that_cannot_be_had_costs_no_other(run, tmp_path):
    folder = make_store(tmp_path / "board", policies=("easy", "fcfs"))
    (changed, *_) = sorted((folder / "rows").glob("*easy*"))
    row = json.loads(changed.read_text())
    changed.write_text(json.dumps(row | {"workload_hash": "sha256:" + "0" * 64}))
    status, _, error = run("leaderboard", "export", folder, "--format", "swf", "-o", tmp_path / "o")
    assert status == 2 and "1 of 4 schedules could not be written, the first: easy on" in error
    assert len(list((tmp_path / "o").iterdir())) == 3


def test_rows_of_several_states_of_bfenv_are_not_compared_in_silence(run, tmp_path):
    folder = make_store(tmp_path / "board", policies=("easy", "fcfs"))
    assert "several versions" not in run("leaderboard", "report", folder)[1]
    (changed, *_) = sorted((folder / "rows").iterdir())
    changed.write_text(json.dumps(json.loads(changed.read_text()) | {"commit": "f" * 40}))
    out = run("leaderboard", "report", folder)[1]
    assert "several versions of bfenv" in out and f"{bfenv.__version__} (fff" in out


def test_gantt_draws_one_policy_or_two(run, tmp_path):
    pytest.importorskip("matplotlib")
    workload = "lublin:procs=32,jobs=100"
    out = tmp_path / "one.svg"
    assert run("gantt", "-w", workload, "--from", "0", "--span", "1d", "-o", out)[0] == 0
    assert ">easy<" in out.read_text()
    assert "--force" in run("gantt", "-w", workload, "-o", out)[2]
    two = ("gantt", "-w", workload, "-p", "easy", "-p", "fcfs", "-o", out, "--force")
    assert run(*two)[0] == 0
    assert ">fcfs<" in out.read_text()
    assert "one policy or two" in run(*two, "-p", "los")[2]
    assert (
        "nothing runs" in run("gantt", "-w", workload, "--from", "9w", "-o", tmp_path / "x.png")[2]
    )
    assert "picture" in run("gantt", "-w", workload, "-o", tmp_path / "x.txt")[2]


def test_the_readmes_leaderboard_is_the_one_that_its_commands_make(run, tmp_path):
    text = README.read_text()
    assert text.count(BEGIN) == 1
    block = text.partition(BEGIN + "\n")[2].partition(END)[0]
    line = re.search(r"^    bfenv (leaderboard run --suite synthetic-v1 (?:\\\n|.)*)", text, re.M)[
        1
    ]
    words = line.replace("\\\n", " ").split()
    assert words[-2:] == ["--out", "board"]
    assert run(*words[:-1], tmp_path / "board")[0] == 0
    assert run("leaderboard", "report", tmp_path / "board", "-f", "markdown")[1] == block
