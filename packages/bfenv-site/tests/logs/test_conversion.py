"""Records made into a trace; more is tested with whole logs in test_kinds.py."""

from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv
import bfenv.workloads.logs.cleaning as cleaning
import bfenv.workloads.logs.header as header
from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs import records
from bfenv.workloads.logs.records import FIELDS, WAIT, format_records, parse_records, requests_in
from bfenv_site.logs.conversion import convert
from bfenv_site.logs.run import Log, Record, Run, number_names, order_times, peak_use
from tests.workloads.refusals import refused

NOON = 1_767_268_800  # 2026-01-01 12:00 UTC


def record(submit, start, runtime, size, **fields):
    return Record(submit=submit, start=start, runtime=runtime, size=size, **fields)


RUNS = [
    record(NOON + 30, NOON + 40, 60, 2, user="b", job="2"),
    record(NOON, NOON + 5, 100, 4, limit=90, user="a", job="1"),
    record(NOON + 50, None, 10, 1, job="3"),
]


def read(lines, **options):
    """The trace of lines that are records, reasons, or malformed (None)."""

    options = {"processors": 8, "on_error": "skip"} | options

    def parse(line):
        if line is None:
            raise ValueError("nothing there")
        return Record(reason=line) if isinstance(line, str) else line

    log = Log(enumerate(lines, start=2), parse, Counter(), ["a note"])
    return convert("logs/site.txt", log, **options)


def test_trace():
    """Runs become jobs in order of submit time, with the waits that they had."""
    trace = read(RUNS)
    assert trace.jobs.submit.tolist() == [0, 30, 50]
    assert trace.runtime.tolist() == [90, 60, 10]
    assert trace.jobs.estimate.tolist() == [90, 90, 90]  # the longest seen, where there is none
    assert trace.jobs.user.tolist() == [0, 1, -1]
    assert trace.records[:, WAIT].tolist() == [5, 10, -1]
    assert (trace.name, trace.time_of_day) == ("site", 12 * 3600)
    assert trace.cleaning.reordered == trace.cleaning.clipped == 1
    assert "Note: a note" in trace.header and f"UnixStartTime: {NOON}" in trace.header


def test_every_line_is_counted():
    """Reasons, malformed lines, duplicates and jobs too large for the machine are counted."""
    twice = [record(NOON, NOON, 5, 1, job="x") for _ in range(2)]
    lines = [*RUNS, "pending", "steps", "pending", *twice, record(NOON, NOON, 5, 9), None]
    with pytest.warns(UserWarning, match=r"logs/site\.txt:11: nothing there"):
        trace = read(lines)
    cleaning = trace.cleaning
    assert (cleaning.pending, cleaning.steps, cleaning.duplicates) == (2, 1, 1)
    assert (cleaning.too_large, cleaning.malformed) == (1, 1)
    assert len(trace) + cleaning.dropped == len(lines)


def test_malformed_line():
    """A malformed line is named by file and line, with the option that leaves it out."""
    with refused(WorkloadError, "logs/site.txt:3: ", "nothing there", "--skip"):
        read([RUNS[0], None], on_error="raise")


@pytest.mark.parametrize("longest", [7200, "2h", "120m", "2:00:00"])
def test_longest(longest):
    """Runs without an estimate get the longest, a number or a duration."""
    assert read(RUNS, longest=longest).jobs.estimate.tolist() == [90, 7200, 7200]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"processors": None}, ["logs/site.txt", "processors", 6]),
        ({"processors": 0}, ["processors", "0"]),
        ({"longest": 0}, ["longest", "0"]),
        ({"longest": 10**12}, ["longest", 10**12]),
        ({"longest": "never"}, ["'never'"]),
        ({"timezone": "Mars"}, ["'Mars'"]),
        ({"overrun": "pray"}, ["overrun", "'pray'"]),
        ({"on_error": "pray"}, ["on_error", "'pray'"]),
    ],
)
def test_bad_option(options, named):
    """A bad option is named; without a machine size, the most in use at once is."""
    with refused(WorkloadError, *named):
        read(RUNS, **options)


def test_examples():
    """Each reason has its first line as an example, and the work of its runs."""
    large = [record(NOON + i, NOON + i, 5, 9, job=f"x{i}") for i in range(2)]
    with pytest.warns(UserWarning, match="1 malformed line"):
        cleaning = read([*RUNS, "steps", "steps", *large, None]).cleaning
    assert cleaning.examples["steps"] == "line 5: steps"
    assert cleaning.examples["too_large"] == "line 7: job x0, 5 s on 9 processors"
    assert cleaning.work == {"too_large": 90, "clipped": 40}


