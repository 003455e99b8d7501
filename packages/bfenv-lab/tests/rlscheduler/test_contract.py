"""The policy `rlscheduler` keeps what every policy of whole traces has to keep."""

from pathlib import Path

import pytest

from bfenv.baselines.registry import find_competitor
from tests.policy_contract import (  # noqa: F401  # the tests
    test_found_by_name,
    test_golden_schedule,
    test_true_runtimes,
)


@pytest.fixture(scope="session")
def policy():
    """The policy without options."""
    return find_competitor("rlscheduler")


@pytest.fixture(scope="session")
def folder():
    """The folder of its golden schedule."""
    return Path(__file__).parent / "golden"
