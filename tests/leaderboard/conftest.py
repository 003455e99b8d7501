"""What the tests of the leaderboard share: a cluster, and a folder of rows."""

import json

import pytest

from tests.leaderboard.stores import make_store
from tests.parallel.conftest import cluster as cluster


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """A folder of eight policies on two workloads, with their schedules."""
    return make_store(tmp_path_factory.mktemp("store") / "store", keep=True)


@pytest.fixture
def rows(store):
    """Its rows as JSON by policy and workload, to be changed and written elsewhere."""
    found = [json.loads(path.read_text()) for path in (store / "rows").glob("*.json")]
    return {(row["policy"], row["workload"]): row for row in found}
