"""Verdicts by their rules: bands, rounding, orders, claims, and what does not count."""

import pytest

from reproductions import verdict as module
from reproductions.item import Claim, Comparison, Content, Extreme, Pair
from reproductions.results import Printed
from reproductions.verdict import AGREES, DIFFERS, MISSING, NOT_COMPARABLE, compare, judge
from tests.reproductions.made_up import OTHER, OWN, cells, item, results, value


@pytest.fixture
def judged(monkeypatch):
    """Judge one column of cells against printed numbers."""

    def judged(printed, ours, log=OWN, claims=(), quick=False, **options):
        numbers = {(k, "column"): Printed(v, 0.05, text=str(v)) for k, v in printed.items()}
        monkeypatch.setattr(module, "printed", lambda paper, name: numbers)
        content = Content(cells(log, **{row: row for row in ours}), claims=claims)
        one = item(lambda quick: content, **options)
        return judge("made-up", one, content, results(**ours), quick)

    return judged


@pytest.mark.parametrize(
    "theirs, agree, differ, options",
    [
        (100, (100, 110, 90.91), (111, 90.9), {}),
        (0.3, (0.26,), (0.24,), {}),
        (4, (4,), (4.2,), {"exact": True}),
    ],
)
def test_band_and_rounding(judged, theirs, agree, differ, options):
    """Numbers agree within a band or rounding.

    Within 10 % either way round, or as near as one decimal can say; exact items have no band.
    """
    for ours in (*agree, *differ):
        found = judged({"easy": float(theirs)}, {"easy": ours}, **options)
        expected = AGREES if ours in agree else DIFFERS
        assert found.cells[0].verdict == found.overall == expected, ours


def test_other_jobs_never_agree(judged):
    """On other jobs or stand-ins, no number is comparable; how many are near is counted apart."""
    found = judged({"easy": 100.0, "fcfs": 5.0}, {"easy": 100, "fcfs": 50}, log=OTHER)
    assert [one.verdict for one in found.cells] == [NOT_COMPARABLE] * 2
    assert found.overall == NOT_COMPARABLE
    assert found.values[:4] == (0, 0, 1, 2)
    log = OWN._replace(stand_in="lublin(jobs=9)")
    assert judged({"easy": 1.0}, {"easy": 1}, log=log, quick=True).overall == NOT_COMPARABLE
    assert judged({"easy": 1.0}, {"easy": 1}, quick=True).overall == AGREES


def test_missing_row(judged):
    """A missing row is neither agreement nor difference."""
    found = judged({"easy": 100.0}, {"easy": None})
    assert (found.cells[0].verdict, found.overall) == (MISSING, NOT_COMPARABLE)
    assert compare(Comparison("", value("a"), 1.0, OWN), results(b=1)) is None


def test_order(judged):
    """Pairs closer than 5 % in print have no order; the wrong ones are named."""
    printed = {"a": 10.0, "b": 10.4, "c": 20.0, "d": 30.0}
    found = judged(printed, {"a": 10.2, "b": 10.1, "c": 32, "d": 31}, ordered=True, band=1.0)
    assert (found.order.held, found.order.all) == (4, 5)
    assert found.order.failed == ("column: c and d",)
    assert found.overall == DIFFERS


def test_claim(judged):
    """A claim needs all its comparisons; one that fails is named, and makes it differ."""
    a, b, c = map(value, "abc")
    claim = Claim("a < b < c", (Comparison("low", a, b, OWN), Comparison("high", b, c, OWN)))
    assert judged({}, {"a": 1, "b": 2, "c": 3}, claims=(claim,)).overall == AGREES
    found = judged({}, {"a": 1, "b": 4, "c": 3}, claims=(claim,))
    assert found.overall == DIFFERS
    assert found.claims[0][1].failed == ("high",)


def test_strict_or_slack():
    """Equal values are not less, but at most; slack is relative to the right side."""
    one = Comparison("", value("a"), value("b"), OWN)
    for strict, slack, holds in ((1, 0, 0), (0, 0, 1), (1, 0.1, 1), (1, -0.1, 0)):
        found = compare(one._replace(strict=strict, slack=slack), results(a=2.0, b=2.0))
        assert found == holds, (strict, slack)


def test_values_derived_from_others():
    """Extremes over values, percentiles over seeds, ratios seed by seed with an interval."""
    found = results(a=3, b=[1.0, 2.0], c=[2.0, 4.0], d=list(range(101)))
    a, b, c, d = (value(name) for name in "abcd")
    for kind, number in {"min": 1.5, "max": 3, "mean": 2.25}.items():
        assert found.number(Extreme((a, b), kind)) == number
    assert found.number(Extreme((a, value("x")), "min")) is None
    assert (found.number(Extreme((d,), "low")), found.number(Extreme((d,), "high"))) == (5, 95)
    assert found.ratio(Pair((b, c)))[:3] == pytest.approx((0.5, 0.5, 0.5))
    apart = results(a=[1.0, 4.0], b=[1.0, 1.0]).ratio(Pair((a, b)))
    assert apart.value == pytest.approx(2)
    assert apart.low < 1 < 2 < apart.high
