"""Errors: what they say, what they hold, and that they travel between processes."""

import pickle

import pytest

from bfenv.core.errors import (
    BfenvError,
    IllegalStartError,
    PolicyError,
    StarvationError,
    UnknownNameError,
    WorkloadError,
)

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


def test_illegal_start():
    """An illegal start is a fault of the policy: its job, its time, its reason."""
    error = IllegalStartError(3, 70, "needs 3 processors; free: 1", "mine")
    assert isinstance(error, PolicyError)
    assert (error.job, error.time, error.policy) == (3, 70, "mine")
    assert str(error).startswith("mine: illegal start of job 3 at 70 s: it needs 3 processors")
    assert str(IllegalStartError(3, 70, "x")).startswith("illegal start of job 3")


def test_starvation():
    """Starvation is a fault of the policy that holds the jobs and names the first."""
    error = StarvationError([4, 5], "mine")
    assert isinstance(error, PolicyError) and error.jobs == [4, 5]
    assert str(error).startswith("mine leaves 2 jobs") and "job 4" in error.reason


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("EAS", ["fcfs", "easy", "easy-sjf"], "did you mean easy or easy-sjf?"),
        ("esay", ["fcfs", "easy"], "did you mean easy?"),
        ("shrt", ["agent:short", "easy"], "did you mean agent:short?"),
        ("agent:shrt", ["easy", "short"], "did you mean short?"),
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
