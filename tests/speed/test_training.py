"""What is measured of trainings, not how fast they are."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.torch]


def test_training():
    """Both learners are measured, with the threads that were asked for."""
    from bfenv.speed.training import measure_training

    rows = list(measure_training(2, "toy", threads=1))
    assert [row["subject"] for row in rows] == ["bfenv train", "sb3-contrib's MaskablePPO"]
    assert {row["what"] for row in rows} == {"preset toy, 1 thread"}
    assert all(row["unit"] == "steps/s" and row["best"] >= row["median"] > 0 for row in rows)
