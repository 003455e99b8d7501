"""The order of a leaderboard, from rows."""

import math
from copy import deepcopy

import numpy as np
import pytest

from bfenv.leaderboard.standings import standings


def row(policy, workload, seed, slowdown, wait=100.0, *, longest=1000.0, trace=None):
    return {
        "policy": policy,
        "workload": workload,
        "seed": seed,
        "workload_hash": f"sha256:{workload}-{seed if trace is None else trace}",
        "status": "ok",
        "metrics": {
            "mean_bounded_slowdown": slowdown,
            "mean_wait": wait,
            "p95_wait": 3 * wait,
            "max_wait": longest,
            "utilization": 0.5,
        },
    }


def failed(policy, workload, seed):
    return row(policy, workload, seed, None) | {"status": "failed", "metrics": {}, "error": "!"}


def board(**policies):
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


def by_policy(lines):
    return {line.policy: line for line in lines}


def test_constant_ratios_are_found_exactly_and_ranked():
    lines = standings(board(half=0.5, twice=2.0))
    assert [(line.policy, line.rank) for line in lines] == [("half", 1), ("easy", 2), ("twice", 3)]
    for line, ratio, improvement in zip(lines, (0.5, 1, 2), (1, 0.5, 0), strict=True):
        assert line[2:8] == pytest.approx((ratio,) * 6)
        assert line.interquartile_ratio == pytest.approx(ratio)
        assert line.improvement == improvement
        assert (line.rows, line.failed, line.starves) == (15, 0, False)


def test_means_are_over_rows_and_the_longest_wait_is_the_longest():
    rows = [row("easy", "w", 0, 2.0, 10.0, longest=50.0), row("easy", "w", 1, 4.0, 30.0)]
    (line,) = standings(rows)
    assert line.mean_bounded_slowdown == 3 and line.mean_wait == 20 and line.p95_wait == 60
    assert line.max_wait == 1000 and line.utilization == 0.5


def test_noise_of_the_jobs_is_shared_and_own_noise_makes_ties():
    random = np.random.default_rng(1)
    noisy = np.exp(random.normal(0, 0.5, (3, 5)))
    noisy /= math.exp(np.log(noisy).mean())
    lines = by_policy(standings(board(better=0.9, noisy=noisy)))
    assert lines["better"].rank == 1 and lines["easy"].rank in (1, 2)
    assert lines["better"].high < 1
    assert lines["noisy"].low < 1 < lines["noisy"].high
    assert lines["noisy"].rank == lines["easy"].rank


def test_a_ratio_is_of_the_same_jobs_and_a_workload_counts_once():
    """The geometric mean of 4 and 1 is 2, though the second workload has one seed only."""
    rows = [row("easy", "a", s, 1.0) for s in range(3)] + [row("easy", "b", 0, 5.0)]
    rows += [row("p", "a", s, 4.0) for s in range(3)] + [row("p", "b", 0, 5.0)]
    line = by_policy(standings(rows))["p"]
    assert line.ratio == pytest.approx(2)
    assert line.low == pytest.approx(1) and line.high == pytest.approx(4)  # workloads resampled
    assert line.improvement == 0.25


def test_a_policy_that_draws_lots_has_many_rows_on_the_jobs_of_one():
    """On logs EASY has one row; the mean of the logarithms of 2 and 8 is that of 4."""
    rows = [row("easy", w, 0, 1.0) for w in "ab"]
    rows += [row("lots", w, seed, value, trace=0) for w in "ab" for seed, value in ((0, 2), (1, 8))]
    line = by_policy(standings(rows))["lots"]
    assert line.ratio == pytest.approx(4) and line.rows == 4 and line.rank == 2


def test_rows_of_other_jobs_are_not_compared():
    rows = board(p=0.5)
    for one in rows:
        if one["policy"] == "p" and one["seed"] == 3:
            one["workload_hash"] = "sha256:other"
    line = by_policy(standings(rows))["p"]
    assert line.rank is None and line.ratio is None


@pytest.mark.parametrize("fault", ["missing", "failed", "none"])
def test_who_fails_or_misses_a_row_comes_last_without_a_rank(fault):
    rows = board(aaa=0.1, p=2.0)
    gone = next(one for one in rows if one["policy"] == "aaa" and one["seed"] == 2)
    if fault == "none":
        gone["metrics"]["mean_bounded_slowdown"] = None
    else:
        rows.remove(gone)
    if fault == "failed":
        rows.append(failed("aaa", gone["workload"], 2))
    lines = standings(rows)
    assert [(line.policy, line.rank) for line in lines] == [("easy", 1), ("p", 2), ("aaa", None)]
    assert lines[-1].failed == (fault == "failed")
    assert lines[-1].rows == (15 if fault == "none" else 14)
    assert lines[-1].ratio is None and lines[-1].improvement == 1


def test_a_policy_starves_if_it_does_on_any_workload():
    rows = board(p=0.5, q=0.5)
    mine = [one for one in rows if one["policy"] == "p"]
    mine[7]["metrics"]["max_wait"] = 2001.0
    next(one for one in rows if one["policy"] == "q")["metrics"]["max_wait"] = 2000.0
    lines = by_policy(standings(rows))
    assert lines["p"].starves and not lines["q"].starves and not lines["easy"].starves


def test_without_the_reference_nobody_is_ranked():
    lines = standings([one for one in board(p=0.5) if one["policy"] == "p"])
    assert [(line.policy, line.rank, line.ratio) for line in lines] == [("p", None, None)]
    assert standings([]) == []


def test_a_single_run_of_each_ranks_nobody_before_another():
    lines = standings([row("easy", "w", 0, 2.0), row("p", "w", 0, 1.0)])
    assert [(line.policy, line.rank, line.low) for line in lines] == [
        ("p", 1, None),
        ("easy", 1, None),
    ]


def test_nobody_waiting_is_the_same_as_nobody_waiting():
    rows = [row(p, w, 0, 1.0, 0.0, longest=0.0) for p in ("easy", "p") for w in "ab"]
    line = by_policy(standings(rows))["p"]
    assert (line.wait_ratio, line.wait_low, line.wait_high, line.starves) == (1, 1, 1, False)
    rows[2]["metrics"]["mean_wait"] = 5.0
    assert by_policy(standings(rows))["p"].wait_ratio is None


def test_the_order_of_the_rows_does_not_matter_and_they_are_left_as_they_are():
    random = np.random.default_rng(2)
    rows = board(**{name: np.exp(random.normal(0, 0.2, (3, 5))) for name in "abcd"})
    rows.append(failed("e", "w0", 0))
    kept = deepcopy(rows)
    lines = standings(rows)
    random.shuffle(rows)
    assert standings(rows) == lines
    assert sorted(map(str, rows)) == sorted(map(str, kept))
