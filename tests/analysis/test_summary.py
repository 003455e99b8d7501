"""The summary of a schedule: complete, plain, and the same every time."""

import json
import math

import numpy as np
import pytest

import bfenv
from bfenv.analysis.comparison import differences
from bfenv.analysis.summary import backfill_metrics, head_metrics, summarize
from bfenv.core.errors import BfenvError
from tests.analysis.drawn import DRAWN, TRIED, drawn
from tests.conftest import log

DELAYS = {f"{name}_reservation_delay" for name in ("mean", "p95", "p99", "max")}
GUARANTEES = {f"{name}_guarantee_ratio" for name in ("mean", "median", "p80")}


@pytest.fixture(scope="module")
def schedules():
    trace = bfenv.load_workload("lublin:jobs=2300,procs=64,load=0.9")
    return [bfenv.simulate(trace, policy) for policy in ("sjf", "easy", "fcfs")]


def test_json(schedules):
    """A summary is plain JSON, and the same every time."""
    schedule, easy, fcfs = schedules
    found = summarize(schedule, easy, fcfs=fcfs)
    text = json.dumps(found, sort_keys=True, indent=1, allow_nan=False)
    assert json.loads(text) == found
    again = bfenv.simulate(schedule.trace, "sjf")
    assert json.dumps(summarize(again, easy, fcfs=fcfs), sort_keys=True, indent=1) == text


def test_parts(schedules):
    """A summary has the parts of a leaderboard row."""
    schedule, easy, _ = schedules
    found = summarize(schedule, easy)
    assert list(found) == ["metrics", "classes", "versus", "curves"]
    summary = bfenv.metrics(schedule)
    assert {name: found["metrics"][name] for name in summary} == summary
    assert all(value is None or type(value) is float for value in found["metrics"].values())
    for part in found["classes"].values():
        assert list(part) == ["jobs", "mean_wait", "mean_bounded_slowdown"]
    assert found["versus"]["reference"] == "easy"
    for name in ("mean_bounded_slowdown", "mean_wait"):
        expected = differences(schedule, easy)[name]
        assert found["versus"][name] == {
            "difference": expected.value,
            "low": expected.low,
            "high": expected.high,
            "confidence": 0.95,
            "batches": 20,
            "jobs": 2300,
        }
    quantiles = found["curves"]["wait_quantiles"]
    assert len(quantiles) == 101 and quantiles == sorted(quantiles)
    assert quantiles[-1] == summary["max_wait"] and quantiles[50] == summary["median_wait"]
    queue = found["curves"]["queue_length"]
    assert len(queue["time"]) == 201 and len(queue["jobs"]) == 200
    per_1000 = found["curves"]["per_1000"]
    assert len(per_1000["time"]) == len(per_1000["slowdown_ratio"]) == 2


def test_without_reference(schedules):
    """What needs another schedule is left out without it."""
    schedule, easy, fcfs = schedules
    alone, beside = summarize(schedule), summarize(schedule, easy)
    assert alone["versus"] == {} and "per_1000" not in alone["curves"]
    classes = {f"slowdown_ratio_{name.replace(' ', '_')}" for name in beside["classes"]}
    referred = {"slowdown_ratio", "longest_wait_ratio", *classes}
    assert beside["metrics"].keys() - alone["metrics"].keys() == referred
    fair = summarize(schedule, fcfs=fcfs)["metrics"].keys() - alone["metrics"].keys()
    assert fair == {"later_than_fcfs", "mean_delay_to_fcfs"}


def test_reference(schedules):
    """The reference does not differ from itself."""
    easy = schedules[1]
    found = summarize(easy, easy, fcfs=easy)
    assert found["metrics"]["slowdown_ratio"] == found["metrics"]["later_than_fcfs"] == 0
    assert found["metrics"]["longest_wait_ratio"] == 1
    assert found["metrics"]["broken_promises"] == found["metrics"]["max_head_delay"] == 0
    assert found["curves"]["per_1000"]["slowdown_ratio"] == [0, 0]


