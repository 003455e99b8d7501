"""`bfenv leaderboard run`: what it prints, its exit status, and agents of your own."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import bfenv
from bfenv.leaderboard import read_leaderboard


@pytest.mark.together
def test_failed_rows(run, tmp_path):
    """The command prints new, existing and failed rows; the status is 1 if any failed."""
    agent = "tests.leaderboard.sample_agents:raising:window=4"
    command = ["leaderboard", "run", "-s", "smoke-v1", "-p", "easy", "-a", agent, "-j", 1, "-o"]
    status, out, err = run(*command, tmp_path / "board", "--timeout", "10min")
    assert status == 1
    assert "Time by policy" in out and "Time by workload" in out
    assert out.endswith("board: 8 rows made, 0 there already\n")
    assert re.search(
        r"failed: \S+ on lublin-\S+, seed 0 and 3 other runs: RuntimeError: it cannot decide\?\[2J "
        r"\(sample_agents.py, line \d+\)\n$",
        err,
    )
    status, out, err = run(*command, tmp_path / "board")
    assert (status, err.count("failed: ")) == (1, 1)
    assert out.endswith("board: 0 rows made, 8 there already\n")


def test_rows_of_others(run, tmp_path):
    """A run says once that it keeps rows of other sources, and says nothing of its own."""
    command = ["leaderboard", "run", "-s", "smoke-v1", "-p", "easy", "-j", 1, "-o", tmp_path]
    assert run(*command)[2] == "" == run(*command)[2]
    for path in sorted((tmp_path / "rows").iterdir())[:3]:
        row = json.loads(path.read_text())
        row["versions"]["sources"] = "0" * 16
        path.write_text(json.dumps(row))
    status, out, err = run(*command)
    assert (status, out) == (0, f"{tmp_path}: 0 rows made, 4 there already\n")
    assert err == "kept: 3 rows of other sources or versions; another folder makes them again\n"


def test_references_with_requested_starts(run, tmp_path):
    """EASY, which cannot plan for requested start times, is no reference where jobs have some."""
    log, board = "lublin:jobs=60,requested_start_share=0.3", tmp_path / "board"
    words = ("leaderboard", "run", "--workload", log, "--agent", "random", "--seeds", "1")
    assert run(*words, "--out", board)[0] == 0
    assert {row.policy for row in read_leaderboard(board).rows} == {"conservative", "random"}


@pytest.mark.parametrize(
    ("agents", "added"),
    [
        (["random:window=4"], []),
        (["module:object:window=4", "missing.zip"], ["random:window=4"]),
        (["random:window=4", "module:object"], ["random"]),
        (["easy"], ["random"]),
    ],
)
def test_random_agents(run, tmp_path, monkeypatch, agents, added):
    """Random actions run beside the agents with as many slots, unless they are among them."""

    def stop(suite, policies, names, **options):
        raise bfenv.BfenvError(" ".join(names))

    monkeypatch.setattr("bfenv.leaderboard.run.run_suite", stop)
    given = [word for agent in agents for word in ("--agent", agent)]
    _, _, err = run("leaderboard", "run", *given, "--out", tmp_path / "board")
    assert err == f"bfenv: {' '.join(agents + added)}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", ""), "name a folder for the results, other than the current one"),
        (
            ("--out", "board", "--player", "easy"),
            "easy is given as a player, but is the name of bfenv's own",
        ),
    ],
)
def test_refused(run, tmp_path, monkeypatch, words, message):
    """A missing folder, and a player with the name of a policy of bfenv, are named."""
    monkeypatch.chdir(tmp_path)
    status, _, err = run("leaderboard", "run", "--policy", "fcfs", *words)
    assert status == 2 and message in err and not any(tmp_path.iterdir())


@pytest.mark.together
def test_own_agent(tmp_path):
    """An agent is found in the current folder, and scored beside references."""
    (tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    stochastic = False\n"
        "    def predict(self, observation, action_masks, **others):\n"
        "        return action_masks.argmax(), None\n"
        "mine = Mine()\n"
    )
    command = "leaderboard run -s smoke-v1 -a mine:mine -j 2 -o board".split()
    program = [Path(sys.executable).parent / "bfenv", *command]
    run = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, "failed" in run.stderr) == (0, False), run.stderr
    rows = Counter(row.policy for row in read_leaderboard(tmp_path / "board").rows)
    references = ("easy", "random", "conservative", "easy-random", "los", "easy-saf-aged")
    assert rows == {"mine:mine": 4} | dict.fromkeys(references, 4)
