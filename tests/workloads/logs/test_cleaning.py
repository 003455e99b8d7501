"""The reasons why lines are dropped or changed, their counts, and the options of all readers."""

from dataclasses import fields

import numpy as np
import pytest

import bfenv.workloads.logs.cleaning as cleaning
from bfenv.core.errors import WorkloadError
from tests.workloads.refusals import refused


def test_every_count_has_a_reason():
    """Each count of a conversion is explained once."""
    names = [field.name for field in fields(cleaning.Conversion)]
    assert set(cleaning.counts_of(cleaning.Imported())) == set(names)
    assert sorted([*cleaning.DROPPED, *cleaning.CHANGED]) == sorted(names)
    assert cleaning.Conversion(steps=2, malformed=3, clipped=5).dropped == 5


def test_reasons():
    """Counts are listed in the order of their reasons, without zeros."""
    counts = {"too_large": 2, "headers": 1, "no_size": 0, "clipped": 9}
    assert cleaning.count_reasons(counts, cleaning.DROPPED) == [
        (1, cleaning.DROPPED["headers"]),
        (2, cleaning.DROPPED["too_large"]),
    ]


def test_left_out():
    """One reason needs no number of its own; of several, each has one; without any, no text."""
    assert cleaning.left_out_text(cleaning.Conversion(clipped=3)) == ""
    assert (
        cleaning.left_out_text(cleaning.Conversion(steps=1))
        == "1 job of the log is left out (job step)"
    )
    assert cleaning.left_out_text(cleaning.Conversion(steps=1_000, no_size=2)) == (
        "1,002 jobs of the log are left out (job step: 1,000; no size: 2)"
    )


def test_overrun():
    """Either runtimes are cut, or estimates raised."""
    runtime, estimate = np.array([5, 9]), np.array([7, 7])
    cut, same, counts = cleaning.apply_overrun(runtime, estimate, "kill")
    assert (cut.tolist(), same.tolist(), counts) == ([5, 7], [7, 7], {"clipped": 1})
    same, raised, counts = cleaning.apply_overrun(runtime, estimate, "extend")
    assert (same.tolist(), raised.tolist(), counts) == ([5, 9], [7, 9], {"extended": 1})


@pytest.mark.parametrize(
    ("overrun", "on_error", "named"),
    [("pray", "raise", "overrun"), ("kill", "pray", "on_error"), ("pray", None, "overrun")],
)
def test_bad_option(overrun, on_error, named):
    """A choice that there is not is named."""
    with refused(WorkloadError, named, "'pray'"):
        cleaning.check_options(overrun, on_error)


@pytest.mark.parametrize("processors", [0, -1, 2**53, 2.5, "8", None])
def test_bad_machine(processors):
    """A machine that cannot be is named."""
    assert cleaning.check_processors("processors", np.int64(8)) == 8
    with refused(WorkloadError, "site: processors", repr(processors)):
        cleaning.check_processors("site: processors", processors)
