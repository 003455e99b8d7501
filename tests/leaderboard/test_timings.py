"""Where the time of a run went."""

import json

from bfenv.leaderboard.store import TimeSpent, time_spent


def test_time_spent(tmp_path):
    """Times are summed by policy and by workload, longest first; damaged files are left out."""
    (tmp_path / "timings").mkdir()
    for i, (policy, workload, seconds) in enumerate(
        [("easy", "a", 1.0), ("easy", "b", 2.0), ("sjf", "a", 4.0), ("sjf", "b", 0.5)]
    ):
        timing = {"policy": policy, "workload": workload, "row_seconds": seconds}
        (tmp_path / "timings" / f"{i}.json").write_text(json.dumps(timing))
    for i, text in enumerate(["", "{}", "[]", '{"row_seconds": "x"}']):
        (tmp_path / "timings" / f"bad{i}.json").write_text(text)
    (tmp_path / "timings" / "folder.json").mkdir()
    assert time_spent(tmp_path) == {
        "policy": [TimeSpent("sjf", 2, 4.5), TimeSpent("easy", 2, 3.0)],
        "workload": [TimeSpent("a", 2, 5.0), TimeSpent("b", 2, 2.5)],
    }


def test_empty_folder(tmp_path):
    """A folder without timings has none."""
    assert time_spent(tmp_path) == {"policy": [], "workload": []}
