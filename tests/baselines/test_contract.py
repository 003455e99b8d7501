"""The policies of this distribution keep what every policy has to keep.

`python -m tests.baselines.test_contract` writes their golden schedules again.
"""

from pathlib import Path

import pytest

from bfenv import baselines
from tests.policy_contract import *  # noqa: F403  # the tests
from tests.policy_contract import workload, write_golden

pytestmark = pytest.mark.usefixtures("compiled_environments")

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session", params=baselines.ALL.values(), ids=lambda policy: policy.name)
def policy(request):
    """Each policy."""
    return request.param


@pytest.fixture(scope="session")
def folder():
    """The folder of the golden schedules."""
    return GOLDEN


def test_golden_files():
    """Each policy has a golden schedule, and each golden schedule its policy."""
    assert {file.stem for file in GOLDEN.iterdir()} == set(baselines.ALL)


def test_golden_workload():
    """The workload of the golden schedules is unchanged."""
    assert workload().hash.startswith("eda1f08e50d67a97")


if __name__ == "__main__":
    write_golden(baselines.ALL.values(), GOLDEN)
