"""What is measured, not how fast it is."""

import math
from itertools import combinations

import numpy as np
import pytest

import bfenv
from benchmarks import engine, environments, imports, processes
from benchmarks.engine import ENGINE, LOGS
from benchmarks.episodes import FEW, episodes_to_tell, score_episodes
from benchmarks.search import measure_search
from bfenv.evaluation.agent_scores import BEST_ORDER

pytestmark = pytest.mark.compiled

LINE = "{} 0 -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n"


@pytest.fixture
def log(tmp_path, monkeypatch):
    """The name of a log of seven jobs, the only one that is available."""
    text = "; MaxProcs: 4\n" + "".join(LINE.format(i) for i in range(7))
    (tmp_path / f"{LOGS[1]}.swf").write_text(text)
    monkeypatch.setenv("BFENV_TRACES", str(tmp_path))
    return LOGS[1]


@pytest.mark.together
def test_engine_and_search(log, monkeypatch):
    """The engine is measured on available logs and generated jobs; orders with scorers beside."""
    monkeypatch.setattr(engine, "GENERATED", (50, 1_000))
    reading, *rows = engine.measure_engine(1)
    assert (reading["group"], reading["what"], reading["jobs"]) == ("reading", log, 7)
    assert 0 < reading["best"] <= reading["median"]
    jobs = {log: 7, "lublin, 50 jobs": 50, "lublin, 1,000 jobs": 1_000}
    found = [(row["what"], row["subject"], row["jobs"]) for row in rows]
    assert found == [(name, policy, n) for name, n in jobs.items() for policy in ENGINE]
    subjects = {row["subject"] for row in measure_search(1) if row["what"] == log}
    assert {"easy(order=wfp3)", "linear scorer"} <= subjects


def test_scaling(monkeypatch):
    """Jobs double up to the largest number; queues and machines grow."""
    monkeypatch.setattr(engine, "AT_ONCE", (50, 100))
    monkeypatch.setattr(engine, "BURSTS", (400, 1_600))
    monkeypatch.setattr(engine, "PLANNING", ("easy", "conservative"))
    found = {}
    for row in engine.measure_scaling(1, 20_000):
        found.setdefault((row["group"], row["subject"]), []).append((row["what"], row["jobs"]))
    assert [jobs for _, jobs in found["jobs", "easy"]] == [10_000, 20_000]
    for policy in ENGINE:
        waiting = [float(what.split()[0].replace(",", "")) for what, _ in found["queue", policy]]
        assert waiting == sorted(waiting) and len(set(waiting)) == 4
        sizes = [what.split()[-2] for what, _ in found["machine", policy]]
        assert sizes == ["64", "256", "1,024", "4,096"]
    for policy in ("easy", "conservative"):
        assert [jobs for _, jobs in found["at once", policy]] == [50, 100]
        first, last = (int(what.split()[1]) for what, _ in found["standing queue", policy])
        assert first < last


def test_long_runs(monkeypatch):
    """A policy that takes long is run once, and not with longer queues."""
    runs = []
    monkeypatch.setattr(engine, "simulate", lambda trace, policy: runs.append((policy, len(trace))))
    monkeypatch.setattr(engine, "LONG", 0.0)
    monkeypatch.setattr(engine, "PLANNING", ("easy", "los"))
    queues = [(f"{jobs} jobs", bfenv.load_workload("lublin", jobs=jobs)) for jobs in (20, 40)]
    rows = list(engine.measure_queues("at once", queues, 3))
    assert [(row["subject"], row["jobs"]) for row in rows] == [("easy", 20), ("los", 20)]
    assert runs == [("easy", 10), ("easy", 20), ("los", 10), ("los", 20)]


def test_standing_queue():
    """About as many jobs wait as the name says, from the first submission to the last."""
    name, trace = engine.standing_queue(1_000)
    expected, schedule = int(name.split()[1]), bfenv.simulate(trace, "easy")
    lengths = [
        ((trace.jobs.submit <= time) & (schedule.start > time)).sum()
        for time in np.linspace(0, trace.jobs.submit[-1], 9)
    ]
    assert 200 < expected < 1_000
    assert expected / 2 < min(lengths) and max(lengths) < 2 * expected


@pytest.mark.torch
def test_environments_and_training(monkeypatch):
    """Every kind of environment is measured, and updates with the threads that were asked for."""
    from benchmarks.training import measure_training

    monkeypatch.setattr(environments, "CALLS", 640)
    monkeypatch.setattr(environments, "COUNTS", (1, 2, 4, 64))
    rows = list(environments.measure_environments(2))
    assert [row["group"] for row in rows] == (
        ["gymnasium.make"] * 2 + ["gymnasium.make_vec"] * 7 + ["BackfillVecEnv"]
    )
    mask = np.array([0, 1, 0, 1, 1], dtype=np.int8)  # consecutive numbers pick all in turn
    assert [environments._pick(mask, number) for number in range(4)] == [1, 3, 4, 1]
    rows += measure_training(2, "scorer", steps=64)
    assert rows[-1]["what"] == "scorer, 1 thread"
    assert all(row["unit"] == "steps/s" and row["best"] >= row["median"] > 0 for row in rows)


def test_start(monkeypatch):
    """The time of new processes is measured, and their memory."""
    monkeypatch.setattr(processes, "MEMORY", {"nothing": "pass"})
    monkeypatch.setattr(processes, "PROGRAMS", {"nothing": ""})
    monkeypatch.setattr(processes, "UNCOMPILED", ("nothing",))
    rows = list(processes.measure_start(1))
    groups = ["new process, nothing compiled", "new process", "peak memory"]
    assert [row["group"] for row in rows] == groups
    assert 1 < rows[-1]["best"] < 10_000 and rows[-1]["unit"] == "MiB"


def test_learning_pays():
    """Ten default episodes tell random actions, EASY and the best order apart.

    The best order has at most a third of what random actions have, and less if it knows the
    runtimes. What starves jobs, such as random actions and the smallest area first, has more than
    EASY.
    """
    logs = {outcome.name: np.log(outcome.measure) for outcome in score_episodes(100)}
    assert (logs[BEST_ORDER] - logs["random"]).mean() < math.log(1 / 3)
    assert logs[f"{BEST_ORDER}, runtimes known"].mean() < logs[BEST_ORDER].mean() - 0.1
    assert min(logs["random"].mean(), logs["easy-saf"].mean()) > logs["easy"].mean()
    pairs = [*combinations(("random", "easy", BEST_ORDER), 2), ("easy-saf", BEST_ORDER)]
    for first, second in pairs:
        assert episodes_to_tell(logs[first] - logs[second]) < FEW


@pytest.mark.together
@pytest.mark.thorough
def test_memory_of_import(tmp_path):
    """Rows are read in groups, and little is kept of each: 24 million take less than 17 GB."""
    pytest.importorskip("pyarrow")
    few, many = (imports.import_table(tmp_path, rows)[1] for rows in (100_000, 300_000))
    assert (many - few) * 2**20 / 200_000 < 700
