"""Tables of jobs, text and Parquet, by hand and damaged."""

import gzip
import sys
from datetime import datetime, timedelta

import pytest

import bfenv
from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.cleaning import DROPPED
from bfenv_site.logs import table
from bfenv_site.logs.table import read_columns
from tests.workloads.refusals import refused

NOON = 1_767_268_800  # 2026-01-01 12:00 UTC
MAP = {"submit": "when", "size": "cpus", "runtime": "ran", "estimate": "limit", "user": "who"}
SPAN = {"submit": "when", "size": "cpus", "start": "begin", "end": "finish"}
TABLE = f"""who,when,cpus,ran,limit
ann,{NOON},4,100,300
bob,2026-01-01T12:00:30Z,64,00:01:40,1:00:00
ann,2026-01-01 12:01:00,1,7.6,
"""


def read(folder, text, mapping=MAP, *, name="jobs.csv", **options):
    """The trace of a table."""
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return read_columns(path, mapping, **({"processors": 64} | options))


def counted(trace):
    """The counts of the lines that are no jobs."""
    counts = {name: getattr(trace.cleaning, name) for name in DROPPED}
    return {name: count for name, count in counts.items() if count}


# What a table means


def test_lines(tmp_path):
    """A trace has the jobs that the lines of a table name."""
    trace = read(tmp_path, TABLE)
    assert trace.jobs.submit.tolist() == [0, 30, 60]
    assert trace.jobs.size.tolist() == [4, 64, 1]
    assert trace.runtime.tolist() == [100, 100, 8]
    assert trace.jobs.estimate.tolist() == [300, 3600, 3600]
    assert trace.jobs.user.tolist() == [0, 1, 0]
    assert (trace.processors, trace.time_of_day) == (64, 12 * 3600)
    assert trace.cleaning.no_estimate == 1
    assert counted(trace) == {}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter(tmp_path, delimiter):
    """The delimiter is guessed, and zipped files are read."""
    text = TABLE.replace(",", delimiter)
    assert read(tmp_path, text, name="jobs.gz").hash == read(tmp_path, TABLE).hash


def test_other_delimiter(tmp_path):
    """Any other delimiter of one character can be told, but no quote and no line end."""
    text = TABLE.replace(",", " : ").replace("12:00:30Z", "12").replace("12:01:00", "12")
    expected = read(tmp_path, text.replace(" : ", "!"), delimiter="!").hash
    assert read(tmp_path, text.replace(" : ", "^"), delimiter="^").hash == expected
    for wrong in ("", "::", '"', "\n"):
        with refused(WorkloadError, "delimiter", repr(wrong)):
            read(tmp_path, TABLE, delimiter=wrong)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("x,,4,100,300", "no_submit"),
        ("x,-1,4,100,300", "no_submit"),
        ("x,5,4,0,300", "no_runtime"),
        ("x,5,4,,300", "no_runtime"),
        ("x,5,4,-1,300", "no_runtime"),
        ("x,5,0,100,300", "no_size"),
        ("x,5,nan,100,300", "no_size"),
        ("x,5,65,100,300", "too_large"),
        ("who,when,cpus,ran,limit", "headers"),
    ],
)
def test_no_job(tmp_path, row, reason):
    """A line that is no job is counted under its reason."""
    trace = read(tmp_path, f"{TABLE}\n{row}\n")
    assert len(trace) == 3
    assert counted(trace) == {reason: 1}


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("x,5,4,100", ["4 fields", "5"]),
        ("x,then,4,100,300", ["submit", "'then'"]),
        ("x,5,four,100,300", ["size", "'four'"]),
        ("x,5,4,a day,300", ["runtime", "'a day'"]),
        ("x,5,4,100,1:2:3:4", ["estimate", "'1:2:3:4'"]),
    ],
)
def test_malformed_line(tmp_path, row, named):
    """A malformed line is named with its field; or skipped, counted and warned of."""
    text = f"{TABLE}{row}\ny,{NOON},1,1,1\n"
    named = ["jobs.csv:5: ", *named]
    with refused(WorkloadError, *named):
        read(tmp_path, text)
    with pytest.warns(UserWarning) as warned:
        trace = read(tmp_path, text, on_error="skip")
    (warning,) = warned
    assert all(name in str(warning.message) for name in named)
    assert len(trace) == 4
    assert counted(trace) == {"malformed": 1}


def test_back_from_swf(tmp_path):
    """Written as SWF, a table is read back as the same trace, without names of users."""
    mapping = MAP | {"group": "who", "queue": "who", "partition": "who"}
    for options in ({}, {"longest": 99}, {"timezone": "Asia/Kathmandu", "overrun": "extend"}):
        trace = read(tmp_path, f"{TABLE}ann,5,4,100,50\n", mapping, **options)
        bfenv.write_swf(trace, tmp_path / "out.swf")
        assert bfenv.read_swf(tmp_path / "out.swf").hash == trace.hash
        text = (tmp_path / "out.swf").read_text()
        assert "ann" not in text
        assert "bob" not in text


@pytest.mark.parametrize(
    ("mapping", "named"),
    [
        ({}, ["submit", "size", "runtime", "start", "end"]),
        ({"submit": "when", "size": "cpus", "start": "when"}, ["runtime", "end"]),
        (MAP | {"sise": "cpus"}, ["'sise'", "size"]),
        (MAP | {"user": "Who"}, ["'Who'", "'who'", "'when'"]),
    ],
)
def test_bad_mapping(tmp_path, mapping, named):
    """Fields and columns that are missing or unknown are named."""
    with refused(WorkloadError, *named):
        read(tmp_path, TABLE, mapping)


# Parquet


def test_parquet(tmp_path):
    """A trace has the jobs that the rows of a Parquet file name."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    at = [datetime(2026, 1, 1, 12, 0, second) for second in (0, 30, 31)]
    rows = arrow.table(
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
    parquet.write_table(rows, path)
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


def test_no_pyarrow(tmp_path, monkeypatch):
    """Without pyarrow, the error of a Parquet file says what to install."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "jobs.parquet").write_bytes(b"PAR1")
    with refused(WorkloadError, tmp_path / "jobs.parquet", 'pip install "bfenv[site]"'):
        read_columns(tmp_path / "jobs.parquet", MAP, processors=1)


def test_compressed_rows(tmp_path, monkeypatch):
    """A small file of a great many equal rows is refused before they are made."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path, count = tmp_path / "jobs.parquet", 100_000
    parquet.write_table(arrow.table({name: [1] * count for name in MAP.values()}), path)
    assert path.stat().st_size * table.RATIO > count
    monkeypatch.setattr(table, "FEW", 1000)
    monkeypatch.setattr(table, "RATIO", 1)
    with refused(WorkloadError, path, f"{count:,} rows"):
        read_columns(path, MAP, processors=8)
