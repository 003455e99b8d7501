"""The Standard Workload Format: by hand, against a plain reader, and damaged."""

import gzip
import math
import os
import re
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core import files
from bfenv.core.schedule import Schedule
from bfenv.workloads.logs.cleaning import Conversion
from bfenv.workloads.transform import with_load
from tests.workloads.refusals import refused

HEADER = "; Version: 2.2\n; MaxProcs: 100\n"
DROPPED = ("no_submit", "no_runtime", "no_size", "too_large", "malformed")


def job(number=1, submit=0, runtime=10, allocated=4, requested=-1, estimate=-1, user=1, cpu=-1):
    """A job line."""
    fields = [number, submit, 7, runtime, allocated, cpu, -1, requested, estimate, -1, 1, user]
    return " ".join(map(str, [*fields, 1, 2, 3, 4, -1, -1])) + "\n"


def put(folder, text, name="log.swf"):
    """A file in the folder; text is encoded byte for byte."""
    path = Path(folder) / name
    data = text if isinstance(text, bytes) else text.encode("latin-1")
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def again(trace, folder, name="again.swf", **options):
    """The trace, written and read."""
    path = Path(folder) / name
    bfenv.write_swf(trace, path)
    return bfenv.read_swf(path, **options)


# What a file means


def test_wrong_type():
    """What is not a path is refused by name."""
    with refused(bfenv.core.errors.WorkloadError, "path must be the path of a file, got 3"):
        bfenv.read_swf(3)


def test_jobs_of_log(tmp_path):
    """Jobs, machine and records are those of the log, and what was changed is counted."""
    text = (
        HEADER
        + job(1, submit=100, runtime=10, allocated=4, requested=8, estimate=60, user=7)
        + job(3, submit=100, runtime=20, allocated=4, requested=-1, estimate=-1, user=-1)
        + job(9, submit=130, runtime=90, allocated=-1, requested=5, estimate=30, user=2)
    )
    trace = bfenv.read_swf(put(tmp_path, text))
    assert trace.jobs.submit.tolist() == [0, 0, 30]
    assert trace.jobs.size.tolist() == [8, 4, 5]
    assert trace.runtime.tolist() == [10, 20, 30]
    assert trace.jobs.estimate.tolist() == [60, 20, 30]
    assert trace.jobs.user.tolist() == [1, -1, 0]
    assert trace.jobs.priority.tolist() == trace.jobs.requested_start.tolist() == [0, 0, 0]
    assert (trace.processors, trace.name) == (100, "log")
    assert trace.cleaning == Conversion(clipped=1, no_estimate=1)
    assert trace.records[2].tolist() == [
        9, 130, 7, 90, -1, -1, -1, 5, 30, -1, 1, 2, 1, 2, 3, 4, -1, -1,
    ]  # fmt: skip


def test_overrun(tmp_path):
    """A runtime past the estimate is cut to it, or extends the estimate if asked to."""
    path = put(tmp_path, HEADER + job(runtime=90, estimate=30))
    kill, extend = bfenv.read_swf(path), bfenv.read_swf(path, overrun="extend")
    assert (kill.runtime[0], kill.jobs.estimate[0], kill.cleaning.clipped) == (30, 30, 1)
    assert (extend.runtime[0], extend.jobs.estimate[0], extend.cleaning.extended) == (90, 90, 1)
    assert kill.cleaning.extended == extend.cleaning.clipped == 0


@pytest.mark.parametrize(
    ("header", "processors"),
    [
        ("; MaxNodes: 10\n; MaxProcs: 40\n", 40),
        ("; MaxNodes: 400 (48 interactive, 352 batch)\n", 400),
        ("; MaxProcs: -1\n;MaxNodes:30\n", 30),
        (" ;\tMaxProcs :  12\r\n", 12),
        ("; MaxProcs: 50\n; MaxProcs: 60\n", 50),
    ],
)
def test_machine_of_header(tmp_path, header, processors):
    """The machine is as large as the header's MaxProcs says, or else its MaxNodes."""
    assert bfenv.read_swf(put(tmp_path, header + job())).processors == processors


