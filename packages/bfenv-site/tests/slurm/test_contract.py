"""The policy `slurm` keeps what every policy has to keep."""

from pathlib import Path

import pytest

import bfenv
from tests.policy_contract import *  # noqa: F403  # the tests


@pytest.fixture(scope="session")
def policy():
    """The policy without options."""
    return bfenv.find_policy("slurm")


@pytest.fixture(scope="session")
def folder():
    """The folder of its golden schedule."""
    return Path(__file__).parent / "golden"


def test_scenario():
    """As FCFS does, it starts no job out of turn: its backfill has a cycle at 0, and then at 30."""
    trace = bfenv.make_trace([0, 1, 2, 3, 4], [4, 2, 4, 1, 3], [10, 8, 2, 4, 6], 4)
    starts = bfenv.simulate(trace, "slurm").start.tolist()
    assert starts == bfenv.simulate(trace, "fcfs").start.tolist() == [0, 10, 18, 20, 20]
