"""What is measured of the engine, not how fast it is."""

import numpy as np
import pytest

import bfenv
from bfenv.speed import engine
from bfenv.speed.engine import (
    ENGINE,
    LOGS,
    PLANNING,
    measure_engine,
    measure_reading,
    measure_scaling,
)
from bfenv.speed.measurements import read_measurements, write_measurements
from tests.speed.logs import write_log

pytestmark = pytest.mark.slow


def test_reading(tmp_path, monkeypatch):
    """Reading is measured for the available logs only."""
    write_log(LOGS[1], tmp_path, monkeypatch)
    (row,) = measure_reading(3)
    assert (row["group"], row["what"], row["jobs"]) == ("reading", LOGS[1], 7)
    assert 0 < row["best"] <= row["median"]


def test_engine(tmp_path, monkeypatch):
    """The engine is measured on the available logs and on generated jobs."""
    write_log(LOGS[0], tmp_path, monkeypatch)
    rows = list(measure_engine(1))
    traces = [(row["what"], row["subject"], row["jobs"]) for row in rows[1:]]
    assert traces[:4] == [(LOGS[0], policy, 7) for policy in ENGINE]
    assert traces[4:8] == [("lublin, 10,000 jobs", policy, 10_000) for policy in ENGINE]
    assert [jobs for _, _, jobs in traces[8:]] == [100_000] * 4
    write_measurements(tmp_path / "engine.json", rows)  # which refuses two of the same name
    assert read_measurements(tmp_path / "engine.json")["rows"] == rows


def test_scaling(monkeypatch):
    """Jobs double up to the largest number; queues and machines grow."""
    monkeypatch.setattr(engine, "AT_ONCE", (50, 100))
    monkeypatch.setattr(engine, "BURSTS", (400, 1_600))
    rows = list(measure_scaling(1, 40_000))
    assert [row["jobs"] for row in rows if row["group"] == "jobs"] == [10_000, 20_000, 40_000]
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
