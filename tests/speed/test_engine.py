"""What is measured of the engine, not how fast it is."""

import pytest

from bfenv.speed.engine import (
    AT_ONCE,
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


def test_scaling():
    """Jobs double up to the largest number; queues and machines grow."""
    rows = list(measure_scaling(1, 40_000))
    assert [row["jobs"] for row in rows if row["group"] == "jobs"] == [10_000, 20_000, 40_000]
    for policy in ENGINE:
        queue = [row for row in rows if (row["group"], row["subject"]) == ("queue", policy)]
        waiting = [float(row["what"].split()[0].replace(",", "")) for row in queue]
        assert waiting == sorted(waiting) and len(set(waiting)) == 4
        machine = [row for row in rows if (row["group"], row["subject"]) == ("machine", policy)]
        assert [row["what"].split()[-2] for row in machine] == ["64", "256", "1,024", "4,096"]
    for policy in PLANNING:
        at_once = [row for row in rows if (row["group"], row["subject"]) == ("at once", policy)]
        assert [row["jobs"] for row in at_once] == list(AT_ONCE)
