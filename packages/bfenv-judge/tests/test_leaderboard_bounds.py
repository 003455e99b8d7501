"""The bounds of a leaderboard's workloads: kept, checked, and shown beside the policies."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import bfenv_judge.leaderboard_bounds as b
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.store import read_leaderboard
from bfenv.leaderboard.suite import SUITES, find_suite, load_frozen
from bfenv_judge.bounds.gap import check_gap, load_gap, read_numbers, save_gap
from bfenv_judge.gap_left import gap_left, gap_lines
from tests.leaderboard.stores import make_store

POLICIES = ("easy", "easy-saf", "fcfs", "multiqueue")
WORKLOADS = {"small": "lublin:procs=16,jobs=120,load=0.9"}


@pytest.fixture(scope="module")
def bounded(tmp_path_factory):
    """A leaderboard of two traces with their bounds."""
    folder = make_store(tmp_path_factory.mktemp("bounded"), POLICIES, WORKLOADS, seeds=2)
    leaderboard = read_leaderboard(folder)
    found = list(b.find_bounds(leaderboard, moves=10, jobs=1))
    assert [is_new for _, is_new in found] == [True, True]
    return leaderboard


def test_files_are_kept(bounded):
    """A second search finds them, and every number holds."""
    assert [is_new for _, is_new in b.find_bounds(bounded, jobs=1)] == [False, False]
    assert b.check_bounds(bounded) == 2


def test_shares(bounded):
    """EASY closes nothing, others what lies between EASY and the best; trials are left out."""
    bounds = b.read_bounds(bounded)
    shares = b.shares_closed(bounded.rows, bounds)
    assert shares["easy"]["small"] == 0
    assert "multiqueue" not in shares
    expected = [
        (one.reference - row.metrics[b.METRIC]) / (one.reference - one.offline)
        for row in bounded.rows
        if row.policy == "fcfs"
        for one in [bounds[row.workload_hash]]
    ]
    assert shares["fcfs"]["small"] == pytest.approx(np.mean(expected))
    assert np.mean(expected) < 0


def test_gaps(bounded):
    """The gap of a workload is the mean over its traces, with the best policy."""
    (gap,) = b.gaps(bounded.rows, b.read_bounds(bounded))
    values = [row.metrics[b.METRIC] for row in bounded.rows if row.policy == "easy-saf"]
    assert (gap.policy, gap.value) == ("easy-saf", np.mean(values))
    assert gap.closed == b.shares_closed(bounded.rows, b.read_bounds(bounded))["easy-saf"]["small"]
    assert gap.numbers.bound <= gap.numbers.offline <= gap.numbers.fair
    assert gap.numbers.fair <= gap.numbers.reference


def test_missing_bound(bounded, tmp_path):
    """A workload without all bounds is left out: a mean over some traces would not compare."""
    folder = shutil.copytree(bounded.folder, tmp_path / "copy")
    b.bounds_file(folder, bounded.rows[0].workload_hash).unlink()
    leaderboard = read_leaderboard(folder)
    assert b.gaps(leaderboard.rows, b.read_bounds(leaderboard)) == []
    assert gap_left(leaderboard) is None


def test_text(bounded):
    """The table has the numbers of the gap, and the page has the share of each policy."""
    ((workload, policy, *numbers, closed),) = gap_lines(bounded)
    assert (workload, policy, len(numbers)) == ("small", "easy-saf", 5)
    assert closed.endswith("%")
    page = str(gap_left(bounded))
    assert "Share of the gap that each policy closes" in page
    assert "fcfs" in page and "multiqueue" not in page


def test_other_jobs(bounded, tmp_path):
    """Bounds of another trace are refused."""
    folder = shutil.copytree(bounded.folder, tmp_path / "copy")
    first, second = sorted((folder / "bounds").iterdir())
    shutil.copy(first, second)
    with pytest.raises(BfenvError, match="is not about the mean_bounded_slowdown of small"):
        b.read_bounds(read_leaderboard(folder))


def test_row_below_bound(bounded):
    """A row of a policy that runs jobs to completion is refused if it is below the bound."""
    row = bounded.rows[0]
    forged = replace(row, metrics={**row.metrics, b.METRIC: 1.0})
    with pytest.raises(BfenvError, match="1 is below the bound"):
        b.check_bounds(bounded._replace(rows=[forged, *bounded.rows[1:]]))


def test_forged_file(bounded, tmp_path):
    """A number in a file of bounds that its schedule does not have is found."""
    folder = shutil.copytree(bounded.folder, tmp_path / "copy")
    path = next((folder / "bounds").iterdir())
    with np.load(path) as data:
        arrays = dict(data)
    text = bytes(arrays["head"]).replace(b'"offline": ', b'"offline": 1')
    np.savez(path, **{**arrays, "head": np.frombuffer(text, dtype=np.uint8)})
    with pytest.raises(BfenvError, match="metrics in the file are not those of its schedules"):
        b.check_bounds(read_leaderboard(folder))


def suite_traces(*names):
    """The traces of the suites."""
    return [trace for name in names for entry in find_suite(name).entries for trace in entry.traces]


def test_known_bounds(tmp_path):
    """Bounds and best schedules of every trace of every suite come with bfenv, and no others."""
    paths = {
        path: trace
        for trace in suite_traces(*SUITES)
        for path in b.known_bounds(tmp_path, trace.hash)
    }
    assert set(paths) == set(b.KNOWN.iterdir())
    for path, trace in paths.items():
        numbers = read_numbers(path)
        assert (numbers.workload_hash, numbers.metric) == (trace.hash, b.METRIC)
        assert numbers.bound < numbers.offline <= numbers.fair < numbers.reference


def test_known_bounds_hold(tmp_path):
    """The certificates and schedules give the numbers of the files."""
    one_of_many = suite_traces("synthetic-v1")[0]
    for trace in (*suite_traces("smoke-v1"), one_of_many):
        (path,) = b.known_bounds(tmp_path, trace.hash)
        check_gap(load_gap(path, load_frozen(trace.source, trace.hash)))


def test_known_bounds_are_shown(tmp_path):
    """A board of smoke-v1 has its gap without a search; a file in its folder counts as well."""
    run_suite(find_suite("smoke-v1"), ["easy", "fcfs"], out=tmp_path, seeds=1)
    leaderboard = read_leaderboard(tmp_path)
    assert not (tmp_path / "bounds").exists() and len(gap_lines(leaderboard)) == 2
    assert [is_new for _, is_new in b.find_bounds(leaderboard, jobs=1)] == [False, False]
    assert b.check_bounds(leaderboard) == 2
    hashes = {row.workload_hash for row in leaderboard.rows}
    (tmp_path / "bounds").mkdir()
    for one in hashes:
        (known,) = b.known_bounds(tmp_path, one)
        shutil.copy(known, b.bounds_file(tmp_path, one))
        assert b.known_bounds(tmp_path, one) == [known, b.bounds_file(tmp_path, one)]
    cheat = [replace(row, metrics=row.metrics | {b.METRIC: 1.0}) for row in leaderboard.rows]
    with pytest.raises(BfenvError, match="is below the bound"):
        b.check_bounds(leaderboard._replace(rows=cheat))


def test_the_stricter_bounds_count(tmp_path):
    """Bounds in a folder replace those that come with bfenv where they are stricter, only there."""
    trace = suite_traces("smoke-v1")[0]
    jobs = load_frozen(trace.source, trace.hash)
    run_suite(find_suite("smoke-v1"), ["easy"], out=tmp_path, seeds=1)
    leaderboard = read_leaderboard(tmp_path)
    known = b.read_bounds(leaderboard)[trace.hash]
    (path,) = b.known_bounds(tmp_path, trace.hash)
    shipped = load_gap(path, jobs)
    (tmp_path / "bounds").mkdir()
    weak = shipped._replace(bound=1.0, offline=shipped.reference, fair=shipped.reference)
    save_gap(weak, b.bounds_file(tmp_path, trace.hash))
    assert b.read_bounds(leaderboard)[trace.hash] == known
    assert b.check_bounds(leaderboard) == 3
    below = (1 + known.bound) / 2
    cheat = [replace(row, metrics=row.metrics | {b.METRIC: below}) for row in leaderboard.rows]
    with pytest.raises(BfenvError, match="is below the bound"):
        b.check_bounds(leaderboard._replace(rows=cheat))
    strict = known._replace(bound=known.bound + 1, offline=known.offline - 1, fair=known.fair - 1)
    assert known.stricter(strict) == strict.stricter(known) == strict
