"""`bfenv workloads simulate`: the schedule it writes."""

import json

import pytest

from bfenv.workloads import load_workload, write_swf
from bfenv.workloads.archive.catalogue import CATALOGUE
from tests.cli.conftest import SWF


def test_csv(run, swf, tmp_path):
    """CSV has one line per job, on stdout or in a file."""
    status, out, _ = run("workloads", "simulate", "-w", swf)
    assert status == 0
    assert out == (
        "job,submit,size,estimate,runtime,start,end,number\n"
        "0,0,2,4,4,0,4,1\n1,1,4,4,4,4,8,2\n2,2,2,2,2,2,4,3\n"
    )
    target = tmp_path / "schedule.csv"
    assert run("workloads", "simulate", "-w", swf, "-o", target)[0] == 0
    assert target.read_text() == out


def test_numbers(run, tmp_path):
    """Jobs count from 0 without those that are dropped; a log's own numbers stand beside them."""
    log = tmp_path / "log.swf"
    rest = "1 -1 -1 {} 9 -1 1 1 1 -1 1 1 -1 -1"
    lines = [f"{job} 0 -1 5 {rest.format(size)}" for job, size in ((7, 1), (8, 99), (9, 2))]
    log.write_text("\n".join(["; MaxProcs: 4", *lines]) + "\n")
    rows = [line.split(",") for line in run("workloads", "simulate", "-w", log)[1].splitlines()]
    assert [(row[0], row[-1]) for row in rows] == [("job", "number"), ("0", "7"), ("1", "9")]
    out = run("workloads", "simulate", "-w", "lublin:procs=32,jobs=5")[1]
    assert out.startswith("job,submit,size,estimate,runtime,start,end\n")


def test_formats(run, tmp_path):
    """The name of the file selects the format."""
    workload = "lublin:procs=32,jobs=50"
    for name in ("one.csv", "one.swf", "one_jobs.csv"):
        assert run("workloads", "simulate", "-w", workload, "-o", tmp_path / name)[0] == 0
    assert (tmp_path / "one.csv").read_text().startswith("job,submit,size,")
    assert (tmp_path / "one.swf").read_text().startswith("; ")
    assert (tmp_path / "one_jobs.csv").read_text().startswith("job_id,workload_name,profile,")


@pytest.mark.parametrize("name", ["schedule.csv.gz", "schedule"])
def test_unknown_format(run, swf, tmp_path, name):
    """A name that selects no format is refused, and nothing is written."""
    status, _, err = run("workloads", "simulate", "-w", swf, "-o", tmp_path / name)
    assert status == 2 and str(tmp_path / name) in err
    assert not (tmp_path / name).exists()


def test_force(run, swf):
    """An existing file is overwritten with --force only."""
    status, _, err = run("workloads", "simulate", "-w", swf, "-o", swf)
    assert (status, swf.read_text()) == (2, SWF)
    assert str(swf) in err and "--force" in err
    assert run("workloads", "simulate", "-w", swf, "-o", swf, "--force")[0] == 0
    assert "\n2 1 3 4 4 " in swf.read_text()  # as SWF, the second job having waited 3 s


@pytest.mark.together
def test_failing_player(run, tmp_path):
    """The error of a program that fails in the run names it."""
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\nfor i in 1 2; do read -r message; echo '{}'; done\nexit 3\n")
    program.chmod(0o755)
    status, _, err = run("workloads", "simulate", "-w", "lublin:jobs=30", "--player", str(program))
    assert (status, err) == (2, f"bfenv: {program}: its process died (exit status 3)\n")


def test_order(run, tmp_path, monkeypatch):
    """Models come first, then the logs on this machine, then all others of the archive."""
    log = CATALOGUE[5].name
    for name in (log, "site"):
        write_swf(load_workload("lublin:jobs=20"), tmp_path / f"{name}.swf")
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    monkeypatch.setenv("BFENV_DATA", str(tmp_path / "nothing"))
    names = [row["workload"] for row in json.loads(run("workloads", "-f", "json")[1])]
    assert names[:4] == ["lublin", "sud", log, "site"]
    assert names[4:] == [each.name for each in CATALOGUE if each.name != log]