def test_given_machine(tmp_path):
    """The machine can be given, and then that of the header does not count."""
    trace = bfenv.read_swf(put(tmp_path, HEADER + job(allocated=9) + job()), processors=8)
    assert (trace.processors, len(trace), trace.cleaning.too_large) == (8, 1, 1)


def test_zipped_log(tmp_path):
    """A zipped log is known by its content, whatever its name."""
    path = put(tmp_path, HEADER + job(), "log.swf.gz").rename(tmp_path / "log.swf")
    assert len(bfenv.read_swf(path)) == 1


def test_read_only_records(tmp_path):
    """The records of a log that was read are read-only."""
    trace = bfenv.read_swf(put(tmp_path, HEADER + job()))
    with pytest.raises(ValueError, match="read-only"):
        trace.records[0, 0] = 5


# The time of day


@pytest.mark.parametrize(
    ("start", "zone", "submit", "clock"),
    [
        (843480031, "Europe/Stockholm", 0, (14, 0, 31)),  # KTH's StartTime: 14:00:31 CEST
        (835823160, "US/Eastern", 0, (17, 6, 0)),  # CTC's StartTime: 17:06:00 EDT
        (820090437, "US/Pacific", 0, (10, 53, 57)),  # SDSC-Par's StartTime: 10:53:57 PST
        (0, "Asia/Kolkata", 60, (5, 31, 0)),
        (0, "UTC", 86_399, (23, 59, 59)),
        (843480031, "Europe/Stockholm", 60 * 86_400, (13, 0, 31)),  # winter has come
    ],
)
def test_time_of_day(tmp_path, start, zone, submit, clock):
    """Time 0 has the local time of day of the first job."""
    header = HEADER + f"; UnixStartTime: {start}\n; TimeZoneString: {zone}\n"
    trace = bfenv.read_swf(put(tmp_path, header + job(submit=submit) + job(submit=submit + 9)))
    assert trace.time_of_day == clock[0] * 3600 + clock[1] * 60 + clock[2]


def test_no_zone(tmp_path):
    """Without a zone, times of day are those of UTC."""
    trace = bfenv.read_swf(put(tmp_path, HEADER + "; UnixStartTime: 3600\n" + job(submit=30)))
    assert trace.time_of_day == 3630


@pytest.mark.parametrize(
    ("start", "zone", "expected"),
    [
        (5, "Mars/Olympus", 35),
        (5, "../../etc/passwd", 35),
        (5, "America", 35),
        (10**17, "Europe/Stockholm", (10**17 + 30) % 86_400),
    ],
)
def test_no_clock(tmp_path, start, zone, expected):
    """A local time that no clock here can tell is a warning, and that of UTC is taken."""
    header = HEADER + f"; UnixStartTime: {start}\n; TimeZoneString: {zone}\n"
    with pytest.warns(UserWarning, match=re.escape(repr(zone))):
        trace = bfenv.read_swf(put(tmp_path, header + job(submit=30)))
    assert trace.time_of_day == expected


# Every line is a job or counted


def plain_reader(text):
    """What must come of a text, line by line: job numbers in order, Cleaning, wrong lines."""
    jobs, counts, wrong, seen = [], Counter(), [], set()
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        words = line.split(";")[0].split()
        if not words:
            continue
        try:
            if any("_" in word for word in words):  # float() takes them
                raise ValueError
            fields = [float(word) for word in words]
            if len(fields) != 18 or not all(abs(value) < 2**53 for value in fields):
                raise ValueError
        except ValueError:
            wrong.append(number)
            continue
        whole = [int(value) if value.is_integer() else math.floor(value + 0.5) for value in fields]
        size = whole[7] if whole[7] > 0 else whole[4]
        if tuple(fields) in seen:
            counts["duplicates"] += 1
        elif seen.add(tuple(fields)) or whole[1] < 0:
            counts["no_submit"] += 1
        elif whole[3] < -1:
            counts["contradictory"] += 1
        elif whole[3] <= 0:
            counts["no_runtime"] += 1
        elif size <= 0:
            counts["no_size"] += 1
        elif size > 6:
            counts["too_large"] += 1
        else:
            counts["reordered"] += bool(jobs) and whole[1] < jobs[-1][0]
            counts["no_estimate"] += whole[8] <= 0
            counts["clipped"] += 0 < whole[8] < whole[3]
            jobs.append((whole[1], size, whole[3], whole[8], fields))
    return sorted(jobs, key=lambda row: row[0]), Conversion(malformed=len(wrong), **counts), wrong


