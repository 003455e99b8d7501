"""Tables of jobs in Parquet, and what is said where pyarrow is missing."""

import sys
from datetime import datetime, timedelta

import pytest

from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs import parquet
from bfenv.workloads.logs.parquet import is_parquet
from bfenv.workloads.logs.table import read_columns
from tests.workloads.logs.test_table import MAP, counted
from tests.workloads.refusals import refused


def test_begin_of_a_file(tmp_path):
    """Parquet is known by how the file begins."""
    path = tmp_path / "jobs"
    for data, expected in ((b"PAR1...", True), (b"PAR", False), (b"a,b\n", False), (b"", False)):
        path.write_bytes(data)
        assert is_parquet(path) is expected
    with refused(FileNotFoundError, tmp_path / "none"):
        is_parquet(tmp_path / "none")


def test_a_parquet_table_is_what_its_rows_say(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    at = [datetime(2026, 1, 1, 12, 0, second) for second in (0, 30, 31)]
    table = arrow.table(
        {
            "when": arrow.array(at, arrow.timestamp("ns")),
            "aware": arrow.array(at, arrow.timestamp("ns", tz="Europe/Prague")),
            "cpus": arrow.array([4, None, 64], arrow.int32()),
            "ran": arrow.array([timedelta(seconds=100)] * 3, arrow.duration("ns")),
            "limit": arrow.array([300.0, 1.0, float("nan")]),
            "who": arrow.array(["ann", None, None]).dictionary_encode(),
        }
    )
    path = tmp_path / "jobs.parquet"
    parquet.write_table(table, path)
    trace = read_columns(path, MAP, processors=64, timezone="Europe/Prague")
    assert trace.jobs.submit.tolist() == [0, 31]
    assert trace.jobs.size.tolist() == [4, 64]
    assert trace.runtime.tolist() == [100, 100]
    assert trace.jobs.estimate.tolist() == [300, 300]
    assert trace.jobs.user.tolist() == [0, -1]
    assert trace.time_of_day == 12 * 3600
    assert counted(trace) == {"no_size": 1}
    aware = read_columns(path, MAP | {"submit": "aware"}, processors=64, timezone="Europe/Prague")
    assert aware.time_of_day == 13 * 3600
    with refused(WorkloadError, path, "'Who'", "'who'"):
        read_columns(path, MAP | {"user": "Who"}, processors=64)
    path.write_bytes(path.read_bytes()[:-20])
    with refused(WorkloadError, path):
        read_columns(path, MAP, processors=64)


def test_without_pyarrow_parquet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "jobs.parquet").write_bytes(b"PAR1")
    with refused(WorkloadError, tmp_path / "jobs.parquet", "pip install 'bfenv[parquet]'"):
        read_columns(tmp_path / "jobs.parquet", MAP, processors=1)


def test_rows_that_take_no_space(tmp_path, monkeypatch):
    """A small file of a great many equal rows is refused before they are made."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer

    path, count = tmp_path / "jobs.parquet", 100_000
    writer.write_table(arrow.table({name: [1] * count for name in MAP.values()}), path)
    assert path.stat().st_size * parquet.RATIO > count
    monkeypatch.setattr(parquet, "FEW", 1000)
    monkeypatch.setattr(parquet, "RATIO", 1)
    with refused(WorkloadError, path, f"{count:,} rows"):
        read_columns(path, MAP, processors=8)
