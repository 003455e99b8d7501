"""Versions, hash and commit of the sources, and machine."""

import re
import shutil
from importlib.metadata import version

import numpy as np
import pytest

from bfenv.leaderboard.provenance import ATTEMPTS, commit, machine, sources_hash, versions
from tests.conftest import ROOT
from tests.core.own_package import run_python

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


def test_sources(tmp_path, monkeypatch):
    """The hash of the sources is that of the files alone, and another if a policy has changed."""
    for name in ("bfenv", "baselines", "agents"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    program = "from bfenv.leaderboard.provenance import sources_hash; print(sources_hash())"

    def hash_there():
        output = run_python(program, tmp_path, tmp_path / "cache").stdout
        return output.removesuffix("\n")

    assert hash_there() == sources_hash()
    easy = tmp_path / "baselines" / "easy.py"
    easy.write_text(easy.read_text() + "# changed\n")
    assert hash_there() != sources_hash()


@pytest.mark.parametrize(("killed", "expected"), [(0, COMMIT), (2, COMMIT), (ATTEMPTS, None)])
def test_git_killed(killed, expected, tmp_path, monkeypatch):
    """The commit is found although git is killed a few times."""
    git = tmp_path / "git"
    git.write_text(GIT.format(calls=tmp_path / "calls", killed=killed, commit=COMMIT))
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert commit.__wrapped__() == expected