small = st.one_of(
    st.integers(-2, 8).map(str),
    st.sampled_from(["0.5", "2.25", "-0.4", "+3", "1e1", "007", "7.", ".5", "9007199254740991"]),
)
bad = st.sampled_from(
    ["nan", "NaN", "inf", "-inf", "1e400", "9007199254740992", "x", "1_0", "0x1", "1,5", "--1",
     "1e", "\x00", "\xff", "²", "7" * 5000, "-"]
)  # fmt: skip
blank = st.sampled_from([" ", "\t", "  ", " \t ", "\x0b", "\xa0"])
nothing = st.sampled_from(["", " ", "\t", ";", "; MaxNodes: 3", " ;; remark \xe9", "; 1 2 3"])


@st.composite
def job_lines(draw):
    words = job(draw(st.integers(1, 9)), "?", "?", "?", "?", "?", "?", "?").split()
    words = [draw(small) if word == "?" else word for word in words]
    wrong = draw(st.sampled_from(["nothing", "nothing", "nothing", "word", "number"]))
    if wrong == "word":
        words[draw(st.integers(0, 17))] = draw(bad)
    elif wrong == "number":
        words = [*words, "1"][: draw(st.sampled_from([1, 17, 19]))]
    lead, tail = draw(st.sampled_from(["", " ", "\t"])), draw(st.sampled_from(["", " ", "; x 1 2"]))
    return lead + draw(blank).join(words) + tail


@st.composite
def texts(draw):
    """A log of 6 processors, more or less well-formed."""
    lines = draw(st.lists(st.one_of(job_lines(), job_lines(), nothing), max_size=8))
    lines.insert(0, "; MaxProcs: 6")
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return end.join(lines) + draw(st.sampled_from([end, ""]))


@settings(max_examples=300)
@given(texts())
@example("; MaxProcs: 6\n" + job() + "x" + job())
def test_every_job_line(tmp_path_factory, text):
    """Every job line is in the trace, or counted with the reason why not."""
    jobs, cleaning, wrong = plain_reader(text)
    path = put(tmp_path_factory.getbasetemp(), text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            trace = bfenv.read_swf(path, on_error="skip")
        except bfenv.WorkloadError as error:
            assert not jobs and str(path) in str(error)
            trace = None
    assert len(caught) == bool(wrong)
    if wrong:
        assert re.search(rf"\b{len(wrong)}\b.*:{wrong[0]}: ", str(caught[0].message))
        with pytest.raises(bfenv.WorkloadError, match=re.escape(f"{path}:{wrong[0]}: ")):
            bfenv.read_swf(path)
    if trace is not None:
        assert trace.cleaning == cleaning
        assert trace.records.tolist() == [row[4] for row in jobs]
        assert (trace.jobs.submit + jobs[0][0]).tolist() == [row[0] for row in jobs]
        assert trace.jobs.size.tolist() == [row[1] for row in jobs]
        estimates = [row[3] if row[3] > 0 else row[2] for row in jobs]
        assert trace.jobs.estimate.tolist() == estimates
        assert trace.runtime.tolist() == list(map(min, [row[2] for row in jobs], estimates))
        lines = sum(bool(line.split(";")[0].strip()) for line in re.split("\r\n|\r|\n", text))
        assert lines == len(trace) + trace.cleaning.dropped


# Bad input


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (job(submit="nan"), ["field 2", "submit time", "'nan'"]),
        (job(runtime="inf"), ["field 4", "run time", "'inf'"]),
        (job(runtime="1e400"), ["field 4", "run time", "'1e400'"]),
        (job(estimate=2**53), ["field 9", "requested time", "'9007199254740992'"]),
        (job(user="root"), ["field 12", "user", "'root'"]),
        (job(number="0x1"), ["field 1", "job number", "'0x1'"]),
        (job(allocated="4,"), ["field 5", "allocated processors", "'4,'"]),
        ("1 2 3\n", ["3 fields", "18"]),
        (job().strip() + " 0\n", ["19 fields", "18"]),
        ("18\n", ["1 field,", "18"]),
    ],
)
def test_malformed_line(tmp_path, line, named):
    """A malformed line is named by file, line and field; or skipped, counted and warned of."""
    path = put(tmp_path, HEADER + job() + "\n" + line + job(2))
    with refused(bfenv.WorkloadError, f"{path}:5: ", *named):
        bfenv.read_swf(path)
    with pytest.warns(UserWarning) as warned:
        trace = bfenv.read_swf(path, on_error="skip")
    (warning,) = warned
    assert all(one in str(warning.message) for one in [f"{path}:5: ", *named])
    assert warning.filename == __file__
    assert (len(trace), trace.cleaning.malformed) == (2, 1)


