"""What is measured of the environments, not how fast they are."""

import numpy as np
import pytest

from bfenv.speed import environments

pytestmark = [pytest.mark.slow, pytest.mark.torch]


def test_environments(monkeypatch):
    """Every kind of environment is measured."""
    monkeypatch.setattr(environments, "CALLS", 640)
    rows = list(environments.measure_environments(2))
    assert [row["group"] for row in rows] == (
        ["gymnasium.make"] * 2 + ["gymnasium.make_vec"] * 5 + ["BackfillVecEnv"]
    )
    assert all(row["unit"] == "steps/s" and row["best"] >= row["median"] > 0 for row in rows)


def test_pick():
    """Consecutive numbers pick every legal action in turn."""
    mask = np.array([0, 1, 0, 1, 1], dtype=np.int8)
    assert [environments._pick(mask, number) for number in range(4)] == [1, 3, 4, 1]
