"""Tables of jobs: CSV and Parquet, by hand and by chance; times and durations in every form."""

import gzip
import sys
import warnings
from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.cleaning import DROPPED
from bfenv.workloads.logs.table import read_columns
from bfenv.workloads.logs.times import find_zone, instants, seconds, whole

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


def test_a_table_is_what_its_lines_say(tmp_path):
    trace = read(tmp_path, TABLE)
    assert trace.jobs.submit.tolist() == [0, 30, 60]
    assert trace.jobs.size.tolist() == [4, 64, 1]
    assert trace.runtime.tolist() == [100, 100, 8]
    assert trace.jobs.estimate.tolist() == [300, 3600, 8]
    assert trace.jobs.user.tolist() == [0, 1, 0]
    assert (trace.processors, trace.time_of_day) == (64, 12 * 3600)
    assert trace.cleaning.no_estimate == 1
    assert counted(trace) == {}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_guessed_and_zipped_files_are_read(tmp_path, delimiter):
    text = TABLE.replace(",", delimiter)
    assert read(tmp_path, text, name="jobs.gz").hash == read(tmp_path, TABLE).hash


def test_any_other_delimiter_can_be_told(tmp_path):
    text = TABLE.replace(",", " : ").replace("12:00:30Z", "12").replace("12:01:00", "12")
    expected = read(tmp_path, text.replace(" : ", "!"), delimiter="!").hash
    assert read(tmp_path, text.replace(" : ", "^"), delimiter="^").hash == expected
    for wrong in ("", "::", '"', "\n"):
        with pytest.raises(WorkloadError, match="one character"):
            read(tmp_path, TABLE, delimiter=wrong)


def test_a_negative_estimate_is_none(tmp_path):
    trace = read(tmp_path, f"{TABLE}x,{NOON},1,50,-5\n")
    assert trace.cleaning.no_estimate == 2
    assert trace.records[:, 8].tolist() == [300, -1, 3600, -1]


def test_quotes_hold_delimiters_together(tmp_path):
    trace = read(tmp_path, f'when,"cpus",ran,limit,who,x\n{NOON},4,5,6,"a, b","say ""hi"", do"\n')
    assert len(trace) == 1


def test_start_and_end_do_for_a_runtime_and_give_the_wait(tmp_path):
    text = f"when,begin,finish,cpus\n{NOON},{NOON + 7},{NOON + 17},2\n"
    trace = read(tmp_path, text, SPAN)
    assert trace.runtime.tolist() == [10]
    assert trace.records[0].tolist() == [1, 0, 7, 10, 2, *[-1] * 2, 2, *[-1] * 10]


def test_local_times_of_the_hour_that_comes_twice_are_taken_in_order(tmp_path):
    text = "when,begin,finish,cpus\n" + ",".join(
        f"2025-10-26 {time}" for time in ("02:50:00", "02:10:00", "02:20:00,2\n")
    )
    trace = read(tmp_path, text, SPAN, timezone="Europe/Prague")
    assert trace.records[0, [2, 3]].tolist() == [1200, 600]
    assert trace.time_of_day == 2 * 3600 + 50 * 60


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
def test_a_line_that_is_no_job_is_counted_under_its_reason(tmp_path, row, reason):
    trace = read(tmp_path, f"{TABLE}\n{row}\n")
    assert len(trace) == 3
    assert counted(trace) == {reason: 1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x,5,4,100", "4 fields, expected 5"),
        ("x,then,4,100,300", "submit: 'then' is no time"),
        ("x,5,four,100,300", "size: 'four' is no number"),
        ("x,5,4,a day,300", "runtime: 'a day' is no duration"),
        ("x,5,4,100,1:2:3:4", "estimate: '1:2:3:4' is no duration"),
        ('"x,5,4,100,300', "unexpected end of data"),
    ],
)
def test_a_malformed_line_is_named_with_its_field_or_skipped_and_counted(tmp_path, row, message):
    text = f"{TABLE}{row}\ny,{NOON},1,1,1\n"
    with pytest.raises(WorkloadError, match=rf"jobs\.csv:5: {message}"):
        read(tmp_path, text)
    with pytest.warns(UserWarning, match=rf"1 malformed line skipped, first .*:5: {message}"):
        trace = read(tmp_path, text, on_error="skip")
    assert len(trace) == 4
    assert counted(trace) == {"malformed": 1}


def test_written_as_swf_it_is_read_back_as_the_same_trace_without_a_name(tmp_path):
    mapping = MAP | {"group": "who", "queue": "who", "partition": "who"}
    for options in ({}, {"longest": 99}, {"timezone": "Asia/Kathmandu", "overrun": "extend"}):
        trace = read(tmp_path, f"{TABLE}ann,5,4,100,50\n", mapping, **options)
        bfenv.write_swf(trace, tmp_path / "out.swf")
        assert bfenv.read_swf(tmp_path / "out.swf").hash == trace.hash
        text = (tmp_path / "out.swf").read_text()
        assert "ann" not in text
        assert "bob" not in text


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({}, r"nothing of submit, size, runtime \(or start and end\)"),
        ({"submit": "when", "size": "cpus", "start": "when"}, "nothing of runtime"),
        (MAP | {"sise": "cpus"}, "no field 'sise' to map to; there are submit, size"),
        (MAP | {"user": "Who"}, "no column 'Who'; there are 'who', 'when'"),
    ],
)
def test_a_map_that_does_not_fit_is_told(tmp_path, mapping, message):
    with pytest.raises(WorkloadError, match=message):
        read(tmp_path, TABLE, mapping)


