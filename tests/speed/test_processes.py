"""What is measured of new processes."""

import pytest

from bfenv.speed import processes

pytestmark = pytest.mark.slow


def test_start(monkeypatch):
    """The time of new processes is measured, and their memory."""
    monkeypatch.setattr(processes, "MEMORY", {"import bfenv": "import bfenv"})
    monkeypatch.setattr(
        processes, "PROGRAMS", {"import, first EASY": "", "import, first env.step": ""}
    )
    rows = list(processes.measure_start(1))
    assert [row["group"] for row in rows] == (
        ["new process, nothing compiled"] * 2 + ["new process"] * 2 + ["peak memory"]
    )
    assert 10 < rows[-1]["best"] < 10_000 and rows[-1]["unit"] == "MiB"
