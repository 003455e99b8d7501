"""Records made into a trace; more is tested with whole logs in test_kinds.py."""

from collections import Counter

import pytest

from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.conversion import convert
from bfenv.workloads.logs.records import WAIT
from bfenv.workloads.logs.run import Log, Record
from tests.workloads.refusals import refused

NOON = 1_767_268_800  # 2026-01-01 12:00 UTC


def record(submit, start, runtime, size, **others):
    return Record(submit=submit, start=start, runtime=runtime, size=size, **others)


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
        return Record(why=line) if isinstance(line, str) else line

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
