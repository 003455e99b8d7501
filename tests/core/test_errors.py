"""Errors: what they say, what they hold, and that they travel between processes."""

import pickle

import numpy as np
import pytest

from bfenv.core.cluster import Cluster, start, try_start
from bfenv.core.errors import (
    BfenvError,
    IllegalStartError,
    PolicyError,
    StarvationError,
    UnknownNameError,
    WorkloadError,
)
from bfenv.core.events import advance, new_cluster, reset
from bfenv.core.illegal_start import find_illegal_start
from bfenv.core.jobs import make_trace

ERRORS = [
    BfenvError("one line"),
    WorkloadError("one line"),
    PolicyError("one line"),
    IllegalStartError(3, 70, "needs 3 processors; free: 1", "mine"),
    IllegalStartError(3, 70, "does not exist"),
    StarvationError([4, 5], "mine"),
    UnknownNameError("policy", "esay", ["easy", "fcfs"]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_pickle(error):
    """A pickled error has the same type, message and attributes."""
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is type(error) and str(twin) == str(error)
    assert vars(twin) == vars(error)
    assert isinstance(error, BfenvError) and isinstance(error, ValueError)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("EAS", ["fcfs", "easy", "easy-sjf"], "did you mean easy or easy-sjf?"),
        ("esay", ["fcfs", "easy"], "did you mean easy?"),
        ("sfj", ["sxf", "sjf", "srf"], "did you mean sjf?"),
        ("shrt", ["agent:short", "easy"], "did you mean agent:short?"),
        ("agent:shrt", ["easy", "short"], "did you mean short?"),
        ("KTH-SP9", ["CTC-SP2-1996", "KTH-SP2-1996"], "did you mean KTH-SP2-1996?"),
        ("zzz", ["fcfs", "easy"], "known: easy, fcfs"),
        ("zzz", map(str, range(20)), "and 8 more"),
        ("", {"b": 1, "a": 2}, "known: a, b"),
        ("observation", ["render_mode"], "known: render_mode"),
    ],
)
def test_unknown_name(name, known, hint):
    """An unknown name is answered with similar names, or with the first of all."""
    error = UnknownNameError("policy", name, known)
    assert str(error).startswith(f"unknown policy {name!r}; ") and hint in str(error)


SUBMIT = [0, 0, 0, 0, 3, 50]
SIZE = [2, 3, 1, 1, 1, 1]
RUNTIME = [9, 9, 9, 9, 9, 9]
REQUESTED = [0, 0, 40, 0, 0, 0]


@pytest.fixture
def machine():
    """At 3 s job 0 runs, job 1 does not fit, job 2 asks for 40 s, the trial of job 3 is over."""
    trace = make_trace(SUBMIT, SIZE, RUNTIME, 4, requested_start=REQUESTED)
    cluster, jobs, truth = new_cluster(trace)
    advance(cluster, jobs, truth)
    start(cluster, jobs, 0)
    try_start(cluster, jobs, 3, 2)
    advance(cluster, jobs, truth)
    advance(cluster, jobs, truth)
    assert cluster.state[0] == 3
    return cluster, jobs, truth


CAUSES = [
    (0, start, "has started already, at 0 s"),
    (1, start, "needs 3 processors; free: 2"),
    (2, start, "asks to start at 40 s"),
    (3, lambda *these: try_start(*these, 5), "has had its trial, at 0 s"),
    (4, lambda *these: try_start(*these, 0), "was to be tried for less than 1 s"),
    (5, start, "has not been submitted"),
    (6, start, "has not been submitted"),
    (10**12, start, "has not been submitted"),
    (10**12, lambda *these: try_start(*these, 2), "has not been submitted"),
    (-1, start, "does not exist"),
    (-7, start, "does not exist"),
]


def test_not_restartable():
    """A trial of a job that is not restartable is refused, with its reason.

    One that is no shorter than the estimate is a start.
    """
    trace = make_trace([0, 0], [1, 1], [9, 9], 4, restartable=[False, False])
    cluster, jobs, truth = new_cluster(trace)
    advance(cluster, jobs, truth)
    with pytest.raises(ValueError):
        try_start(cluster, jobs, 0, 8)
    illegal_start = find_illegal_start(cluster, jobs)
    assert illegal_start is not None and "job 0 at 0 s: it is not restartable" in str(illegal_start)
    assert cluster.start.tolist() == [-1, -1]
    try_start(cluster, jobs, 1, 9)
    assert cluster.start.tolist() == [-1, 0] and cluster.trial_start.tolist() == [-1, -1]


@pytest.mark.parametrize(("job", "verb", "reason"), CAUSES)
def test_causes(machine, job, verb, reason):
    """Each cause of an illegal start is found, and the machine stays as it was."""
    cluster, jobs, _ = machine
    before = Cluster(*(values.copy() for values in cluster))
    with pytest.raises(ValueError) as caught:
        verb(cluster, jobs, job)
    is_there = 0 <= job < 5
    assert ("has not been submitted" in str(caught.value)) == (not is_there)
    error = find_illegal_start(cluster, jobs, "mine")
    assert (error.job, error.time, error.reason, error.policy) == (job, 3, reason, "mine")
    assert all(map(np.array_equal, before, cluster))


def test_none(machine):
    """Legal starts are no cause, and an illegal one is found once."""
    cluster, jobs, _ = machine
    start(cluster, jobs, 4)
    assert find_illegal_start(cluster, jobs) is None
    with pytest.raises(ValueError):
        start(cluster, jobs, 4)
    assert find_illegal_start(cluster, jobs).job == 4
    assert find_illegal_start(cluster, jobs) is None


def test_earlier_jobs():
    """A job before the first one of a run cannot be started."""
    trace = make_trace(SUBMIT, SIZE, RUNTIME, 4)
    cluster, jobs, truth = new_cluster(trace)
    reset(cluster, truth, 4, 2, 6)
    advance(cluster, jobs, truth)
    with pytest.raises(ValueError):
        start(cluster, jobs, 1)
    error = find_illegal_start(cluster, jobs)
    assert (error.job, error.reason) == (1, "is not part of this run, whose first job is 2")
