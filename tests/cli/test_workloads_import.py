"""The command that imports a log: what it prints and writes, and how it says no."""

import re
import shlex
from pathlib import Path

import pytest
import typer

import bfenv
from bfenv.cli.imports import import_
from bfenv.core.errors import BfenvError

DUMP = """JobID|User|Submit|Start|End|State|AllocCPUS|Timelimit
1|ann|1767268800|1767268810|1767268910|TIMEOUT|4|00:01:00
1.batch|ann|1767268800|1767268810|1767268910|COMPLETED|4|
2|bob|1767268900|Unknown|Unknown|PENDING|0|1-00:00:00
3|bob|1767269000|1767269010|1767269910|COMPLETED|2|UNLIMITED
"""
TABLE = """when;cpus;ran
1767268800;4;100
then;4;100
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run the command in a folder with a log of either kind: (stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("dump.txt").write_text(DUMP)
    Path("jobs.csv").write_text(TABLE)
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command("import")(import_)
    app.callback()(lambda: None)

    def run(text):
        app(["import", *shlex.split(text)], standalone_mode=False)
        captured = capsys.readouterr()
        return captured.out, captured.err

    return run


def test_it_writes_a_workload_says_what_was_dropped_and_what_to_type_next(command):
    out, err = command("dump.txt --out 'my site.swf.gz' --processors 8 --timezone Europe/Prague")
    assert err == ""
    words = [" ".join(re.findall(r"[\w ]+", row)).split() for row in out.split("\n")]
    for row in (
        "jobs 2",
        "dropped 1 job step",
        "dropped 1 still waiting",
        "of the jobs 1 no estimate",
        "of the jobs 1 runtime cut to the estimate",
    ):
        assert row.split() in words
    assert "dump.txt: 4 lines" in out
    assert "my site.swf.gz: 2 jobs on 8 processors in 3.3 min, offered load 1.27" in out
    assert "Next: bfenv evaluate --workload 'my site.swf.gz'" in out
    trace = bfenv.load_workload("my site.swf.gz")
    assert trace.jobs.submit.tolist() == [0, 200]
    assert trace.jobs.estimate.tolist() == [60, 900]
    assert trace.time_of_day == 13 * 3600


def test_its_options_are_those_of_the_readers(command):
    command("dump.txt -o a.swf --processors 8 --longest 1d --overrun extend --eligible")
    assert bfenv.read_swf("a.swf").jobs.estimate.tolist() == [100, 86_400]
    with pytest.raises(BfenvError, match="NNodes"):
        command("dump.txt -o b.swf --processors 8 --unit nodes")


def test_a_table_needs_a_map_and_its_malformed_lines_are_skipped_if_asked_to(command):
    options = "--from csv jobs.csv -o a.swf --processors 8 --map submit=when,size=cpus,runtime=ran"
    with pytest.raises(BfenvError, match=r"jobs\.csv:3: submit: 'then'"):
        command(options)
    assert not Path("a.swf").exists()
    out, err = command(f"{options} --skip --delimiter ';'")
    assert "malformed line" in out
    assert err.startswith("bfenv: 1 ") and "jobs.csv:3: submit: 'then'" in err
    assert err.count("\n") == 1
    assert len(bfenv.read_swf("a.swf")) == 1


def test_it_overwrites_only_by_force(command):
    Path("a.swf").write_text("mine")
    with pytest.raises(BfenvError, match="--force"):
        command("dump.txt -o a.swf --processors 8")
    assert Path("a.swf").read_text() == "mine"
    command("dump.txt -o a.swf --processors 8 --force")
    assert len(bfenv.read_swf("a.swf")) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("dump.txt -o a.swf", r"processors.*\b4\b"),
        ("dump.txt -o a.txt --processors 8", r"ends in \.swf or \.swf\.gz"),
        ("dump.txt -o none/a.swf --processors 8", "no such folder: none"),
        ("dump.txt -o a.swf --processors 8 --map submit=x", "--map and --delimiter are for"),
        ("dump.txt -o a.swf --processors 8 --longest soon", "--longest: 'soon'"),
        ("jobs.csv -o a.swf --from csv", "say what the columns are"),
        ("jobs.csv -o a.swf --from csv --eligible", "are for --from sacct"),
        ("jobs.csv -o a.swf --from csv --map submit", "'submit' is not field=column"),
        ("jobs.csv -o a.swf --from csv --map size=a,size=b", "size is given twice"),
    ],
)
def test_what_it_cannot_do_is_told_and_nothing_is_written(command, options, message):
    with pytest.raises(BfenvError, match=message):
        command(options)
    assert not list(Path().glob("**/a.*"))
