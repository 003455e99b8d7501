"""The order of a leaderboard, from rows (with `reference`)."""

import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from bfenv.evaluation.summary import reference_row, rows_by_run, starves
from bfenv.leaderboard.standings import interval_notes, rank_policies
from tests.leaderboard.made_rows import failed, row, with_metrics


def rows_of(**policies):
    """Rows of three workloads of five seeds; each policy is a factor, or one per row."""
    random = np.random.default_rng(0)
    base = random.lognormal(3, 1, (3, 5))
    rows = []
    for policy, factor in ({"easy": 1.0} | policies).items():
        factors = np.broadcast_to(factor, (3, 5))
        rows += [
            row(policy, f"w{w}", s, base[w, s] * factors[w, s], 60 * base[w, s] * factors[w, s])
            for w in range(3)
            for s in range(5)
        ]
    return rows


@pytest.mark.parametrize(
    ("workloads", "seeds", "count"), [(2, 1, 1), (4, 1, 1), (5, 1, 0), (2, 3, 0)]
)
def test_few_workloads(workloads, seeds, count):
    """Intervals over fewer than five workloads, with one seed each, are called hints."""
    rows = [
        row(policy, f"w{w}", seed, 5.0 + w + factor)
        for policy, factor in (("easy", 0), ("fcfs", 3))
        for w in range(workloads)
        for seed in range(seeds)
    ]
    assert len(interval_notes(rank_policies(rows), rows)) == count


def by_policy(lines):
    return {line.policy: line for line in lines}


def test_constant_ratios():
    """Constant ratios are found exactly and ranked."""
    lines = rank_policies(rows_of(half=0.5, twice=2.0))
    assert [(line.policy, line.rank) for line in lines] == [("half", 1), ("easy", 2), ("twice", 3)]
    for line, ratio, improvement in zip(lines, (0.5, 1, 2), (1, 0.5, 0), strict=True):
        assert line[3:11] == pytest.approx((ratio,) * 8)
        assert line.interquartile_ratio == pytest.approx(ratio)
        assert line.improvement == improvement
        assert (line.rows, line.failed, line.starves) == (15, 0, False)


def test_penalized():
    """Slowdowns of 1/2 and 1/8 whose longest waits are 2 and 1/2 times EASY's cost 1 and 1/8.

    A longest wait of EASY below an hour counts as an hour, so 1.5 hours over a minute cost 1.5.
    """
    hour = 3600.0
    rows = [
        *(row("easy", name, 0, 8.0, longest=2 * hour) for name in "ab"),
        row("p", "a", 0, 4.0, longest=4 * hour),
        row("p", "b", 0, 1.0, longest=hour),
    ]
    line = by_policy(rank_policies(rows))["p"]
    assert line.penalized == line.score == pytest.approx((1 * 1 / 8) ** 0.5)
    assert line.ratio == pytest.approx(1 / 4)
    rows = [row("easy", "a", 0, 2.0, longest=60.0), row("p", "a", 0, 1.0, longest=1.5 * hour)]
    assert by_policy(rank_policies(rows))["p"].penalized == pytest.approx(0.75)


def test_starving_costs():
    """A policy that buys a third of the mean with ten times the longest wait ranks below EASY.

    By slowdown, it ranks above.
    """
    rows = rows_of(p=0.33)
    rows = [with_metrics(one, max_wait=36_000.0 * (10 if one.policy == "p" else 1)) for one in rows]
    assert [(line.policy, line.rank) for line in rank_policies(rows)] == [("easy", 1), ("p", 2)]
    lines = rank_policies(rows, by="slowdown")
    assert [(line.policy, line.rank) for line in lines] == [("p", 1), ("easy", 2)]
    assert by_policy(lines)["p"].starves


def test_gains():
    """Of a metric of which more is better, the highest ratio is first."""
    rows = [with_metrics(one, utilization=0.9) for one in rows_of(p=1.0) if one.policy == "p"]
    rows += [one for one in rows_of() if one.policy == "easy"]
    lines = rank_policies(rows, by="utilization")
    assert [(line.policy, line.rank) for line in lines] == [("p", 1), ("easy", 2)]
    assert lines[0].score == pytest.approx(0.9 / 0.5)


def test_means():
    """Means are over rows; the longest wait is that of all rows."""
    rows = [row("easy", "w", 0, 2.0, 10.0, longest=50.0), row("easy", "w", 1, 4.0, 30.0)]
    (line,) = rank_policies(rows)
    assert line.mean_bounded_slowdown == 3 and line.mean_wait == 20 and line.p95_wait == 60
    assert line.max_wait == 1000 and line.utilization == 0.5


def test_noise():
    """Noise of the jobs is shared with the reference; a policy's own noise makes ties."""
    random = np.random.default_rng(1)
    noisy = np.exp(random.normal(0, 0.5, (3, 5)))
    noisy /= math.exp(np.log(noisy).mean())
    lines = by_policy(rank_policies(rows_of(better=0.9, noisy=noisy)))
    assert lines["better"].rank == 1 and lines["easy"].rank in (1, 2)
    assert lines["better"].high < 1
    assert lines["noisy"].low < 1 < lines["noisy"].high
    assert lines["noisy"].rank == lines["easy"].rank


