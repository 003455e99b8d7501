"""What the tests of the report share: a folder of rows as it is read."""

import pytest

from bfenv.leaderboard.store import read_leaderboard


@pytest.fixture(scope="session")
def leaderboard(store):
    return read_leaderboard(store)
