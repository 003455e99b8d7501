"""The policy `rlscheduler` keeps what every policy of whole traces has to keep."""

from pathlib import Path

import pytest

from bfenv.baselines.registry import find_competitor
from tests.policy_contract import (  # noqa: F401  # the tests
    test_it_is_described_and_found_by_its_name,
    test_its_golden_schedule_is_unchanged,
    test_true_runtimes_of_unfinished_jobs_change_no_decision,
)


@pytest.fixture(scope="session")
def policy():
    """The policy without options."""
    return find_competitor("rlscheduler")


@pytest.fixture(scope="session")
def folder():
    """The folder of its golden schedule."""
    return Path(__file__).parent / "golden"
