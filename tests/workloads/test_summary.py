"""Numbers about workloads: hand-counted ones, and those that papers print of real logs."""

import json

import numpy as np
import pytest
from hypothesis import given

import bfenv
import bfenv.workloads.summary as s
from bfenv.workloads.transform import at_once
from tests.conftest import log, small_traces

LINE = "{} {} -1 {} 2 -1 -1 {} {} -1 1 {} 1 1 1 1 -1 -1"
LOG = "\n".join(
    [
        "; MaxProcs: 8",
        "; UnixStartTime: 843470000",  # Monday, 1996-09-23 11:13:20 in Stockholm
        "; TimeZoneString: Europe/Stockholm",
        LINE.format(1, 100, 30, 1, 60, 7),
        LINE.format(2, 160, 90, 4, 60, 7),  # run past its estimate
        LINE.format(3, 400, 0, 3, 60, 7),  # dropped
        LINE.format(4, 86_500, 60, 3, 120, -1),
        LINE.format(5, 172_900, 60, 8, 60, 9),
        "",
    ]
)


@pytest.fixture
def small(tmp_path):
    (tmp_path / "small.swf").write_text(LOG)
    return bfenv.read_swf(tmp_path / "small.swf")


def test_small_log(small):
    """A small log has the numbers that were counted by hand."""
    numbers = s.summarize(small)
    assert (numbers["jobs"], numbers["dropped"], numbers["processors"]) == (4, 1, 8)
    assert numbers["span"] == 172_800
    work = 30 * 1 + 60 * 4 + 60 * 3 + 60 * 8
    assert numbers["offered_load"] == pytest.approx(work / 8 / 172_800)
    assert (numbers["users"], numbers["no_user"]) == (2, 0.25)
    assert (numbers["serial"], numbers["parallel_powers_of_two"]) == (0.25, 0.5)
    assert numbers["size"]["max"] == 8 and numbers["size"]["p50"] == 3.5
    assert numbers["runtime"]["mean"] == 52.5 and numbers["estimate"]["mean"] == 75
    assert numbers["accuracy"]["mean"] == pytest.approx((0.5 + 1 + 0.5 + 1) / 4)
    assert numbers["exact"] == 0.5
    assert numbers["gap"]["mean"] == 57_600
    assert numbers["distinct_estimates"] == 2
    assert numbers["popular"] == [
        {"estimate": 60, "jobs": 3, "share": 0.75},
        {"estimate": 120, "jobs": 1, "share": 0.25},
    ]
    assert numbers["cleaning"]["clipped"] == numbers["cleaning"]["no_runtime"] == 1
    assert numbers["missing"]["wait time"] == 1 and numbers["missing"]["user"] == 0.25
    assert "run time" not in numbers["missing"]


def test_days_and_hours(small):
    """Days and hours are those of the place of the machine."""
    assert s.summarize(small)["weekday"] == "Monday"
    assert s.hours(small).tolist() == [11, 11, 11, 11]
    assert s.summarize(small[2:])["weekday"] == "Tuesday"


def test_unknown_date(tmp_path):
    """Where the date is unknown, so is the weekday."""
    for line in ("; UnixStartTime: 0", "; UnixStartTime: soon", "; Note: none"):
        text = LOG.replace("; UnixStartTime: 843470000", line)
        (tmp_path / "log.swf").write_text(text)
        assert s.summarize(bfenv.read_swf(tmp_path / "log.swf"))["weekday"] is None
    model = s.summarize(bfenv.load_workload("lublin", jobs=300))
    assert model["weekday"] is None and model["missing"] == {}


@given(small_traces(requested_starts=True))
def test_json(trace):
    """Any trace has a summary that JSON can hold."""
    for one in (trace, at_once(trace)):
        numbers = s.summarize(one)
        assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
        assert sum(popular["jobs"] for popular in numbers["popular"]) == len(trace)
        assert numbers["popular_share"] == pytest.approx(1)
    assert s.summarize(at_once(trace))["offered_load"] is None


def test_popular_estimates():
    """Equally popular estimates are in order of length."""
    trace = bfenv.make_trace([0] * 5, [1] * 5, [1] * 5, 4, estimate=[9, 3, 3, 9, 5])
    assert [one["estimate"] for one in s.popular_estimates(trace)] == [3, 9, 5]
    assert [one["estimate"] for one in s.popular_estimates(trace, 1)] == [3]


def test_ctc():
    """CTC is as Zotkin, Keleher and Perkovic saw it.

    Section 7 and Figures 13 to 15; the archive has cleaned the log since.
    """
    trace = log("CTC-SP2-1996-3.1-cln")
    accuracy, estimate = trace.runtime / trace.jobs.estimate, trace.jobs.estimate
    for seconds, median in ((900, 7.3), (7200, 13.3), (64_800, 2.0)):
        over = np.median(1 / accuracy[estimate == seconds])
        assert over == pytest.approx(median, rel=0.15)
    top = s.popular_estimates(trace, 1)[0]
    assert top["estimate"] == 64_800 and top["share"] == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("CTC-SP2-1996-3.1-cln", 0.9),
        ("SDSC-BLUE-2000-4.2-cln", 0.9),
        ("SDSC-SP2-1998-4.2-cln", 0.9),
    ],
)
def test_twenty_values(name, share):
    """Twenty values serve nine tenths of the jobs, as Tsafrir found (JSSPP 2010, section 5)."""
    assert s.summarize(log(name))["popular_share"] == pytest.approx(share, abs=0.05)