def test_a_file_or_a_machine_that_is_none_is_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_columns(tmp_path / "none.csv", MAP, processors=1)
    with pytest.raises(WorkloadError, match="cannot be read"):
        read_columns(tmp_path, MAP, processors=1)
    with pytest.raises(WorkloadError, match="empty"):
        read(tmp_path, "")
    with pytest.raises(WorkloadError, match="no line is a job"):
        read(tmp_path, "who,when,cpus,ran,limit\n")
    with pytest.raises(WorkloadError, match=r"how many the machine has$"):
        read(tmp_path, TABLE, processors=None)


@settings(max_examples=200)
@given(
    edits=st.lists(
        st.tuples(
            st.floats(0, 1),
            st.integers(0, 6),
            st.sampled_from([",", "\n", '"', "-", "\r", "\0", "9" * 20, "nan", "inf", "1e99", ":"])
            | st.text(max_size=3),
        )
    )
)
def test_whatever_the_table_holds_each_line_is_a_job_or_counted(tmp_path_factory, edits):
    header, _, text = TABLE.partition("\n")
    for where, length, piece in edits:
        place = int(where * len(text))
        text = text[:place] + piece + text[place + length :]
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes(f"{header}\n{text}".encode("utf-8", "surrogatepass"))
    lines = text.replace("\r", "\n").split("\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            trace = read_columns(path, MAP, processors=64, on_error="skip")
        except WorkloadError:
            return
    assert len(trace) + trace.cleaning.dropped == sum(1 for line in lines if line.strip())
    bfenv.write_swf(trace, path.with_suffix(".swf"))
    assert bfenv.read_swf(path.with_suffix(".swf")).hash == trace.hash


# Parquet


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
    assert trace.jobs.estimate.tolist() == [300, 100]
    assert trace.jobs.user.tolist() == [0, -1]
    assert trace.time_of_day == 12 * 3600
    assert counted(trace) == {"no_size": 1}
    aware = read_columns(path, MAP | {"submit": "aware"}, processors=64, timezone="Europe/Prague")
    assert aware.time_of_day == 13 * 3600
    with pytest.raises(WorkloadError, match="no column 'Who'"):
        read_columns(path, MAP | {"user": "Who"}, processors=64)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(WorkloadError, match="Parquet file cannot be read"):
        read_columns(path, MAP, processors=64)


def test_without_pyarrow_parquet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "jobs.parquet").write_bytes(b"PAR1")
    with pytest.raises(WorkloadError, match=r"pip install 'bfenv\[parquet\]'"):
        read_columns(tmp_path / "jobs.parquet", MAP, processors=1)


# Times and durations


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-01T13:00:00", (NOON,)),
        ("2026-01-01 13:00:00.6", (NOON + 1,)),
        (" 2026-01-01T12:00:00Z ", (NOON,)),
        ("2026-01-01T14:00:00+02:00", (NOON,)),
        (datetime(2026, 1, 1, 13), (NOON,)),
        (datetime(2026, 1, 1, 12, tzinfo=UTC), (NOON,)),
        (str(NOON), (NOON,)),
        (NOON + 0.5, (NOON + 1,)),
        ("1.7672688e+09", (NOON,)),
        ("2025-10-26T02:30:00", (1_761_438_600, 1_761_442_200)),
        ("Unknown", ()),
        ("None", ()),
        ("", ()),
        (None, ()),
        (-1, ()),
        (float("nan"), ()),
    ],
)
def test_a_time_means_what_it_says_in_prague(value, expected):
    assert instants(value, find_zone("Europe/Prague")) == expected


@pytest.mark.parametrize(
    "value",
    ["12:00", "2026-13-01T00:00:00", "2026-01-01T00:00:60", "1767268800000", "1969-12-31T00:00:00",
     "9999-12-31T23:59:59", "0001-01-01T00:00:00", float("inf"), [], "next week"],
)  # fmt: skip
def test_a_time_that_is_none_is_an_error_that_names_it(value):
    for zone in ("UTC", "America/New_York", "Asia/Tokyo"):
        with pytest.raises(ValueError, match=r"is (no time|not between)"):
            instants(value, find_zone(zone))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("90", 90),
        ("2:03", 123),
        ("1:02:03", 3723),
        ("100:00:00", 360_000),
        ("2-03", 183_600),
        ("2-03:04:05", 183_845),
        ("02:03.456", 123),
        ("2 days 03:04:05", 183_845),
        ("1 day, 0:00:01", 86_401),
        (timedelta(hours=1), 3600),
        (7.5, 8),
        ("", None),
        (None, None),
        (float("nan"), None),
    ],
)
def test_a_duration_means_what_it_says(value, expected):
    assert seconds(value) == expected


@pytest.mark.parametrize("value", ["1:2:3:4", "-1:00", "1h", "2-", "9" * 15, timedelta.max, []])
def test_a_duration_that_is_none_is_an_error(value):
    with pytest.raises(ValueError, match=r"is (no|out of)"):
        seconds(value)


@pytest.mark.parametrize("value", ["four", "0x10", "1_000", "²", "9" * 16, "inf", 1e15, 10**400])
def test_a_number_that_is_none_is_an_error(value):
    with pytest.raises(ValueError, match=r"is (no number|out of range)"):
        whole(value)


def test_a_duration_taken_for_a_time_of_day_is_a_duration():
    assert seconds(time(2, 30, 5)) == 9005