def test_sjf(schedules):
    """Shortest job first breaks promises and delays jobs."""
    schedule, _, fcfs = schedules
    found = summarize(schedule, fcfs=fcfs)["metrics"]
    late = schedule.start - fcfs.start
    assert found["broken_promises"] > 0 and found["mean_head_delay"] > 0
    assert found["later_than_fcfs"] == pytest.approx((late > 0).mean())
    assert found["mean_delay_to_fcfs"] == pytest.approx(late[late > 0].sum() / len(late))


def test_replayed():
    """The metrics that replay a schedule, by hand."""
    assert backfill_metrics(DRAWN) == {
        "backfilled": 0.25,
        "wild_backfills": 0,
        "stolen_time_per_delayed_head": 0,
    }
    assert head_metrics(DRAWN) == {
        "heads": 2,
        "broken_promises": 0,
        "mean_head_delay": 0,
        "max_head_delay": 0,
    }
    trace = bfenv.make_trace([0, 1, 2, 2], [1, 2, 1, 1], [4, 9, 4, 4], 2)
    passed = drawn(trace, [0, 10, 2, 6])  # job 1, promised 4, is passed twice
    assert head_metrics(passed) == {
        "heads": 1,
        "broken_promises": 1,
        "mean_head_delay": 6,
        "max_head_delay": 6,
    }
    # Job 2 delays the head from 4 to 6, job 3 from 6 to 10.
    assert backfill_metrics(passed) == {
        "backfilled": 0.5,
        "wild_backfills": 1,
        "stolen_time_per_delayed_head": 6,
    }


def test_missing():
    """What has no value is None."""
    schedule = bfenv.simulate(bfenv.make_trace([0], [1], [1], 1), "easy")
    found = summarize(schedule, schedule)
    none = {name for name, value in found["metrics"].items() if value is None}
    users = "user_fairness max_user_bounded_slowdown wild_backfills broken_promises"
    others = "mean_head_delay max_head_delay packing_efficiency throughput_deviation"
    classes = "short_wide long_narrow long_wide medium_estimate long_estimate".split()
    ratios = {f"slowdown_ratio_{name}" for name in classes}
    assert none == {*users.split(), *others.split(), *DELAYS, *GUARANTEES, *ratios}
    assert found["versus"]["mean_wait"]["low"] is None
    assert found["classes"]["long wide"] == {
        "jobs": 0,
        "mean_wait": None,
        "mean_bounded_slowdown": None,
    }
    assert found["curves"]["queue_length"] == {"time": [0, 1], "jobs": [0]}


def test_infinite():
    """An infinite ratio of longest waits is None."""
    trace = bfenv.make_trace([0, 0], [1, 1], [4, 2], 2)
    found = summarize(drawn(trace, [0, 1]), drawn(trace, [0, 0]))
    assert found["metrics"]["longest_wait_ratio"] is None


def test_trials():
    """Trials are part of the summary."""
    found = summarize(TRIED, TRIED)
    assert found["metrics"]["mean_queue_length"] == 4 / 9
    assert not any(math.isnan(value) for value in found["metrics"].values() if value is not None)


@pytest.mark.parametrize("role", ["reference", "fcfs"])
def test_other_jobs(schedules, role):
    """A schedule of other jobs is refused as a reference."""
    with pytest.raises(BfenvError, match="drawn on unnamed .* easy on lublin"):
        summarize(DRAWN, **{role: schedules[1]})


def test_log():
    """The summary of a log has no gaps, except for reservations and guarantees."""
    trace = log("KTH-SP2-1996-2")[:5000]
    easy = bfenv.simulate(trace, "easy")
    found = summarize(easy, easy, fcfs=bfenv.simulate(trace, "fcfs"))
    assert found["metrics"]["broken_promises"] == 0  # EASY keeps them
    none = {name for name, value in found["metrics"].items() if value is None}
    assert none == DELAYS | GUARANTEES
    assert np.sum([part["jobs"] for part in found["classes"].values()]) == 2 * 5000
