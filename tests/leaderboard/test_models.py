"""Saved models on the leaderboard."""

import json

import pytest

import bfenv
from bfenv.agents import save_model
from bfenv.envs.backfill import BackfillEnv
from bfenv.evaluation import evaluate_agent
from bfenv.leaderboard.entrants import code_hash
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.suite import Entry, Suite
from bfenv.leaderboard.task import plan_rows
from tests.leaderboard.suites import SAMPLES, TINY, frozen, json_rows

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")
pytestmark = [pytest.mark.together, pytest.mark.torch]

TRACE = bfenv.load_workload("lublin:procs=32,jobs=150,load=0.9,seed=3")
WHOLE_TRACE = {"episode_jobs": None, "warmup_jobs": 0, "split": "all"}
ALGORITHMS = {"masked": contrib.MaskablePPO, "unmasked": sb3.PPO}


def train(path, kind="masked", seed=0, trace=TRACE, window=4, **settings):
    env = BackfillEnv(trace, window=window, episode_jobs=10, warmup_jobs=10, **settings)
    steps = {"n_steps": 16, "batch_size": 16}
    model = ALGORITHMS[kind]("MultiInputPolicy", env, seed=seed, device="cpu", **steps)
    save_model(model, path)
    return str(path)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("masked", ""),
        pytest.param("unmasked", ":deterministic=false", marks=pytest.mark.thorough),
    ],
)
def test_run(tmp_path, kind, option):
    """A model runs only where it is trusted; its row is what `evaluate_agent` finds, bit by bit.

    A row is made once; another model of that name has another row.
    """
    path = train(tmp_path / "model.zip", kind, window=2, reservations=0, idle="allowed")
    name, store = path + option, tmp_path / "store"
    with pytest.raises(bfenv.BfenvError, match="--trust"):
        run_suite(TINY, ["easy"], [name], out=store)
    assert not store.exists()
    suite = TINY._replace(seeds=2)
    rows = run_suite(suite, ["easy"], [name], out=store, trust=True).new_rows
    agent = [row for row in rows if row.kind == "agent"]
    assert len(agent) == (2 if option else 1)
    (trace,) = TINY.entries[0].traces
    for row in agent:
        assert row.status == "ok", row.error
        assert row.code == code_hash("agent", name) and "torch" in row.versions
        scored, *others = evaluate_agent(
            name,
            trace.source,
            seed=row.seed,
            deterministic=not option,
            trust=True,
            **WHOLE_TRACE,
        )
        metrics = row.metrics
        shared = ("mean_bounded_slowdown", "mean_wait", "max_wait", "p95_wait", "replaced_actions")
        for name_of in (*shared, "outside_window"):
            assert scored.metrics[name_of] == metrics[name_of]
        assert (metrics["replaced_actions"] > 0) == (kind == "unmasked")
        assert 0 < metrics["outside_window"] <= 1
        easy = next(one for one in others if one.policy == "easy")
        (expected,) = (one for one in rows if one.policy == "easy")
        slowdowns = [one.metrics["mean_bounded_slowdown"] for one in (easy, expected)]
        assert slowdowns[0] == slowdowns[1]
    if kind == "masked":
        again = run_suite(suite, ["easy"], [name], out=store, trust=True)
        assert (again.new_rows, len(again.existing_rows)) == ([], 2)
        train(tmp_path / "model.zip", kind, seed=1)
        (other,) = run_suite(suite, ["easy"], [name], out=store, trust=True).new_rows
        assert other.policy == name and other.code != agent[0].code
        assert len(json_rows(store)) == 2


def test_settings_of_the_training(tmp_path):
    """The environment is that of the training; a name that says otherwise fails its row."""
    path = train(tmp_path / "model.zip", window_order="saf")
    names = [f"{path}:window=4,reservations=chosen", f"{path}:reservations=1"]
    rows = run_suite(TINY, [], names, out=tmp_path / "store", trust=True).new_rows
    found = {row.policy: row for row in rows}
    assert found[names[0]].error == ""
    assert "needs reservations='chosen', got 1" in found[names[1]].error
    scored, *_ = evaluate_agent(path, TINY.entries[0].traces[0].source, trust=True, **WHOLE_TRACE)
    assert scored.metrics["mean_wait"] == found[names[0]].metrics["mean_wait"]


def test_no_card(tmp_path):
    """A model without its card costs its own row, which says what is missing."""
    path = train(tmp_path / "model.zip")
    (tmp_path / "model.card.json").unlink()
    (row,) = run_suite(TINY, [], [path], out=tmp_path / "store", trust=True).new_rows
    assert not row.ok and "no card model.card.json" in row.error


WHOLE = "lublin:procs=32,jobs=1000,seed=9"
WINDOWS = Suite(
    "windows-v1",
    "two windows of one trace",
    (
        Entry(
            "one",
            tuple(
                frozen(f"{WHOLE},estimates=exact,job_count=60,first_job={job}")
                for job in (100, 800)
            ),
            None,
        ),
    ),
    seeds=2,
    unseen=False,
)


def test_windows(tmp_path):
    """Where jobs may be seen in training, each window is compared with the jobs trained on."""
    path = train(tmp_path / "model.zip", trace=bfenv.load_workload(WHOLE))
    span = json.loads((tmp_path / "model.card.json").read_text())["trained_on"][0]
    assert (span["first"], span["last"] < 800) == (0, True)
    rows = run_suite(WINDOWS, [], [path, "random"], out=tmp_path / "store", trust=True).new_rows
    found = {(row.policy, row.seed): row for row in rows}
    assert found[path, 1].ok and found["random", 0].ok and found["random", 1].ok
    assert "was trained on" in found[path, 0].error and "of the 60 jobs" in found[path, 0].error
    with pytest.raises(bfenv.BfenvError, match="trained_on"):
        plan_rows(WINDOWS, [], [f"{SAMPLES}:first"])


def test_seen_jobs(tmp_path):
    """On any suite, a model that was trained on the jobs has no result."""
    source = TINY.entries[0].traces[0].source
    path = train(tmp_path / "model.zip", trace=bfenv.load_workload(source), split="all")
    (row,) = run_suite(TINY, [], [path], out=tmp_path / "store", trust=True).new_rows
    assert not row.ok and "was trained on" in row.error
