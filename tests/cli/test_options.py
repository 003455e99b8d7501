"""Options that several commands have."""

import json

import pytest
import typer
from typer.testing import CliRunner

import bfenv
from bfenv.cli.options import check_folder, check_new, duration_option
from bfenv.core.cluster import may_start, start, waiting
from bfenv.core.errors import BfenvError


@pytest.fixture
def seconds():
    """What a command is given for --span."""
    app = typer.Typer(rich_markup_mode=None)
    given = []

    @app.command()
    def command(span: int = duration_option(7, "--span", "Help.", least=1)) -> None:
        given.append(span)

    def run(*arguments):
        result = CliRunner().invoke(app, arguments)
        return given.pop() if result.exit_code == 0 else result.output

    return run


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90", 90), ("2d", 172_800), ("1-12:00", 129_600), ("90m", 5_400), ("1h 30m", 5_400)],
)
def test_duration(seconds, text, expected):
    """A duration is a number of seconds, has units, or is written like Slurm's."""
    assert seconds("--span", text) == expected


def test_default_duration(seconds):
    """The default is a number of seconds."""
    assert seconds() == 7


@pytest.mark.parametrize("text", ["soon", "-1h", "0", "9" * 400 + "w"])
def test_no_duration(seconds, text):
    """What is not a duration, or too short or long, is refused with its text and option."""
    output = seconds("--span", text)
    assert "--span" in output and text[:40] in output.replace("\n", "")


def test_given_twice(run):
    """An option that is not a list can be given once only."""
    command = "evaluate -w lublin --policy easy --policy fcfs --load 0.7 --load 0.8"
    assert run(*command.split()) == (2, "", "bfenv: --load is given twice\n")


def test_check_new(tmp_path):
    """A file can be written if it is new or --force is given, and its folder exists."""
    there = tmp_path / "there"
    there.touch()
    check_new(there, force=True)
    check_new(tmp_path / "new", force=False)
    for path in (there, tmp_path, tmp_path / "nowhere" / "new"):
        with pytest.raises(BfenvError):
            check_new(path, force=False)
    with pytest.raises(BfenvError, match=str(tmp_path / "nowhere")):
        check_folder(tmp_path / "nowhere" / "new")
    check_folder(None)


def sort_the_queue(cluster, jobs):
    waiting(cluster)[:] = sorted(waiting(cluster), key=lambda job: jobs.size[job])
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def test_no_fault(run):
    """A policy without faults is reported in one line."""
    status, out, err = run("check", "easy", "--workload", "lublin:jobs=50,procs=8")
    assert (status, err) == (0, "")
    assert out.startswith("easy: no fault found") and out.count("\n") == 1


def test_fault(run):
    """A fault is one line with its kind, and the exit status is 1."""
    status, out, err = run("check", f"{__name__}:sort_the_queue", "--seconds", "2m")
    assert (status, err, out.count("\n")) == (1, "", 1)
    assert out.startswith(f"{__name__}:sort_the_queue: tampering: at 992 s of 'crowd': ")


def test_jobs_without_workload(run):
    """--jobs is of a workload, so it is not ignored without one."""
    status, out, err = run("check", "easy", "--jobs", "300")
    assert (status, out) == (2, "") and "--jobs needs --workload" in err


def test_unknown_policy(run):
    """A name that is unknown is bad input, not a fault."""
    status, out, err = run("check", "eazy")
    assert (status, out) == (2, "") and "'eazy'" in err


def test_list(run):
    """Every policy is listed, with what it does and its source."""
    out = run("evaluate", "policies")[1]
    assert all(name in out for name in bfenv.policies())
    rows = json.loads(run("evaluate", "policies", "-f", "json")[1])
    assert [row["policy"] for row in rows] == list(bfenv.policies())
    assert list(rows[0]) == ["policy", "what it does", "source"]


def test_named(run):
    """Named policies are listed alone, options included; an unknown name is refused."""
    names = ["easy-lxf", "easy(lookahead=50)"]
    rows = json.loads(run("evaluate", "policies", *names, "-f", "json")[1])
    assert [row["policy"] for row in rows] == names
    status, _, error = run("evaluate", "policies", "nonsense")
    assert status == 2 and "unknown policy 'nonsense'" in error
    assert "did you mean agent:trial-formula?" in run("evaluate", "policies", "trial-formula")[2]
