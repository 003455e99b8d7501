"""Agents on whole traces: found by name, and judged by what they start."""

import json
import zipfile

import numpy as np
import pytest

import bfenv
from bfenv.envs.backfill import BackfillEnv
from bfenv.leaderboard.agents import agent_schedule, code_hash, find_agent, is_random, read_agent
from bfenv.leaderboard.run import plan, run
from tests.leaderboard import players
from tests.leaderboard.test_run import PLAYERS, TINY, rows

TRACE = bfenv.load_workload("lublin:procs=32,jobs=150,load=0.9,seed=3")


def test_a_policy_as_an_agent_makes_the_schedule_of_the_policy():
    schedule, seconds = agent_schedule(TRACE, f"{PLAYERS}:easy:window=150", 0)
    expected = bfenv.simulate(TRACE, "easy")
    assert np.array_equal(schedule.check().start, expected.start)
    assert np.array_equal(schedule.end, expected.end)
    assert len(seconds) >= len(TRACE) and seconds.min() > 0


def test_an_agent_sees_a_window_and_is_given_masks_if_it_takes_them():
    schedule, _ = agent_schedule(TRACE, f"{PLAYERS}:first:window=1", 0)
    assert np.array_equal(schedule.start, bfenv.simulate(TRACE, "fcfs").start)
    guarded = f"{PLAYERS}:first:window=150,reservation_depth=1"
    schedule, _ = agent_schedule(TRACE, guarded, 0)
    assert np.array_equal(schedule.start, bfenv.simulate(TRACE, "easy").start)


def test_the_state_of_an_agent_is_handed_back_and_its_seed_given(monkeypatch):
    made = []

    def factory(env, seed):
        made.append(players.Counting(env, seed))
        return made[0]

    monkeypatch.setattr(players, "counting", factory, raising=False)
    _, seconds = agent_schedule(TRACE, f"{PLAYERS}:counting", 5)
    assert made[0].count == len(seconds) - 1
    assert made[0].seed == 5


def test_the_floor_is_found_by_its_name_and_draws_from_its_seed():
    one, _ = agent_schedule(TRACE, "random:window=16", 1)
    again, _ = agent_schedule(TRACE, "random:window=16", 1)
    other, _ = agent_schedule(TRACE, "random:window=16", 2)
    assert np.array_equal(one.start, again.start)
    assert not np.array_equal(one.start, other.start)
    assert is_random("random") and not is_random(f"{PLAYERS}:first")


def test_an_illegal_action_ends_it():
    with pytest.raises(bfenv.PolicyError, match=r"illegal action at \d+ s: slot 7"):
        agent_schedule(TRACE, f"{PLAYERS}:illegal:window=64", 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("randm", "unknown agent 'randm'; did you mean random"),
        ("random:windw=3", "no option 'windw'"),
        ("random:window=x", "window is a whole number, not 'x'"),
        ("no.such.module:agent", "No module named 'no'"),
        (f"{PLAYERS}:nobody", "has no attribute 'nobody'"),
        ("model.zip", "no such saved model: model.zip"),
        ("", "this one is empty"),
        ("tests.leaderboard.broken:agent", "RuntimeError: this module cannot be imported"),
    ],
)
def test_a_name_that_is_none_is_refused(name, message):
    with pytest.raises(bfenv.BfenvError, match=message):
        find_agent(name)
    with pytest.raises(bfenv.BfenvError, match=message):
        plan(TINY, [], [name])


def test_options_of_the_environment_follow_the_name():
    what, options = read_agent("a.b:c:window=3,reservation_depth=-1,every_pass=1")
    assert what == "a.b:c"
    assert options == {"window": 3, "reservation_depth": -1, "every_pass": 1}


@pytest.mark.parametrize("algorithm", ["sb3_contrib:MaskablePPO", "stable_baselines3:PPO"])
def test_a_saved_model_is_opened_only_where_it_is_trusted(tmp_path, algorithm):
    package, _, kind = algorithm.partition(":")
    package = pytest.importorskip(package)
    env = BackfillEnv(TRACE, window=4, episode_jobs=10, warmup_jobs=10)
    path = tmp_path / "model.zip"

    def train(seed):
        options = {"n_steps": 16, "batch_size": 16, "seed": seed, "device": "cpu"}
        getattr(package, kind)("MultiInputPolicy", env, **options).save(path)

    train(0)
    name, board = str(path), tmp_path / "board"
    with pytest.raises(bfenv.BfenvError, match="--trust"):
        run(TINY, ["easy"], [name], out=board)
    assert not board.exists()
    run(TINY, ["easy"], [name], out=board, trust=True)
    row = next(row for row in rows(board) if row["kind"] == "agent")
    assert row["code"] == code_hash("agent", name) and "torch" in row["versions"]
    if kind == "MaskablePPO":
        assert row["status"] == "ok", row["error"]
    else:  # it knows no masks, so that it may well do what is illegal
        assert row["status"] == "ok" or row["error"].startswith("illegal action")
    assert len(run(TINY, [], [name], out=board, trust=True).there) == 1
    train(1)  # another model of that name
    assert len(run(TINY, [], [name], out=board, trust=True).made) == 1
    assert len(rows(board)) == 2


def test_a_file_that_is_no_model_costs_its_row(tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(b"no archive")
    (row,) = run(TINY, [], [str(path)], out=tmp_path / "board", trust=True).made
    assert row["error"] == f"{path}: no saved model of stable-baselines3"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", json.dumps({"policy_class": {"__module__": "my.own"}}))
    (row,) = run(TINY, [], [str(path)], out=tmp_path / "board", trust=True).made
    assert "which this does not know how to open" in row["error"]
