"""SWF records: their fields, and there and back to text; see test_swf.py for malformed lines."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfenv.workloads.logs import records
from bfenv.workloads.logs.records import FIELDS, format_records, parse_records, requests_in

numbers = st.one_of(
    st.integers(-1, 2**53 - 1).map(float),
    st.floats(-1e6, 1e6).map(lambda value: value + 0.0),
)


def test_names_of_fields():
    """Each named index is that of its field."""
    expected = {
        "JOB": "job number", "SUBMIT": "submit time", "WAIT": "wait time", "RUNTIME": "run time",
        "ALLOCATED": "allocated processors", "REQUESTED": "requested processors",
        "ESTIMATE": "requested time", "STATUS": "status", "USER": "user", "GROUP": "group",
        "QUEUE": "queue", "PARTITION": "partition",
    }  # fmt: skip
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
