"""The check of traces, with what its message suggests."""

import pytest

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import make_trace
from bfenv.workloads.arguments import check_trace
from tests.workloads.refusals import refused


def test_trace():
    """A trace passes."""
    check_trace(make_trace([0], [1], [5], 4))


@pytest.mark.parametrize("value", [None, 3, [1, 2]])
def test_other_values(value):
    """Anything else is named."""
    with refused(WorkloadError, "Trace", repr(value)):
        check_trace(value)


def test_name():
    """A name is refused with the call that makes a trace of it."""
    with refused(WorkloadError, "'KTH'", "load_workload('KTH')"):
        check_trace("KTH")
