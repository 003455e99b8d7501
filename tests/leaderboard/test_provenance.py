"""Versions, commit and machine."""

import re
from importlib.metadata import version

import numpy as np
import pytest

from bfenv.leaderboard.provenance import ATTEMPTS, commit, machine, versions

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GIT = """#!/bin/sh
echo call >> "{calls}"
test $(wc -l < "{calls}") -gt {killed} || kill -KILL $$
echo {commit}
"""


def test_provenance():
    """Each is what the packages, git and the system say."""
    assert versions()["numpy"] == np.__version__
    assert versions()["bfenv"] == version("bfenv")
    assert commit() is None or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", commit())
    assert re.fullmatch(r".+, \d+ cores", machine())


@pytest.mark.parametrize(("killed", "expected"), [(0, COMMIT), (2, COMMIT), (ATTEMPTS, None)])
def test_git_killed(killed, expected, tmp_path, monkeypatch):
    """The commit is found although git is killed a few times."""
    git = tmp_path / "git"
    git.write_text(GIT.format(calls=tmp_path / "calls", killed=killed, commit=COMMIT))
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert commit.__wrapped__() == expected