def test_long_field(tmp_path):
    """A field as long as the file is refused in one short line."""
    path = put(tmp_path, HEADER + job(submit="7" * 200_000 + "x"))
    with refused(bfenv.WorkloadError, "submit time", "7" * 40) as error:
        bfenv.read_swf(path)
    assert len(str(error.value)) < len(str(path)) + 100


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", []),
        (" \n\t\r\n\n", []),
        (HEADER, []),
        (
            HEADER + job(allocated=101) + job(runtime=-1) + job(runtime=0),
            ["ran for 0 s, or no runtime: 2", "larger than the machine: 1"],
        ),
        (job(), ["MaxProcs", "processors="]),
        ("; MaxProcs: many\n" + job(), ["'MaxProcs: many' is not a size"]),
        ("; MaxProcs: 0\n" + job(), ["'MaxProcs: 0' is not a size"]),
        (f"; MaxProcs: {'9' * 5000}\n" + job(), ["processors", "9" * 18]),
    ],
)
def test_log_without_a_trace(tmp_path, text, named):
    """A log that makes no trace is named, with the reason."""
    path = put(tmp_path, text)
    with refused(bfenv.WorkloadError, path, *named):
        bfenv.read_swf(path)


def test_not_a_file(tmp_path):
    """A missing file, a folder and a pipe are named."""
    with refused(FileNotFoundError, tmp_path / "nowhere.swf"):
        bfenv.read_swf(tmp_path / "nowhere.swf")
    with refused(FileNotFoundError, "x" * 3000):
        bfenv.read_swf("x" * 3000)
    os.mkfifo(tmp_path / "pipe.swf")
    for path in (tmp_path, tmp_path / "pipe.swf"):
        with refused(bfenv.WorkloadError, path):
            bfenv.read_swf(path)


def test_unreadable_file(tmp_path, monkeypatch):
    """A file that cannot be read is named, with the reason of the system."""
    path = put(tmp_path, HEADER + job())

    def forbidden(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("bfenv.workloads.logs.text._begin", forbidden)
    with refused(bfenv.WorkloadError, path, "Permission denied"):
        bfenv.read_swf(path)


def test_damaged_gzip(tmp_path):
    """A gzip file that is cut off, continued, or changed past its header is refused by name."""
    path = put(tmp_path, HEADER + job() + job(), "log.swf.gz")
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with refused(bfenv.WorkloadError, path):
            bfenv.read_swf(path)
    for i in range(10, len(whole)):  # the first ten bytes hold a date and the like
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :])
        with refused(bfenv.WorkloadError, path):
            bfenv.read_swf(path)
    path.write_bytes(whole + b"more")
    with refused(bfenv.WorkloadError, path):
        bfenv.read_swf(path)


# Writing


def test_written_as_it_stood(tmp_path):
    """Every number and header line is written as it stood, up to a space after a semicolon."""
    text = (
        "; Version: 2.2\n;     Note: indented\n;; MaxProcs\n; MaxProcs: 100 (and more)\n;\n; \xe9\n"
        + job(4, submit=17, runtime=90, estimate=30, user=12, cpu="1.25")
        + job(9, submit="17.5", requested=8, cpu="0.1")
    )
    path = tmp_path / "again.swf"
    bfenv.write_swf(bfenv.read_swf(put(tmp_path, text)), path)
    assert path.read_bytes() == text.replace(";; Max", "; ; Max").encode("latin-1")


