"""Changes to a site: what they do, and that every job left out, cut or split is reported."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv
from bfenv.core.errors import BfenvError, WorkloadError
from bfenv.core.jobs import Outage
from bfenv.core.names import format_value
from bfenv_site.reports import variants as whatif
from tests.conftest import small_traces
from tests.linked_jobs import three_jobs

TRACE = bfenv.make_trace(
    [0, 5, 9],
    [4, 2, 8],
    [100, 50, 250],
    10,
    estimate=[200, 60, 300],
    outages=(Outage(10, 20, 10), Outage(30, 40, 6)),
)


@pytest.mark.parametrize(
    ("size", "expected"),
    [("512", 512), ("+6", 16), ("-1", 9), ("+10%", 11), ("-20 %", 8), ("+25%", 12)],
)
def test_processors(size, expected):
    """A size is absolute, a difference, or a share of what there is, rounded."""
    changed = whatif.with_processors(TRACE, size)
    assert changed.trace.processors == expected
    assert changed.notes == ()
    assert changed.trace.outages[0].processors == expected  # of the whole machine
    assert changed.trace.outages[1].processors == 6


def test_smaller_machine():
    """Jobs that no longer fit are left out and counted; time and outages stay."""
    changed = whatif.with_processors(TRACE, "4")
    assert changed.trace.jobs.submit.tolist() == [0, 5]
    assert changed.notes == ("1 job is larger than 4 processors and left out",)
    assert changed.trace.outages == (Outage(10, 20, 4), Outage(30, 40, 4))
    first_gone = whatif.with_processors(TRACE, "2")
    assert first_gone.trace.jobs.submit.tolist() == [5]
    assert first_gone.trace.outages[0].begin == 10
    bfenv.simulate(first_gone.trace, "easy").check()


@pytest.mark.parametrize("size", ["many", "10%", "0", "-10", "1", "", "+"])
def test_no_machine(size):
    """What is no size, or leaves no machine or job, is refused."""
    with pytest.raises(WorkloadError):
        whatif.with_processors(TRACE, size)


def test_names_the_size():
    """A machine that would be too small is named by the change as it was written."""
    with pytest.raises(WorkloadError, match=r"processors: -10 leaves 0 of 10"):
        whatif.with_processors(TRACE, "-10")


def test_cut():
    """A limit lowers estimates and cuts what runs longer, and both are counted."""
    changed = whatif.with_max_estimate(TRACE, "100s")
    assert changed.trace.jobs.estimate.tolist() == [100, 60, 100]
    assert changed.trace.runtime.tolist() == [100, 50, 100]
    assert changed.notes == (
        "2 jobs ask for less than before",
        "1 job is cut at the limit, with work left undone",
    )


def test_split():
    """A job over the limit becomes pieces, submitted one limit after the other."""
    changed = whatif.with_max_estimate(TRACE, "100s", split=True)
    trace = changed.trace
    assert trace.jobs.submit.tolist() == [0, 5, 9, 109, 209]
    assert trace.runtime.tolist() == [100, 50, 100, 100, 50]
    assert trace.jobs.size.tolist() == [4, 2, 8, 8, 8]
    assert changed.notes[1].startswith("1 job becomes 3 jobs, and each part waits")


@given(small_traces(), st.integers(1, 9))
def test_split_keeps_work(trace, limit):
    """Split, no work is lost, and no piece is longer than the limit."""
    changed = whatif.with_max_estimate(trace, f"{limit}s", split=True).trace
    work = [np.dot(version.jobs.size, version.runtime) for version in (trace, changed)]
    assert work[0] == work[1]
    assert changed.jobs.estimate.max() <= limit


@pytest.mark.parametrize("split", [False, True])
def test_limit_above_all(split):
    """A limit that no job exceeds changes nothing, and says so."""
    changed = whatif.with_max_estimate(TRACE, "1000000s", split=split)
    assert changed.notes == ("no job asks for more",)
    assert np.array_equal(changed.trace.jobs.estimate, TRACE.jobs.estimate)
    assert np.array_equal(changed.trace.runtime, TRACE.runtime)


def test_estimates():
    """Users ask for less, but never for less than their jobs run; those are counted."""
    changed = whatif.with_other_estimates(TRACE, "-30%")
    assert changed.trace.jobs.estimate.tolist() == [140, 50, 250]
    assert changed.notes == ("2 jobs keep the runtime as estimate",)
    for how, expected in (("+50 %", [300, 90, 450]), ("exact", [100, 50, 250])):
        assert whatif.with_other_estimates(TRACE, how).trace.jobs.estimate.tolist() == expected
    with pytest.raises(BfenvError, match="fewer"):
        whatif.with_other_estimates(TRACE, "fewer")


def test_outages():
    """Without outages, none are left; a log that has none is told apart."""
    assert whatif.without(TRACE, "outages").trace.outages == ()
    assert whatif.without(TRACE, "outages").notes == ()
    assert whatif.without(whatif.without(TRACE, "outages").trace, "outages").notes


def test_load():
    """Another load has the same jobs, at other times."""
    changed = whatif.with_offered_load(TRACE, "0.5").trace
    assert changed.offered_load == pytest.approx(0.5, rel=0.02)
    assert changed.runtime.tolist() == TRACE.runtime.tolist()


@pytest.mark.parametrize("load", ["0.5", "+10%"])
def test_no_load(load):
    """Jobs that are all submitted at once have no load to change, by a share or to a number."""
    with pytest.raises(WorkloadError, match="all jobs have the same submit time"):
        whatif.with_offered_load(bfenv.make_trace([0], [1], [9], 4), load)


def test_changes(tmp_path):
    """Several changes are made one after the other, and all their notes are kept."""
    text = "processors=4, max-estimate=100s,estimates=-50%,without=outages"
    first = whatif.with_processors(TRACE, "4")
    second = whatif.with_max_estimate(first.trace, "100s")
    third = whatif.with_other_estimates(second.trace, "-50%")
    changed = whatif.with_changes(TRACE, text)
    assert changed.trace.hash == whatif.without(third.trace, "outages").trace.hash
    assert changed.notes == first.notes + second.notes + third.notes
    split = whatif.with_changes(TRACE, "split-estimate=100s,load=0.5").trace
    assert len(split) == 5 and split.offered_load == pytest.approx(0.5, rel=0.02)
    more = whatif.with_changes(TRACE, "load=+50%").trace
    assert more.offered_load == pytest.approx(1.5 * TRACE.offered_load, rel=0.02)


def test_quoted_value(tmp_path):
    """A file whose name has a comma is given in quotes; a quote must be closed."""
    file = tmp_path / "May, June (2).csv"
    file.write_text("1000000050,1000000060,10\n")
    records = np.zeros((len(TRACE), 18))
    records[:, 1] = TRACE.jobs.submit
    dated = replace(TRACE, header=("UnixStartTime: 1000000000",), records=records)
    changed = whatif.with_changes(dated, f"processors=20,maintenance={format_value(str(file))}")
    assert Outage(50, 60, 10) in changed.trace.outages
    assert len(changed.trace.outages) == len(TRACE.outages) + 1
    assert changed.notes == ("outage 2001-09-09 01:47 to 2001-09-09 01:47 (UTC), 10 processors",)
    with pytest.raises(BfenvError, match="no closing quote"):
        whatif.with_changes(TRACE, "maintenance='May")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("procesors=4", "processors"),
        ("processors", "processors needs a value, like processors=.10%"),
        ("load=much", "'much'"),
        ("load=-100%", "a decrease must be below 100%, got '-100%'"),
        ("max-estimate=24", "24 of what. Write 24h, 24min or 24s"),
        ("estimates=30%", "write .30% or -30%"),
        ("max-estimate=soon", "'soon'"),
        ("without=jobs", "'jobs'"),
        ("processors=4,", "change"),
    ],
)
def test_no_change(text, message):
    """A change that cannot be made is named."""
    with pytest.raises(BfenvError, match=message):
        whatif.with_changes(TRACE, text)


def test_partitions():
    """A machine of twice the size has partitions of twice the size."""
    larger = whatif.with_processors(three_jobs(), "+100%").trace
    assert bfenv.simulate(larger, "easy").start.tolist() == [0, 1, 2]
