"""One workload, policy by policy."""

import math

import pytest

from bfenv.analysis.intervals import Interval
from bfenv.evaluation.summary import summarize
from bfenv.leaderboard.store import read_leaderboard
from tests.leaderboard.stores import make_store, write_store


def test_order(store):
    """The policies of a workload are sorted by mean bounded slowdown."""
    summaries = summarize(read_leaderboard(store).rows, "lublin-64-0.8")
    slowdowns = [one.metrics["mean_bounded_slowdown"] for one in summaries]
    assert len(summaries) == 8 and slowdowns == sorted(slowdowns)


def test_means_over_seeds(tmp_path):
    """Metrics are means over seeds, and half widths of independent intervals add up as errors."""
    folder = make_store(
        tmp_path / "store", ("easy", "sjf"), {"small": "lublin:procs=32,jobs=100"}, seeds=2
    )
    leaderboard = read_leaderboard(folder)
    summary = next(one for one in summarize(leaderboard.rows, "small") if one.policy == "sjf")
    assert [row.seed for row in summary.rows] == [0, 1]
    one, two = (row.metrics["mean_wait"] for row in summary.rows)
    assert summary.metrics["mean_wait"] == pytest.approx((one + two) / 2)
    a, b = (row.versus.differences["mean_wait"] for row in summary.rows)
    middle = (a.difference + b.difference) / 2
    half = math.hypot(a.high - a.difference, b.high - b.difference) / 2
    assert summary.versus["mean_wait"] == pytest.approx(
        Interval(middle, middle - half, middle + half)
    )
    assert summary.wait_quantiles == summary.rows[0].curves.wait_quantiles
    assert summary.queue_length == summary.rows[0].curves.queue_length


def test_unknown_values(rows, tmp_path):
    """Means of unknown values are unknown, and come last."""
    row = rows["los", "lublin-64-0.8"]
    row["metrics"] = {"mean_wait": 3.0, "mean_bounded_slowdown": None}
    row |= {"versus": {"mean_wait": {"difference": 1.0}}, "curves": {"wait_quantiles": []}}
    leaderboard = read_leaderboard(write_store(tmp_path / "store", rows.values()))
    *_, last = summarize(leaderboard.rows, "lublin-64-0.8")
    assert last.policy == "los"
    assert last.metrics == {"mean_wait": 3.0, "mean_bounded_slowdown": None}
    assert last.versus == {"mean_wait": None, "mean_bounded_slowdown": None}
    assert last.wait_quantiles is None and last.queue_length is None


def test_starves(rows, tmp_path):
    """A policy starves on the workloads where its longest wait is over twice EASY's."""
    for (policy, workload), row in rows.items():
        is_long = (policy, workload) == ("los", "lublin-64-0.8")
        row["metrics"]["max_wait"] = 201.0 if is_long else 100.0
    leaderboard = read_leaderboard(write_store(tmp_path / "store", rows.values()))
    assert [one.policy for one in summarize(leaderboard.rows, "lublin-64-0.8") if one.starves] == [
        "los"
    ]
    assert not any(one.starves for one in summarize(leaderboard.rows, "lublin-128-0.9"))