@pytest.mark.parametrize("name", ["a.swf", "a.swf.gz"])
def test_made_trace(tmp_path, name):
    """A trace without a log is written and read as the same, zipped or not."""
    trace = bfenv.make_trace(
        [0, 3, 3, 400],
        [1, 4, 2, 4],
        [5, 6, 7, 8],
        4,
        estimate=[5, 60, 8, 8],
        user=[1, -1, 0, 1],
        time_of_day=80_000,
        name="two\nlines",
    )
    copy = again(trace, tmp_path, name)
    assert copy.hash == trace.hash
    assert copy.name == "a" and "Note: two lines" in copy.header


@pytest.fixture
def summer_log(tmp_path):
    """Jobs from a day before to two days after the end of summer time, and a lost header."""
    header = "; UnixStartTime: 846194400\n; TimeZoneString: Europe/Stockholm\n; Note: kept\n"
    lines = [
        job(i, submit=1000 + i * 43_200, runtime=9 + i, estimate=14, user=5, cpu="2.5")
        for i in range(8)
    ]
    return put(tmp_path, header + "".join(lines))


CHANGES = {
    "nothing": lambda trace: trace,
    "window": lambda trace: trace[5:],
    "load": lambda trace: with_load(trace, 0.3),
    "load of a window": lambda trace: with_load(trace[5:], 1e-6),
    "machine": lambda trace: replace(trace, processors=50),
    "exact": lambda trace: replace(trace, jobs=trace.jobs._replace(estimate=trace.runtime)),
    "double": lambda trace: replace(trace, jobs=trace.jobs._replace(estimate=trace.runtime * 2)),
    "size": lambda trace: replace(trace, jobs=trace.jobs._replace(size=trace.jobs.size + 1)),
    "runtime": lambda trace: replace(trace, runtime=np.maximum(trace.runtime - 3, 1)),
    "clock": lambda trace: replace(trace, time_of_day=(trace.time_of_day + 77) % 86_400),
    "no records": lambda trace: replace(trace, records=None),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("overrun", ["kill", "extend"])
def test_changed_trace(tmp_path, summer_log, change, overrun):
    """A changed trace is written and read as the changed one, with the rest of its log."""
    trace = CHANGES[change](bfenv.read_swf(summer_log, processors=40, overrun=overrun))
    copy = again(trace, tmp_path)
    assert copy.hash == trace.hash
    assert "Note: kept" in copy.header
    if trace.records is not None:
        untouched = [0, 2, 4, 5, *range(9, 18)]
        assert np.array_equal(copy.records[:, untouched], trace.records[:, untouched])


def test_written_schedule(tmp_path):
    """With a schedule, its waits and sizes are written; that of another trace is refused."""
    trace = bfenv.read_swf(put(tmp_path, HEADER + job(1, requested=8) + job(2, submit=3)))
    never = np.array([-1, -1])
    start = np.array([5, 9])
    schedule = Schedule(trace, "by hand", 0, start, start + trace.runtime, never, never)
    bfenv.write_swf(trace, tmp_path / "out.swf", schedule)
    records = bfenv.read_swf(tmp_path / "out.swf").records
    assert records[:, 2].tolist() == [5, 6]
    assert records[:, 4].tolist() == [8, 4]
    assert trace.records[:, 2].tolist() == [7, 7]
    with refused(bfenv.WorkloadError, trace[:1].name):
        bfenv.write_swf(trace[:1], tmp_path / "other.swf", schedule)
    assert not (tmp_path / "other.swf").exists()


@pytest.mark.parametrize("column", ["priority", "requested_start"])
def test_lost_columns(tmp_path, column):
    """Priorities and requested starts, which the format has no place for, are a warning."""
    trace = bfenv.make_trace([0], [1], [5], 4, **{column: [3]})
    with pytest.warns(UserWarning, match="out.swf.*priorities.*requested start"):
        bfenv.write_swf(trace, tmp_path / "out.swf")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["open", "replace"])
