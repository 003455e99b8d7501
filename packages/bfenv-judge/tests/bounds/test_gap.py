"""A file of bounds can be checked by anyone, and cannot lie."""

import json
import math
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import bfenv
from bfenv.core.errors import BfenvError
from bfenv_judge.bounds.gap import check_gap, find_gap, load_gap, save_gap


@pytest.fixture(scope="module")
def jobs():
    return bfenv.load_workload("lublin:jobs=150,load=0.9")


@pytest.fixture(scope="module")
def gap(jobs):
    return find_gap(jobs, moves=20, steps=50)


def test_round_trip(gap, jobs, tmp_path):
    """What was saved is read back, and every number holds."""
    save_gap(gap, tmp_path / "gap.npz")
    loaded = check_gap(load_gap(tmp_path / "gap.npz", jobs))
    assert loaded.bound == gap.bound
    assert loaded.offline.start.tolist() == gap.offline.start.tolist()
    assert loaded.fair.start.tolist() == gap.fair.start.tolist()


def test_closed(gap):
    """The reference closes nothing, the best schedule found everything."""
    usual = np.mean(bfenv.analysis.bounded_slowdown(gap.reference))
    best = np.mean(bfenv.analysis.bounded_slowdown(gap.offline))
    assert gap.numbers.closed(usual) == 0
    assert gap.numbers.closed(best) == 1
    assert gap.numbers.closed((usual + best) / 2) == pytest.approx(0.5)


def test_fair(gap):
    """In the fair schedule no job waits over twice EASY's longest wait."""
    assert gap.fair.wait.max() <= 2 * gap.reference.wait.max()


def test_bound_too_high(gap):
    """A bound that its prices do not certify is refused."""
    with pytest.raises(BfenvError, match="the prices certify"):
        check_gap(gap._replace(bound=gap.bound + 1e-6))


def test_forged_schedule(gap, jobs, tmp_path):
    """Starts that the machine does not allow are refused."""
    forged = bfenv.Schedule(
        jobs,
        "offline",
        0,
        jobs.jobs.submit,
        jobs.jobs.submit + jobs.runtime,
        gap.offline.trial_start,
        gap.offline.trial_end,
    )
    save_gap(gap._replace(offline=forged), tmp_path / "gap.npz")
    with pytest.raises(BfenvError, match="processors in use"):
        check_gap(load_gap(tmp_path / "gap.npz", jobs))


def test_unfair(gap):
    """A fair schedule in which a job waits too long is refused."""
    start = gap.fair.start.copy()
    start[0] = gap.fair.end.max() + 2 * gap.reference.wait.max()
    late = replace(gap.fair, start=start, end=start + gap.fair.trace.runtime)
    with pytest.raises(BfenvError, match="fair: a job waits"):
        check_gap(gap._replace(fair=late))


def forged(gap, folder, head):
    """A file of bounds with another head."""
    path = folder / "gap.npz"
    save_gap(gap, path)
    with np.load(path) as data:
        arrays = dict(data)
    np.savez(path, **(arrays | {"head": np.frombuffer(head.encode(), dtype=np.uint8)}))
    return path


def test_other_jobs(gap, tmp_path):
    """A file about other jobs is refused by name."""
    save_gap(gap, tmp_path / "gap.npz")
    with pytest.raises(BfenvError, match="other jobs than lublin"):
        load_gap(tmp_path / "gap.npz", bfenv.load_workload("lublin:jobs=150,load=0.8"))


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_other_file(jobs, tmp_path, content):
    """Any other file in place of bounds is an error that names the file."""
    path = tmp_path / "gap.npz"
    path.write_bytes(content)
    with pytest.raises(BfenvError, match=r"gap\.npz is not a file of `bfenv evaluate bound"):
        load_gap(path, jobs)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, math.nan) for name in ("bound", "offline", "fair", "reference")],
        ("bound", -math.inf),
        ("bound", 10**400),
        ("exponent", 1.5),
        ("exponent", math.inf),
        ("metric", "foo"),
    ],
)
def test_bad_head(gap, jobs, tmp_path, name, value):
    """Numbers that compare with nothing, and metrics without a bound, are refused."""
    head = {"format": "bfenv-gap-2", "exponent": 9, **gap.numbers._asdict(), name: value}
    path = forged(gap, tmp_path, json.dumps(head))
    with pytest.raises(BfenvError, match="is not a file of `bfenv evaluate bound"):
        load_gap(path, jobs)


def test_no_bound(gap):
    """A gap whose bound is not a number does not hold."""
    with pytest.raises(BfenvError, match="the prices certify"):
        check_gap(gap._replace(bound=math.nan))


@pytest.mark.parametrize("seed", range(30))
def test_damaged(gap, jobs, tmp_path, seed):
    """Whatever a byte of the file becomes, it holds or is refused."""
    path = tmp_path / "gap.npz"
    save_gap(gap, path)
    content = bytearray(path.read_bytes())
    content[len(content) * seed // 30] ^= 0x15
    path.write_bytes(content)
    with suppress(BfenvError):
        check_gap(load_gap(path, jobs))


def test_nested_too_deep(gap, jobs, tmp_path):
    """A head that no recursion reads is refused."""
    path = forged(gap, tmp_path, "[" * 100_000)
    with pytest.raises(BfenvError, match="is not a file of `bfenv evaluate bound"):
        load_gap(path, jobs)


def test_no_pickles(jobs, tmp_path):
    """A file with pickled objects is refused before they are made."""
    path = tmp_path / "gap.npz"
    np.savez(path, head=np.array([{"format": 1}], dtype=object))
    with pytest.raises(BfenvError, match="is not a file of `bfenv evaluate bound"):
        load_gap(path, jobs)
