"""The command line run in this process, and a log of three jobs."""

import sys

import pytest

from bfenv import cli

SWF = """; MaxProcs: 4
1 0 -1 4 2 -1 -1 2 4 -1 1 1 -1 -1 -1 -1 -1 -1
2 1 -1 4 4 -1 -1 4 4 -1 1 1 -1 -1 -1 -1 -1 -1
3 2 -1 2 2 -1 -1 2 2 -1 1 2 -1 -1 -1 -1 -1 -1
"""


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process: (status, stdout, stderr)."""

    def run(*arguments, columns=100):
        monkeypatch.setattr(sys, "argv", ["bfenv", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def swf(tmp_path):
    """A log of three jobs on four processors."""
    path = tmp_path / "three.swf"
    path.write_text(SWF)
    return path
