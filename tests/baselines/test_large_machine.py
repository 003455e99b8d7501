"""The memory that a policy takes depends on jobs, not on how large a machine is."""

import tracemalloc

import pytest

import bfenv
from bfenv.baselines.registry import ALL
from bfenv.core.simulator import simulate

PROCESSORS = 2**40
MOST = 2**26  # bytes
REFUSE = [name for name in ALL if name.startswith("los")]  # which need a table of processors


@pytest.mark.parametrize("name", ALL)
def test_huge_machine(name):
    """Every policy runs jobs on 2**40 processors in little memory, or refuses them clearly."""
    trace = bfenv.make_trace(
        submit=[0, 1, 2, 3, 4],
        size=[PROCESSORS - 1, 4, 3, PROCESSORS // 2, 2],
        runtime=[60, 60, 30, 20, 10],
        processors=PROCESSORS,
    )
    tracemalloc.start()
    try:
        if name in REFUSE:
            with pytest.raises(bfenv.PolicyError, match="at most"):
                simulate(trace, ALL[name])
        else:
            simulate(trace, ALL[name]).check()
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()