def test_workload_counts_once():
    """The geometric mean of 4 and 1 is 2, though the second workload has one seed only."""
    rows = [row("easy", "a", s, 1.0) for s in range(3)] + [row("easy", "b", 0, 5.0)]
    rows += [row("p", "a", s, 4.0) for s in range(3)] + [row("p", "b", 0, 5.0)]
    line = by_policy(rank_policies(rows))["p"]
    assert line.ratio == pytest.approx(2)
    assert line.low == pytest.approx(1) and line.high == pytest.approx(4)  # workloads resampled
    assert line.improvement == 0.25


def test_stochastic_policy():
    """On logs EASY has one row; the mean of the logarithms of 2 and 8 is that of 4."""
    rows = [row("easy", w, 0, 1.0) for w in "ab"]
    rows += [row("lots", w, seed, value, trace=0) for w in "ab" for seed, value in ((0, 2), (1, 8))]
    line = by_policy(rank_policies(rows))["lots"]
    assert line.ratio == pytest.approx(4) and line.rows == 4 and line.rank == 2


def test_other_jobs():
    """Rows on other jobs are not compared."""
    rows = [
        replace(one, workload_hash="sha256:other") if (one.policy, one.seed) == ("p", 3) else one
        for one in rows_of(p=0.5)
    ]
    line = by_policy(rank_policies(rows))["p"]
    assert line.rank is None and line.ratio is None


@pytest.mark.parametrize("fault", ["missing", "failed", "none"])
def test_no_rank(fault):
    """A policy with a failed or missing row comes last, without a rank."""
    rows = rows_of(aaa=0.1, p=2.0)
    gone = next(one for one in rows if one.policy == "aaa" and one.seed == 2)
    rows.remove(gone)
    if fault == "none":
        rows.append(with_metrics(gone, mean_bounded_slowdown=None))
    if fault == "failed":
        rows.append(failed("aaa", gone.workload, 2))
    lines = rank_policies(rows)
    assert [(line.policy, line.rank) for line in lines] == [("easy", 1), ("p", 2), ("aaa", None)]
    assert lines[-1].failed == (fault == "failed")
    assert lines[-1].rows == (15 if fault == "none" else 14)
    assert lines[-1].ratio is None and lines[-1].improvement == 1


@pytest.mark.parametrize("fault", ["missing", "failed"])
def test_no_row_of_reference(fault):
    """Where a run of the reference failed or is missing, only who did not run there has a rank."""
    rows = [one for one in rows_of(p=0.5, q=2.0) if (one.policy, one.seed) != ("q", 2)]
    gone = [one for one in rows if (one.policy, one.seed) == ("easy", 2)]
    rows = [one for one in rows if one not in gone]
    if fault == "failed":
        rows += [failed("easy", one.workload, 2) for one in gone]
    lines = rank_policies(rows)
    assert [(line.policy, line.rank) for line in lines] == [("q", 1), ("easy", None), ("p", None)]
    assert [line.score for line in lines[1:]] == [None, None]


def test_no_reference():
    """Without rows of the reference there is no ranking."""
    lines = rank_policies([one for one in rows_of(p=0.5) if one.policy == "p"])
    assert [(line.policy, line.rank, line.ratio) for line in lines] == [("p", None, None)]
    assert rank_policies([]) == []


def test_single_run():
    """Of a single run each there are no intervals, so all tie."""
    lines = rank_policies([row("easy", "w", 0, 2.0), row("p", "w", 0, 1.0)])
    assert [(line.policy, line.rank, line.low) for line in lines] == [
        ("p", 1, None),
        ("easy", 1, None),
    ]


def test_no_waits():
    """Two waits of zero are equal; a ratio to zero is unknown."""
    rows = [row(p, w, 0, 1.0, 0.0, longest=0.0) for p in ("easy", "p") for w in "ab"]
    line = by_policy(rank_policies(rows))["p"]
    assert (line.wait_ratio, line.wait_low, line.wait_high, line.starves) == (1, 1, 1, False)
    rows[2] = with_metrics(rows[2], mean_wait=5.0)
    assert by_policy(rank_policies(rows))["p"].wait_ratio is None


def test_order_of_rows():
    """The order of the rows does not matter, and they are not changed."""
    random = np.random.default_rng(2)
    rows = rows_of(**{name: np.exp(random.normal(0, 0.2, (3, 5))) for name in "abcd"})
    rows.append(failed("e", "w0", 0))
    kept = deepcopy(rows)
    lines = rank_policies(rows)
    random.shuffle(rows)
    assert rank_policies(rows) == lines
    assert sorted(map(str, rows)) == sorted(map(str, kept))


def test_reference_row():
    """The reference's row of the same seed is found, or else of seed 0; the jobs must be equal."""
    rows = rows_by_run([row("easy", "w", seed, 1.0) for seed in range(3)])
    assert reference_row(row("p", "w", 2, 1.0), rows).seed == 2
    assert reference_row(row("p", "w", 5, 1.0, trace=0), rows).seed == 0
    assert reference_row(row("p", "w", 5, 1.0), rows) is None
    assert reference_row(row("p", "x", 0, 1.0), rows) is None
    assert rows_by_run([failed("easy", "w", 0)]) == {}


def test_starves_with_unknown_waits():
    """Without a known wait on both sides a row does not starve."""
    rows = rows_by_run([row("easy", "w", 0, 1.0)])
    assert starves(row("p", "w", 0, 1.0, longest=2001.0), rows)
    assert not starves(row("p", "w", 0, 1.0, longest=None), rows)
    assert not starves(row("p", "x", 0, 1.0, longest=2001.0), rows)
    unknown = rows_by_run([row("easy", "w", 0, 1.0, longest=None)])
    assert not starves(row("p", "w", 0, 1.0, longest=2001.0), unknown)
