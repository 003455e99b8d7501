"""The schedule behind a row, read from disk or simulated again."""

import re
import shutil
import sys
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pytest

import bfenv
from bfenv.core.errors import BfenvError, WorkloadError
from bfenv.core.versions import sources_hash, versions
from bfenv.leaderboard.provenance import ATTEMPTS, commit, machine
from bfenv.leaderboard.replay import schedule_arrays, schedule_of, trace_of
from bfenv.leaderboard.store import read_leaderboard, schedule_file
from tests.conftest import ROOT
from tests.core.own_package import run_python


@pytest.fixture(scope="module")
def leaderboard(store):
    return read_leaderboard(store)


@pytest.fixture
def row(leaderboard):
    return next(row for row in leaderboard.rows if row.policy == "sjf")


@pytest.fixture
def elsewhere(leaderboard, tmp_path):
    """The leaderboard without its schedules."""
    (tmp_path / "schedules").mkdir()
    return leaderboard._replace(folder=tmp_path)


def test_read_and_simulated(leaderboard, elsewhere, row):
    """A schedule that was kept is the one that is simulated again."""
    kept, again = schedule_of(leaderboard, row), schedule_of(elsewhere, row)
    assert np.array_equal(kept.start, again.start) and np.array_equal(kept.end, again.end)
    assert (kept.policy, kept.seed) == (again.policy, again.seed) == (row.policy, row.seed)


def test_trials(elsewhere, row):
    """Killed trials are kept and read with the schedule."""
    row = replace(row, policy="easy-speculative")
    expected = bfenv.simulate(trace_of(row), row.policy)
    assert (expected.trial_end >= 0).any()
    arrays = schedule_arrays(expected)
    np.savez(schedule_file(elsewhere.folder, row.key), **arrays)
    schedule = schedule_of(elsewhere, row)
    for name in ("start", "end", "trial_start", "trial_end"):
        assert np.array_equal(getattr(schedule, name), getattr(expected, name))
    assert set(schedule_arrays(bfenv.simulate(trace_of(row), "easy"))) == {"start", "end"}


def test_bad_schedule(leaderboard, elsewhere, row):
    """A file on disk must be a possible schedule of the row's workload."""
    whole = schedule_of(leaderboard, row)
    path = schedule_file(elsewhere.folder, row.key)
    path.write_bytes(b"no archive")
    with pytest.raises(BfenvError, match="cannot be read"):
        schedule_of(elsewhere, row)
    np.savez(path, start=whole.start[1:], end=whole.end[1:])
    with pytest.raises(BfenvError, match="not the schedule of 600 jobs"):
        schedule_of(elsewhere, row)
    np.savez(path, start=np.array([{}], dtype=object), end=whole.end)
    with pytest.raises(BfenvError, match="cannot be read"):
        schedule_of(elsewhere, row)
    np.savez(path, start=whole.start * 0, end=whole.trace.runtime)
    with pytest.raises(BfenvError, match="starts before"):
        schedule_of(elsewhere, row)


@pytest.mark.parametrize(
    "change",
    [{"workload_hash": "sha256:0"}, {"source": "lublin:jobs=10"}, {"source": "nowhere/log.swf"}],
)
def test_other_workload(row, change):
    """A workload that is missing or has other content is refused."""
    with pytest.raises(WorkloadError):
        trace_of(replace(row, **change))


@pytest.mark.parametrize(
    "change", [{"policy": "evil:policy"}, {"policy": "evil:policy(x=1)"}, {"kind": "agent"}]
)
def test_no_module_is_imported(elsewhere, row, change, tmp_path, monkeypatch):
    """A module that a row names is never imported, and an agent is not run again."""
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BfenvError, match="was not kept"):
        schedule_of(elsewhere, replace(row, **change))
    assert "evil" not in sys.modules


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
    program = "from bfenv.core.versions import sources_hash; print(sources_hash())"

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
