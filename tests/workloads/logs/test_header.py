"""The header of an SWF file; more of it is tested with whole files in test_swf.py."""

import pytest

import bfenv
import bfenv.workloads.logs.header as header


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
    """The clock is that of the header's zone, and unknown in an unknown one."""
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
