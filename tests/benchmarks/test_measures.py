"""What is measured, not how fast it is."""

import numpy as np
import pytest

import bfenv
from benchmarks import engine, environments, processes
from benchmarks.engine import ENGINE, LOGS, PLANNING
from benchmarks.measurements import read_measurements, write_measurements
from benchmarks.search import measure_search

pytestmark = pytest.mark.slow
LINE = "{} 0 -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n"


@pytest.fixture
def log(tmp_path, monkeypatch):
    """The name of a log of seven jobs, the only one that is available."""
    text = "; MaxProcs: 4\n" + "".join(LINE.format(i) for i in range(7))
    (tmp_path / f"{LOGS[1]}.swf").write_text(text)
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    return LOGS[1]


def test_engine(log, tmp_path):
    """The engine is measured on the available logs and on generated jobs."""
    reading, *rows = engine.measure_engine(1)
    assert (reading["group"], reading["what"], reading["jobs"]) == ("reading", log, 7)
    assert 0 < reading["best"] <= reading["median"]
    found = [(row["what"], row["subject"], row["jobs"]) for row in rows]
    assert found == [
        (what, policy, jobs)
        for what, jobs in (
            (log, 7),
            ("lublin, 10,000 jobs", 10_000),
            ("lublin, 100,000 jobs", 10**5),
        )
        for policy in ENGINE
    ]
    write_measurements(tmp_path / "engine.json", rows)  # no two have the same name
    assert read_measurements(tmp_path / "engine.json")["rows"] == rows


def test_scaling(monkeypatch):
    """Jobs double up to the largest number; queues and machines grow."""
    monkeypatch.setattr(engine, "AT_ONCE", (50, 100))
    monkeypatch.setattr(engine, "BURSTS", (400, 1_600))
    rows = list(engine.measure_scaling(1, 20_000))
    assert [row["jobs"] for row in rows if row["group"] == "jobs"] == [10_000, 20_000]
    for policy in ENGINE:
        queue = [row for row in rows if (row["group"], row["subject"]) == ("queue", policy)]
        waiting = [float(row["what"].split()[0].replace(",", "")) for row in queue]
        assert waiting == sorted(waiting) and len(set(waiting)) == 4
        machine = [row for row in rows if (row["group"], row["subject"]) == ("machine", policy)]
        assert [row["what"].split()[-2] for row in machine] == ["64", "256", "1,024", "4,096"]
    at_once = [(row["jobs"], row["subject"]) for row in rows if row["group"] == "at once"]
    assert at_once == [(jobs, policy) for jobs in (50, 100) for policy in PLANNING]
    standing = [row for row in rows if row["group"] == "standing queue"]
    assert [row["subject"] for row in standing] == 2 * list(PLANNING)
    waiting = [int(row["what"].split()[1].replace(",", "")) for row in standing]
    assert waiting[0] == waiting[len(PLANNING) - 1] < waiting[-1]


def test_long_runs(monkeypatch):
    """A policy that takes long is run once, and not with longer queues."""
    runs = []
    monkeypatch.setattr(engine, "simulate", lambda trace, policy: runs.append((policy, len(trace))))
    monkeypatch.setattr(engine, "LONG", 0.0)
    monkeypatch.setattr(engine, "PLANNING", ("easy", "los"))
    queues = [(f"{jobs} jobs", bfenv.load_workload("lublin", jobs=jobs)) for jobs in (20, 40)]
    rows = list(engine.measure_queues("at once", queues, 3))
    assert [(row["subject"], row["jobs"]) for row in rows] == [("easy", 20), ("los", 20)]
    assert runs == [("easy", 10), ("easy", 20), ("los", 10), ("los", 20)]


def test_standing_queue():
    """About as many jobs wait as the name says, from the first submission to the last."""
    name, trace = engine.standing_queue(1_000)
    expected = int(name.split()[1])
    schedule = bfenv.simulate(trace, "easy")
    lengths = [
        ((trace.jobs.submit <= time) & (schedule.start > time)).sum()
        for time in np.linspace(0, trace.jobs.submit[-1], 9)
    ]
    assert 200 < expected < 1_000
    assert expected / 2 < min(lengths) and max(lengths) < 2 * expected


def test_search(log):
    """Scorers are measured, and published orders."""
    rows = [row for row in measure_search(1) if row["what"] == log]
    assert {"easy(order=wfp3)", "linear scorer"} <= {row["subject"] for row in rows}


@pytest.mark.torch
def test_environments(monkeypatch):
    """Every kind of environment is measured."""
    monkeypatch.setattr(environments, "CALLS", 640)
    rows = list(environments.measure_environments(2))
    assert [row["group"] for row in rows] == (
        ["gymnasium.make"] * 2 + ["gymnasium.make_vec"] * 5 + ["BackfillVecEnv"]
    )
    assert all(row["unit"] == "steps/s" and row["best"] >= row["median"] > 0 for row in rows)


def test_picked_actions():
    """Consecutive numbers pick every legal action in turn."""
    mask = np.array([0, 1, 0, 1, 1], dtype=np.int8)
    assert [environments._pick(mask, number) for number in range(4)] == [1, 3, 4, 1]


@pytest.mark.torch
def test_training():
    """Updates are measured, with the threads that were asked for."""
    from benchmarks.training import measure_training

    (row,) = measure_training(2, "toy", threads=1)
    assert (row["what"], row["unit"]) == ("preset toy, 1 thread", "steps/s")
    assert row["best"] >= row["median"] > 0


def test_start(monkeypatch):
    """The time of new processes is measured, and their memory."""
    monkeypatch.setattr(processes, "MEMORY", {"import bfenv": "import bfenv"})
    monkeypatch.setattr(processes, "PROGRAMS", {"import, first EASY": "", "import bfenv": ""})
    monkeypatch.setattr(processes, "UNCOMPILED", ("import bfenv",))
    rows = list(processes.measure_start(1))
    groups = ["new process, nothing compiled", *["new process"] * 2, "peak memory"]
    assert [row["group"] for row in rows] == groups
    assert 10 < rows[-1]["best"] < 10_000 and rows[-1]["unit"] == "MiB"
