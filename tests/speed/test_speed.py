"""What is measured of the speed of bfenv; not how fast it is."""

import numpy as np

from bfenv.speed import engine as speed
from bfenv.speed import environments as speed_env
from bfenv.speed import search as scorer_speed
from bfenv.speed.measurements import read_record, write_record

LINE = "{} 0 -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n"
KEYS = {"group", "what", "subject", "jobs", "best", "median", "unit"}


def one_log(name, tmp_path, monkeypatch):
    """Only one log is at hand, of seven jobs."""
    log = "; MaxProcs: 4\n" + "".join(LINE.format(i) for i in range(7))
    (tmp_path / f"{name}.swf").write_text(log)
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path / "cache"))


def test_the_least_of_times_and_the_largest_of_rates_is_best():
    times = speed.row("traces", "a", "easy", 3, [3.0, 1.0, 2.0])
    assert (times["best"], times["median"]) == (1.0, 2.0)
    rates = speed.row("env", "a", "easy", 3, [3.0, 1.0, 2.0], "steps/s")
    assert (rates["best"], rates["median"]) == (3.0, 2.0)
    assert set(times) == KEYS


def test_reading_is_timed_for_the_logs_at_hand_only(tmp_path, monkeypatch):
    one_log(speed.LOGS[1], tmp_path, monkeypatch)
    (row,) = speed.reading(3)
    assert (row["group"], row["what"], row["jobs"]) == ("reading", speed.LOGS[1], 7)
    assert 0 < row["best"] <= row["median"]


def test_the_engine_is_timed_on_the_log_at_hand_and_on_generated_jobs(tmp_path, monkeypatch):
    one_log(speed.LOGS[0], tmp_path, monkeypatch)
    rows = list(speed.engine(1))
    traces = [(row["what"], row["subject"], row["jobs"]) for row in rows[1:]]
    assert traces[:4] == [(speed.LOGS[0], policy, 7) for policy in speed.ENGINE]
    assert traces[4:8] == [("lublin, 10,000 jobs", policy, 10_000) for policy in speed.ENGINE]
    assert [jobs for _, _, jobs in traces[8:]] == [100_000] * 4
    write_record(tmp_path / "engine.json", rows)  # no two of one name
    assert read_record(tmp_path / "engine.json")["rows"] == rows


def test_jobs_double_up_to_the_largest_and_queues_and_machines_grow():
    rows = list(speed.scaling(1, 40_000))
    assert [row["jobs"] for row in rows if row["group"] == "jobs"] == [10_000, 20_000, 40_000]
    for policy in speed.ENGINE:
        queue = [row for row in rows if (row["group"], row["subject"]) == ("queue", policy)]
        waiting = [float(row["what"].split()[0].replace(",", "")) for row in queue]
        assert waiting == sorted(waiting) and len(set(waiting)) == 4
        machine = [row for row in rows if (row["group"], row["subject"]) == ("machine", policy)]
        assert [row["what"].split()[-2] for row in machine] == ["64", "256", "1,024", "4,096"]


def test_every_kind_of_environment_is_measured(monkeypatch):
    monkeypatch.setattr(speed_env, "CALLS", 640)
    rows = list(speed_env.environment(2))
    assert [row["group"] for row in rows] == (
        ["gymnasium.make"] * 2 + ["gymnasium.make_vec"] * 5 + ["BackfillVecEnv"]
    )
    assert all(row["unit"] == "steps/s" and row["best"] >= row["median"] > 0 for row in rows)


def test_the_pick_is_each_legal_action_by_turns():
    mask = np.array([0, 1, 0, 1, 1], dtype=np.int8)
    assert [speed_env._pick(mask, draw) for draw in range(4)] == [1, 3, 4, 1]


def test_new_processes_are_timed_and_their_memory_told(monkeypatch):
    monkeypatch.setattr(speed, "MEMORY", {"import bfenv": "import bfenv"})
    monkeypatch.setattr(speed, "PROGRAMS", {"import, first EASY": "", "import, first env.step": ""})
    rows = list(speed.start(1))
    assert [row["group"] for row in rows] == (
        ["new process, nothing compiled"] * 2 + ["new process"] * 2 + ["peak memory"]
    )
    assert 10 < rows[-1]["best"] < 10_000 and rows[-1]["unit"] == "MiB"


def test_scorers_are_timed_beside_a_sorted_queue(tmp_path, monkeypatch):
    one_log(speed.LOGS[0], tmp_path, monkeypatch)
    rows = [row for row in scorer_speed.policy_search(1) if row["what"] == speed.LOGS[0]]
    assert {"easy(order=sjf)", "scorer, all features"} <= {row["subject"] for row in rows}
    assert all(set(row) == KEYS for row in rows)
