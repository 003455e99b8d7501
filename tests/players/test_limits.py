"""What players may read, and what other processes cannot read of the referee."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bfenv.players.limits import PlayerLimits, readable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, from which Python imports, with modules and other files."""
    for name in ("mine.py", "package/part.py", "package/weights.npz", "salt", "log.swf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "board" / "rows").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path.resolve()


def visible(folder, command=(sys.executable, "-c", ""), **limits):
    """The paths in a folder that a player may read."""
    reads = map(Path, readable(command, PlayerLimits(**limits)).reads)
    return {str(path.relative_to(folder)) for path in reads if path.is_relative_to(folder)}


def test_import_path(folder):
    """Modules and packages beside a module may be read, but no other files."""
    assert visible(folder) == {"mine.py", "package"}
    assert visible(folder, reads=("salt",)) == {"mine.py", "package", "salt"}
    assert str(folder) in readable((sys.executable, "-c", ""), PlayerLimits()).lists


def test_folder_of_a_program(folder):
    """The folder of a program may be read, but nothing in it that is hidden."""
    command = (sys.executable, str(folder / "mine.py"))
    assert "." in visible(folder, command)
    hidden = PlayerLimits().hiding(["board", None, "package/weights.npz"]).hidden
    expected = {"mine.py", "package/part.py", "salt", "log.swf"}
    assert visible(folder, command, hidden=hidden) == expected
    assert visible(folder, [*command, "board"], hidden=hidden) == expected
    (folder / "link").symlink_to("board")
    assert visible(folder, command, hidden=hidden, reads=("link/rows",)) == expected


def test_logs(folder, monkeypatch):
    """Logs that workloads are found in by name are hidden."""
    monkeypatch.setenv("BFENV_TRACES", str(folder))
    assert "log.swf" not in visible(folder, (sys.executable, str(folder / "mine.py")))


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_arguments():
    """A command line can be blanked, after which other processes read nothing of it."""
    program = (
        "import sys; from bfenv.players.limits import hide_arguments; hide_arguments(); "
        "print(sys.argv[1], flush=True); input()"
    )
    command = [sys.executable, "-c", program, "secret"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout.readline() == "secret\n"
        line = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        process.communicate("\n")
    assert line.strip(b"\0") == b"" and os.path.basename(sys.executable).encode() not in line
