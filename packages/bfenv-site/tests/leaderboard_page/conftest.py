"""The page of a folder of rows."""

import pytest

from bfenv.leaderboard.report.gantt_selection import select_gantt
from bfenv.leaderboard.store import read_leaderboard
from bfenv_site.leaderboard_page import render_page


@pytest.fixture(scope="session")
def leaderboard(store):
    return read_leaderboard(store)


@pytest.fixture(scope="session")
def page(leaderboard):
    return render_page(leaderboard, select_gantt(leaderboard))