def test_advice():
    """What --skip leaves out is counted; it is no advice if nothing else is there."""
    with refused(WorkloadError, "site.txt:3: ", "--skip leaves out 2 such lines of 5"):
        read([RUNS[0], None, *RUNS[1:], None], on_error="raise")
    with refused(WorkloadError, "site.txt:2: ", "and no other line is a job that ran"):
        read([None, "steps"], on_error="raise")


def test_counts():
    """Each count of a conversion is explained once."""
    names = [field.name for field in fields(cleaning.Conversion)]
    assert set(cleaning.counts_of(cleaning.Imported())) == set(names)
    assert sorted([*cleaning.DROPPED, *cleaning.CHANGED]) == sorted(names)
    assert cleaning.Conversion(steps=2, malformed=3, clipped=5).dropped == 5


def test_reasons():
    """Counts are listed in the order of their reasons, without zeros."""
    counts = {"too_large": 2, "headers": 1, "no_size": 0, "clipped": 9}
    assert cleaning.count_reasons(counts, cleaning.DROPPED) == [
        (1, cleaning.DROPPED["headers"]),
        (2, cleaning.DROPPED["too_large"]),
    ]


def test_left_out():
    """One reason needs no number of its own; of several, each has one; without any, no text."""
    assert cleaning.left_out_text(cleaning.Conversion(clipped=3)) == ""
    assert (
        cleaning.left_out_text(cleaning.Conversion(steps=1))
        == "1 job of the whole log is left out (job step)"
    )
    assert cleaning.left_out_text(cleaning.Conversion(steps=1_000, no_size=2)) == (
        "1,002 jobs of the whole log are left out (job step: 1,000; no size: 2)"
    )


def test_overrun():
    """Either runtimes are cut, or estimates raised."""
    runtime, estimate = np.array([5, 9]), np.array([7, 7])
    cut, same, counts = cleaning.apply_overrun(runtime, estimate, "kill")
    assert (cut.tolist(), same.tolist(), counts) == ([5, 7], [7, 7], {"clipped": 1})
    same, raised, counts = cleaning.apply_overrun(runtime, estimate, "extend")
    assert (same.tolist(), raised.tolist(), counts) == ([5, 9], [7, 9], {"extended": 1})


@pytest.mark.parametrize(
    ("overrun", "on_error", "named"),
    [("pray", "raise", "overrun"), ("kill", "pray", "on_error"), ("pray", None, "overrun")],
)
def test_cleaning_bad_option(overrun, on_error, named):
    """A choice that there is not is named."""
    with refused(WorkloadError, named, "'pray'"):
        cleaning.check_options(overrun, on_error)


@pytest.mark.parametrize("processors", [0, -1, 2**53, 2.5, "8", None])
def test_bad_machine(processors):
    """A machine that cannot be is named."""
    assert cleaning.check_processors("processors", np.int64(8)) == 8
    with refused(WorkloadError, "site: processors", repr(processors)):
        cleaning.check_processors("site: processors", processors)


def test_labels():
    """Labels and values are stripped; of several with one label, the first counts."""
    lines = ["MaxProcs :  12", "a remark", "MaxProcs: 50", " Note: a: b ", "Empty:"]
    assert header.read_labels(lines) == {"MaxProcs": "12", "Note": "a: b", "Empty": ""}


@pytest.mark.parametrize(
    ("labels", "size"),
    [
        ({}, None),
        ({"MaxNodes": "400 (48 interactive)"}, 400),
        ({"MaxProcs": "-1", "MaxNodes": "30"}, 30),
        ({"MaxProcs": "0"}, None),
        ({"MaxProcs": "40", "MaxNodes": "10"}, 40),
    ],
)
def test_machine_size(labels, size):
    """The machine has MaxProcs, or else MaxNodes."""
    assert header.machine_size(labels) == size


@pytest.mark.parametrize(("value", "start"), [("5", 5), ("soon", 0), ("-1", 0), ("", 0)])
def test_start_time(value, start):
    """A start time that is not a number is not known."""
    assert header.start_time({"UnixStartTime": value}) == start


@pytest.mark.parametrize(
    ("zone", "expected"),
    [("UTC", 30), ("Asia/Kolkata", 19_830), ("", 30), ("Mars/Olympus", None), ("../x", None)],
)
def test_clock(zone, expected):
    """The header's time zone decides the time of day. Without a known zone, it is unknown."""
    assert header.clock_at({"TimeZoneString": zone, "UnixStartTime": "20"}, 10) == expected


