"""The checks of traces and loads, with what their messages suggest."""

import pytest

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import make_trace
from bfenv.workloads.arguments import check_load, check_trace
from tests.workloads.refusals import refused


def test_trace():
    """A trace passes."""
    check_trace(make_trace([0], [1], [5], 4))


@pytest.mark.parametrize("value", [None, 3, [1, 2]])
def test_other_values(value):
    """Anything else is named."""
    with refused(WorkloadError, "Trace", repr(value)):
        check_trace(value)


@pytest.mark.parametrize(
    ("load", "rest"),
    [(90, "90; a load of 90 % is load=0.9$"), (500, "500; .*load=5$"), (501, "501$")],
)
def test_load(load, rest):
    """A percentage is suggested as a share, if the share would be accepted."""
    with pytest.raises(WorkloadError, match=f"^load must be at most 5, got {rest}"):
        check_load("load", load)


def test_name():
    """A name is refused with the call that makes a trace of it."""
    with refused(WorkloadError, "'KTH'", "load_workload('KTH')"):
        check_trace("KTH")
