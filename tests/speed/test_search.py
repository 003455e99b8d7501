"""What is measured of scorers."""

import pytest

from bfenv.speed.engine import LOGS
from bfenv.speed.search import measure_search
from tests.speed.logs import write_log

pytestmark = pytest.mark.slow


def test_search(tmp_path, monkeypatch):
    """Scorers are measured, and EASY with a sorted queue."""
    write_log(LOGS[0], tmp_path, monkeypatch)
    rows = [row for row in measure_search(1) if row["what"] == LOGS[0]]
    assert {"easy(order=sjf)", "scorer, all features"} <= {row["subject"] for row in rows}