def test_header_to_write():
    """A header changes only where it would be read as another machine or time of day."""
    trace = bfenv.make_trace([0], [1], [5], 4, header=("Note: x", "MaxProcs: 4"), time_of_day=30)
    assert header.header_of(trace, 30) == ["Note: x", "MaxProcs: 4"]
    changed = header.header_of(trace, 0)
    assert changed[:2] == ["Note: x", "MaxProcs: 4"]
    assert header.clock_at(header.read_labels(changed), 0) == 30
    smaller = bfenv.make_trace([0], [1], [5], 2, header=trace.header, time_of_day=30)
    assert header.header_of(smaller, 30) == ["Note: x", "MaxProcs: 2"]


numbers = st.one_of(
    st.integers(-1, 2**53 - 1).map(float),
    st.floats(-1e6, 1e6).map(lambda value: value + 0.0),
)


def test_names_of_fields():
    """Each named index is that of its field."""
    expected = {
        "JOB": "job number",
        "SUBMIT": "submit time",
        "WAIT": "wait time",
        "RUNTIME": "run time",
        "ALLOCATED": "allocated processors",
        "REQUESTED": "requested processors",
        "ESTIMATE": "requested time",
        "STATUS": "status",
        "USER": "user",
        "GROUP": "group",
        "QUEUE": "queue",
        "PARTITION": "partition",
    }
    assert len(FIELDS) == len(set(FIELDS)) == 18
    assert {name: FIELDS[getattr(records, name)] for name in expected} == expected


@given(st.lists(st.lists(numbers, min_size=18, max_size=18), min_size=1, max_size=5))
def test_there_and_back(rows):
    """Records are written as text that is read as the same records."""
    written = format_records(np.array(rows))
    assert parse_records(Path("log"), written, "raise")[0].tolist() == rows


@pytest.mark.parametrize(
    ("allocated", "requested", "size"), [(4, 8, 8), (4, -1, 4), (4, 0, 4), (-1, -1, -1)]
)
def test_requests(allocated, requested, size):
    """The size is the requested processors if positive, or else the allocated ones."""
    row = np.full((1, 18), -1.0)
    row[0, [records.SUBMIT, records.ALLOCATED, records.REQUESTED]] = 2.5, allocated, requested
    submit, taken, runtime, estimate = requests_in(row)
    assert [submit[0], taken[0], runtime[0], estimate[0]] == [3, size, -1, -1]


@pytest.mark.parametrize("value", [2**53 - 1, 2**52 + 1, 0.49999999999999994, 0.5, 1.5, -0.5, -1])
def test_rounding(value):
    """Halves are rounded up, and whole numbers stay what they are, however large."""
    requests = requests_in(np.full((1, len(FIELDS)), float(value)))
    expected = value if isinstance(value, int) else int(value > 0.49999999999999997) + int(value)
    assert requests.submit.tolist() == [expected]


instants = st.lists(st.integers(0, 20), max_size=2).map(tuple)


@pytest.mark.parametrize(
    ("submit", "start", "end", "elapsed", "expected"),
    [
        ((5,), (7,), (9,), None, (5, 7, 9)),
        ((5,), (), (), None, (5, -1, -1)),
        ((5,), (3,), (1,), None, (5, 3, 1)),  # nothing to choose
        ((5,), (3, 7), (9,), None, (5, 7, 9)),  # in order
        ((5,), (6, 7), (9,), 2, (5, 7, 9)),  # agrees with the time elapsed
        ((5,), (6, 7), (9,), None, (5, 6, 9)),  # the earlier
        ((5, 8), (3,), (), 1, (5, 3, -1)),
    ],
)
def test_order(submit, start, end, elapsed, expected):
    """Instants in order are chosen, then those that agree with the time elapsed."""
    assert order_times(submit, start, end, elapsed) == expected


@given(instants, instants, instants, st.none() | st.integers(0, 20))
def test_choice(submit, start, end, elapsed):
    """Each time is one of its instants, in order if any choice is."""
    chosen = order_times(submit, start, end, elapsed)
    for time, choices in zip(chosen, (submit, start, end), strict=True):
        assert time in choices or (time, choices) == (-1, ())
    if submit and start and end and submit[0] <= start[-1] <= end[-1] and len(submit) == 1:
        assert len(start) == len(end) == 1 or chosen[0] <= chosen[1] <= chosen[2]


def test_peak():
    """Processors of a run that ends are free at once; runs without a start do not count."""
    runs = [Run(0, 0, 10, 4), Run(0, 9, 5, 5), Run(0, 10, 5, 6), Run(0, -1, 5, 99)]
    assert peak_use(runs) == 11
    assert peak_use([]) == 0


def test_numbers():
    """Names are numbered by first appearance; no name is -1."""
    assert number_names(["b", "", "a", "b"]) == [1, -1, 2, 1]