def test_failed_write(tmp_path, monkeypatch, error, step):
    """A failed write leaves what was there, and nothing else."""
    path = put(tmp_path, "before")
    trace = bfenv.make_trace([0], [1], [5], 4)

    class Full:
        """A file on a full disk."""

        def __init__(self, *arguments, **options):
            self.file = open(*arguments, **options)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def fileno(self):
            return self.file.fileno()

        def write(self, data):
            self.file.write(data[:10])
            raise error

    def fail(*_):
        raise error

    if step == "open":
        monkeypatch.setattr(files, "open", Full, raising=False)
    else:
        monkeypatch.setattr(os, "replace", fail)
    expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else bfenv.BfenvError
    with pytest.raises(expected) as raised:
        bfenv.write_swf(trace, path)
    if expected is bfenv.BfenvError:
        assert str(path) in str(raised.value) and "No space left on device" in str(raised.value)
    assert os.listdir(tmp_path) == ["log.swf"]
    assert path.read_text() == "before"


def test_unwritable_path(tmp_path):
    """Where no file can be written, the path is named, and nothing is left behind."""
    trace = bfenv.make_trace([0], [1], [5], 4)
    os.mkfifo(tmp_path / "pipe")
    for path in (
        tmp_path / "nowhere" / "a.swf",
        tmp_path / ("x" * 300),
        tmp_path,
        tmp_path / "pipe",
    ):
        with refused(bfenv.BfenvError, path):
            bfenv.write_swf(trace, path)
    assert os.listdir(tmp_path) == ["pipe"]


def test_name_as_trace(tmp_path):
    """A name is refused with the call that makes a trace of it."""
    with refused(bfenv.WorkloadError, "load_workload('lublin')"):
        bfenv.write_swf("lublin", tmp_path / "a.swf")
    assert not list(tmp_path.iterdir())


def test_rights_of_file(tmp_path):
    """A written file has the rights that any new file has."""
    before = os.umask(0o027)
    try:
        bfenv.write_swf(bfenv.make_trace([0], [1], [5], 4), tmp_path / "a.swf")
    finally:
        os.umask(before)
    assert (tmp_path / "a.swf").stat().st_mode & 0o777 == 0o640


def test_same_bytes(tmp_path, monkeypatch):
    """A trace is written as the same bytes, whenever that is."""
    trace = bfenv.make_trace([0], [1], [5], 4)
    bfenv.write_swf(trace, tmp_path / "a.swf.gz")
    first = (tmp_path / "a.swf.gz").read_bytes()
    monkeypatch.setattr(time, "time", lambda: 1e9)
    bfenv.write_swf(trace, tmp_path / "a.swf.gz")
    assert (tmp_path / "a.swf.gz").read_bytes() == first


# Real logs

LOGS = {  # processors, job lines, and what became of them
    "CTC-SP2-1996-3.1-cln": (338, 77_222, {"no_runtime": 17, "clipped": 7_174, "no_estimate": 6}),
    "HPC2N-2002-2.2-cln": (240, 202_871, {"clipped": 14_817}),
    "KTH-SP2-1996-2": (100, 28_489, {"no_runtime": 8, "clipped": 475}),
    "KTH-SP2-1996-2.1-cln": (100, 28_476, {"no_runtime": 8, "no_size": 1, "clipped": 475}),
    "LLNL-Atlas-2006-2.1-cln": (
        9216,
        43_778,
        {"no_runtime": 7_178, "clipped": 3_351, "no_estimate": 5_352},
    ),
    "LLNL-Thunder-2007-1.1-cln": (
        4008,
        121_039,
        {"no_submit": 1_190, "no_runtime": 6_236, "clipped": 1_101, "no_estimate": 80_197},
    ),
    "METACENTRUM-2009-2": (806, 103_656, {"no_runtime": 3_712, "no_estimate": 99_944}),
    "NASA-iPSC-1993-3.1-cln": (128, 18_239, {"no_runtime": 173, "no_estimate": 18_066}),
    "SDSC-BLUE-2000-4.2-cln": (1152, 243_306, {"no_runtime": 10_770, "clipped": 23_434}),
    "SDSC-Par-1996-3.1-cln": (400, 32_135, {"no_runtime": 7, "no_estimate": 32_128}),
    "SDSC-SP2-1998-4.2-cln": (
        128,
        59_715,
        {"no_runtime": 5_681, "clipped": 4_134, "no_estimate": 35},
    ),
    "lublin_256_10k": (256, 10_000, {"no_estimate": 10_000}),
    "lublin_256_20k_est": (256, 20_000, {}),
    "lublin_256_new2": (256, 10_000, {"no_estimate": 10_000}),
}


