"""Programs on a leaderboard: their rows, and that they change no other."""

import shlex
import sys
from pathlib import Path

import pytest

import bfenv
from bfenv.leaderboard import competitors
from bfenv.leaderboard.agents import code_files
from bfenv.leaderboard.make_row import make_row
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.task import plan_rows
from bfenv.players import PlayerKilledError
from tests.leaderboard.suites import TINY, json_rows, row_files
from tests.players.programs import FCFS, QUICK, has_landlock


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


@pytest.mark.skipif(not has_landlock(), reason="this kernel keeps no player from reading files")
def test_board_beside_the_program(tmp_path):
    """A program cannot read the board, which has the seeds, though it may read the folder."""
    program, board = tmp_path / "curious.py", tmp_path / "board"
    first = f"open({str(program)!r}); open({str(board / 'suite.json')!r})"
    program.write_text(FCFS.replace("FIRST", first))
    run_suite(TINY, players=[shlex.join([sys.executable, "-S", str(program)])], out=board)
    (row,) = json_rows(board)
    assert "PermissionError" in row["error"] and "suite.json" in row["error"]


def test_interpreter(command):
    """An interpreter is part of a player's code only if it is given as a path."""
    python, *_, program = shlex.split(command)
    assert code_files("player", f"env python -S '{program}'") == [Path(program)]
    assert code_files("player", command) == [Path(python), Path(program)]


def test_killed_in_greeting(command, monkeypatch):
    """A player that was killed when it was greeted is greeted again, but not for ever."""
    flags, left = {"stochastic": True}, [2]

    def greet(process):
        left[0] -= 1
        if left[0] >= 0:
            raise PlayerKilledError("its process died (SIGKILL)")
        return flags

    monkeypatch.setattr(competitors, "greet", greet)
    found = competitors.find_competitor("player", command)
    assert (found.trials, found.stochastic, left) == (False, True, [-1])
    left[0] = 10
    assert competitors.find_competitor("player", command).trials is None


def test_unknown_declaration(command):
    """A row fails if the player runs, but could not say before how it is to be ranked."""
    (task,) = plan_rows(TINY, [], [], players=[command])
    row = make_row(task._replace(trials=None), 60.0, False, QUICK).row
    assert (row.status, row.division) == ("failed", None)
    assert "failed at its first start only" in row.error


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
