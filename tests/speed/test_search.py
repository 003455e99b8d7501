"""What is measured of searched orders."""

import pytest

from bfenv.speed.engine import LOGS
from bfenv.speed.search import measure_search
from tests.speed.logs import write_log

pytestmark = pytest.mark.slow


def test_search(tmp_path, monkeypatch):
    """Scorers are measured, and published orders."""
    write_log(LOGS[0], tmp_path, monkeypatch)
    rows = [row for row in measure_search(1) if row["what"] == LOGS[0]]
    assert {"easy(order=wfp3)", "linear scorer"} <= {row["subject"] for row in rows}