def log(name):
    """The file of a real log and its trace."""
    folder = os.environ.get("BFENV_TRACES")
    if not folder:
        pytest.skip("BFENV_TRACES names no folder of logs")
    path = Path(folder) / f"{name}.swf.gz"
    lost = {"METACENTRUM-2009-2": {"processors": 806}}  # its header is gone
    return path, bfenv.load_workload(path, **lost.get(name, {}))


@pytest.mark.parametrize("name", LOGS)
def test_real_log(name):
    """Each line of a real log is a job of the trace or counted as dropped, for its machine."""
    _, trace = log(name)
    processors, lines, counts = LOGS[name]
    assert trace.processors == processors
    assert trace.cleaning == Conversion(**counts)
    assert len(trace) == lines - sum(counts.get(reason, 0) for reason in DROPPED)


@pytest.mark.parametrize("name", LOGS)
def test_clock_of_real_log(name):
    """The clock of a real log goes on from the StartTime of its header."""
    _, trace = log(name)
    start = next((line for line in trace.header if line.strip().startswith("StartTime")), "0:0:0")
    hours, minutes, seconds = map(int, re.search(r"(\d+):(\d+):(\d+)", start).groups())
    first = int(trace.records[0, 1])  # no log changes to or from summer time before
    assert trace.time_of_day == (hours * 3600 + minutes * 60 + seconds + first) % 86_400


@pytest.mark.parametrize("name", LOGS)
def test_rewritten_real_log(tmp_path, name):
    """A real log is written word for word, but for zeros that end a decimal number."""
    path, trace = log(name)
    copy = again(trace, tmp_path, f"{name}.swf")
    assert copy.hash == trace.hash
    assert copy.header == trace.header or not trace.header

    def words(text):
        """How often each line of words is there; field 6 without zeros that end its decimals."""
        jobs = (line.split() for line in text.split(b"\n") if line and not line.startswith(b";"))
        return Counter(
            b" ".join([*job[:5], re.sub(rb"\.?0+$", b"", job[5]) if b"." in job[5] else job[5]])
            + b" ".join(job[6:])
            for job in jobs
        )

    original = words(gzip.decompress(path.read_bytes()))
    written = words((tmp_path / f"{name}.swf").read_bytes())
    assert written <= original and written.total() == len(trace)


def test_another_format(tmp_path):
    """A file of another format is refused with the command that reads it."""
    path = put(tmp_path, "JobID|User|State\n1|ann|COMPLETED\n")
    with refused(bfenv.WorkloadError, path, "bfenv workloads import"):
        bfenv.read_swf(path)


def test_rules_of_rlscheduler(tmp_path):
    """Sizes are the larger field, -1 s is 10 s, 0 s no job; the header has the largest values."""
    lines = [
        "; MaxProcs: 8",
        "1 5 0 -1 2 -1 -1 4 60 -1 5 7 -1 3 -1 -1 -1 -1",
        "2 6 0 0 8 -1 -1 8 60 9 1 2 -1 4 -1 -1 -1 -1",
        "3 9 0 90 6 -1 -1 2 60 -1 1 1 -1 1 -1 -1 -1 -1",
    ]
    path = tmp_path / "log.swf"
    path.write_text("\n".join(lines))
    trace = bfenv.read_swf(path, rules="rlscheduler", overrun="extend")
    assert trace.jobs.size.tolist() == [4, 6] and trace.runtime.tolist() == [10, 90]
    assert trace.jobs.estimate.tolist() == [60, 90]
    assert trace.header[-1] == "LargestValues: 90 9 7 -1 4"
    assert len(bfenv.read_swf(path)) == 1
    with pytest.raises(bfenv.WorkloadError, match="rules must be one of"):
        bfenv.read_swf(path, rules="theirs")
