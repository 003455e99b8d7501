"""A file of bounds can be checked by anyone, and cannot lie."""

from dataclasses import replace

import numpy as np
import pytest

import bfenv
from bfenv.analysis.bounds import check_room, find_room, load_room, save_room
from bfenv.core.errors import BfenvError


@pytest.fixture(scope="module")
def jobs():
    return bfenv.load_workload("lublin:jobs=150,load=0.9")


@pytest.fixture(scope="module")
def room(jobs):
    return find_room(jobs, moves=20, steps=50)


def test_round_trip(room, jobs, tmp_path):
    """What was saved is read back, and every number holds."""
    save_room(room, tmp_path / "room.npz")
    loaded = check_room(load_room(tmp_path / "room.npz", jobs))
    assert loaded.bound == room.bound
    assert loaded.offline.start.tolist() == room.offline.start.tolist()
    assert loaded.fair.start.tolist() == room.fair.start.tolist()


def test_closed(room):
    """The reference closes nothing, the best schedule found everything."""
    usual = np.mean(bfenv.analysis.bounded_slowdown(room.reference))
    best = np.mean(bfenv.analysis.bounded_slowdown(room.offline))
    assert room.numbers.closed(usual) == 0
    assert room.numbers.closed(best) == 1
    assert room.numbers.closed((usual + best) / 2) == pytest.approx(0.5)


def test_fair(room):
    """In the fair schedule no job waits over twice EASY's longest wait."""
    assert room.fair.wait.max() <= 2 * room.reference.wait.max()


def test_bound_too_high(room):
    """A bound that its prices do not certify is refused."""
    with pytest.raises(BfenvError, match="the prices certify"):
        check_room(room._replace(bound=room.bound + 1e-6))


def test_forged_schedule(room, jobs, tmp_path):
    """Starts that the machine does not allow are refused."""
    forged = bfenv.Schedule(
        jobs, "offline", 0, jobs.jobs.submit, jobs.jobs.submit + jobs.runtime,
        room.offline.trial_start, room.offline.trial_end,
    )  # fmt: skip
    save_room(room._replace(offline=forged), tmp_path / "room.npz")
    with pytest.raises(BfenvError, match="processors in use"):
        check_room(load_room(tmp_path / "room.npz", jobs))


def test_unfair(room):
    """A fair schedule in which a job waits too long is refused."""
    start = room.fair.start.copy()
    start[0] = room.fair.end.max() + 2 * room.reference.wait.max()
    late = replace(room.fair, start=start, end=start + room.fair.trace.runtime)
    with pytest.raises(BfenvError, match="fair: a job waits"):
        check_room(room._replace(fair=late))


def test_other_jobs(room, tmp_path):
    """A file about other jobs is refused by name."""
    save_room(room, tmp_path / "room.npz")
    with pytest.raises(BfenvError, match="other jobs than lublin"):
        load_room(tmp_path / "room.npz", bfenv.load_workload("lublin:jobs=150,load=0.8"))


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_not_a_file_of_bounds(jobs, tmp_path, content):
    """Any other file is an error that names it."""
    path = tmp_path / "room.npz"
    path.write_bytes(content)
    with pytest.raises(BfenvError, match=r"room\.npz: is not a file of `bfenv bound"):
        load_room(path, jobs)


def test_no_pickles(jobs, tmp_path):
    """A file with pickled objects is refused before they are made."""
    path = tmp_path / "room.npz"
    np.savez(path, head=np.array([{"format": 1}], dtype=object))
    with pytest.raises(BfenvError, match="is not a file of `bfenv bound"):
        load_room(path, jobs)
