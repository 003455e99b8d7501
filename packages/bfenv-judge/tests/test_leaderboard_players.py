"""Programs on a leaderboard: their rows, and that they change no other."""

import shlex
import sys
from pathlib import Path

import pytest

import bfenv
from bfenv.leaderboard import entrants
from bfenv.leaderboard.entrants import code_files
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.task import plan_rows
from bfenv_judge.players import referee
from bfenv_judge.players.player_process import PlayerKilledError
from judge_helpers.programs import FCFS, QUICK
from tests.leaderboard.suites import TINY, json_rows, row_files


@pytest.fixture
def command(tmp_path):
    """The command line of a program that serves jobs in order."""
    program = tmp_path / "in order.py"
    program.write_text(FCFS.replace("FIRST", "pass"))
    return shlex.join([sys.executable, "-S", str(program)])


def test_row(tmp_path, command):
    """The row of a program has the results of its schedule, its command and its hash."""
    run_suite(TINY, ["fcfs"], players=[command], out=tmp_path / "board", limits=QUICK)
    rows = {row["kind"]: row for row in json_rows(tmp_path / "board")}
    player, fcfs = rows["player"], rows["policy"]
    assert (player["policy"], player["error"], player["foresight"]) == (command, "", "none found")
    for field in ("metrics", "classes", "curves", "workload_hash", "division"):
        assert player[field] == fcfs[field]
    assert shlex.split(player["command"])[5:7] == ["--player", command]
    (task,) = plan_rows(TINY, [], [], players=[command])
    assert task.code and task.code == player["code"]
    (tmp_path / "in order.py").write_text("changed")
    (task,) = plan_rows(TINY, [], [], players=[command])
    assert task.code != player["code"] and task.trials is None


def test_interpreter(command):
    """An interpreter is part of a player's code only if it is given as a path."""
    python, *_, program = shlex.split(command)
    assert code_files("player", f"env python -S '{program}'") == [Path(program)]
    assert code_files("player", command) == [Path(python), Path(program)]


def test_killed_in_greeting(command, monkeypatch):
    """A player that was killed when it was greeted is greeted again, a few times."""
    flags, left = {"stochastic": True}, [2]

    def greet(process):
        left[0] -= 1
        if left[0] >= 0:
            raise PlayerKilledError("its process died (SIGKILL)")
        return flags

    monkeypatch.setattr(referee, "greet", greet)
    found = entrants.find_entrant("player", command)
    assert (found.trials, found.stochastic, left) == (False, True, [-1])
    left[0] = 10
    found = entrants.find_entrant("player", command)
    assert (found.trials, found.error) == (None, "its process died (SIGKILL)")


def test_no_greeting(tmp_path):
    """The rows of a player that has not greeted fail with its error, and do not start it again."""
    log = tmp_path / "log"
    command = shlex.join(["sh", "-c", f"echo x >> {log}; exit 5"])
    run_suite(TINY, players=[command], out=tmp_path / "board")
    (row,) = json_rows(tmp_path / "board")
    assert row["error"] == "its process died (exit status 5)" and row["division"] == "completion"
    assert log.read_text() == "x\n"


@pytest.mark.parametrize("name", ["./eаsy", "easy", "Agent:Formula"])
def test_imitations(name):
    """A program cannot take part under a name that looks like one of bfenv's own."""
    with pytest.raises(bfenv.BfenvError, match="printable ASCII|the name of bfenv's own"):
        plan_rows(TINY, [], [], players=[name])


def test_waiting(tmp_path, command):
    """What is waited for before any row is made is named."""
    texts = []
    run_suite(TINY, ["fcfs"], players=[command], out=tmp_path, limits=QUICK, waiting=texts.append)
    assert texts == ["preparing fcfs", f"preparing {command}", "preparing traces", "compiling fcfs"]


def test_changed_rows(tmp_path, command):
    """Rows that others change while players run are written again, and named."""
    board = tmp_path / "board"

    def tamper(row, cost):
        if row.kind == "policy":
            before.update(row_files(board))
            file = board / "rows" / f"{row.key}.json"
            file.write_bytes(file.read_bytes().replace(b'"ok"', b'"failed"'))

    before = {}
    with pytest.raises(bfenv.BfenvError, match="rows were changed during the run.*: fcfs"):
        run_suite(TINY, ["fcfs"], players=[command], out=board, done=tamper, limits=QUICK)
    assert before.items() <= row_files(board).items()
    assert len(row_files(board)) == 2
