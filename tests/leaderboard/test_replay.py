"""The schedule behind a row, read from disk or simulated again."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import bfenv
from bfenv.core.errors import BfenvError, WorkloadError
from bfenv.leaderboard.replay import schedule_arrays, schedule_of, trace_of
from bfenv.leaderboard.store import read_leaderboard, schedule_file


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
