"""The schedule that a log records, and what is said about it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bfenv
from bfenv.analysis.calibration import calibrate, rank_correlation, verdict
from bfenv.analysis.logged import cautions, logged_schedule
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import make_trace
from bfenv.core.schedule import Schedule
from bfenv.workloads.logs.records import PARTITION, PRECEDING, WAIT


def site_log(folder, waits=(0, 5, 20, 0), processors=4):
    """Four jobs of sizes 2, 4, 1, 3, one each ten seconds, of 10 s, read from a file."""
    lines = [f"; MaxProcs: {processors}"]
    for job, wait in enumerate(waits):
        size = (2, 4, 1, 3)[job % 4]
        submit = 100 + 10 * job
        lines.append(f"{job + 1} {submit} {wait} 10 {size} -1 -1 {size} 30 -1 1 1 1 -1 1 1 -1 -1")
    path = folder / "site.swf"
    path.write_text("\n".join(lines) + "\n")
    return bfenv.read_swf(path)


def test_starts(tmp_path):
    """Each job starts at its submit time plus its logged wait and runs for its runtime."""
    logged = logged_schedule(site_log(tmp_path))
    assert logged.policy == "logged"
    assert logged.start.tolist() == [0, 15, 40, 30]
    assert logged.end.tolist() == [10, 25, 50, 40]
    logged.check()


def test_window(tmp_path):
    """A part of a log has the waits of its own jobs, counted from its own beginning."""
    assert logged_schedule(site_log(tmp_path)[1:3]).start.tolist() == [5, 30]


def test_no_schedule(tmp_path):
    """Without records or waits, or with other submit times or sizes, nothing is as it ran."""
    trace = site_log(tmp_path)
    assert logged_schedule(bfenv.make_trace([0], [1], [1], 1)) is None
    records = trace.records.copy()
    records[:, WAIT] = -1
    assert logged_schedule(replace(trace, records=records)) is None
    later = trace.jobs._replace(submit=trace.jobs.submit * 2)
    assert logged_schedule(replace(trace, jobs=later)) is None
    smaller = trace.jobs._replace(size=np.ones(4, dtype=np.int64))
    assert logged_schedule(replace(trace, jobs=smaller)) is None


def test_estimates_do_not_matter(tmp_path):
    """With other estimates, the jobs still ran when they ran."""
    trace = bfenv.load_workload(str(tmp_path / "site.swf") if site_log(tmp_path) else "")
    exact = bfenv.load_workload(str(tmp_path / "site.swf"), estimates="exact")
    assert logged_schedule(exact).start.tolist() == logged_schedule(trace).start.tolist()


def test_few_unknown(tmp_path):
    """One unknown wait in a hundred counts as none; two are too many."""
    waits = [5] * 100
    waits[7] = -1
    logged = logged_schedule(site_log(tmp_path, waits))
    assert logged.wait.tolist() == [0 if job == 7 else 5 for job in range(100)]
    waits[8] = -1
    assert logged_schedule(site_log(tmp_path, waits)) is None


def test_overfull(tmp_path):
    """A log that uses more than the machine has says so, with the peak."""
    logged = logged_schedule(site_log(tmp_path, (0, 0, 0, 0)))
    assert not any("machine's size may be wrong" in text for text in cautions(logged))
    logged = logged_schedule(site_log(tmp_path, (5, 0, 0, 0)))
    [text] = [text for text in cautions(logged) if "machine's size may be wrong" in text]
    assert "up to 6 processors of a machine of 4" in text


@pytest.mark.parametrize(
    ("field", "what"),
    [(PARTITION, "2 partitions"), (PRECEDING, "that 1 job (25.0 %) waits for another job")],
)
def test_left_out(tmp_path, field, what):
    """What the log shows and the engine does not follow is named."""
    trace = site_log(tmp_path)
    records = trace.records.copy()
    records[2, field] = 7
    text = " ".join(cautions(logged_schedule(replace(trace, records=records))))
    assert what in text
    assert what not in " ".join(cautions(logged_schedule(trace)))


def test_outages_followed(tmp_path):
    """Outages are named as left out only where the trace has none."""
    trace = site_log(tmp_path)
    assert "outages and maintenance" in cautions(logged_schedule(trace))
    known = replace(trace, outages=(bfenv.core.jobs.Outage(100, 200, 4),))
    assert "outages and maintenance" not in cautions(logged_schedule(known))


def test_few_without_estimate(tmp_path):
    """Of jobs without an estimate, the count is told, and a small share is not 0."""
    trace = site_log(tmp_path, [5] * 3_000)
    one = replace(trace, cleaning=replace(trace.cleaning, no_estimate=1))
    two = replace(trace, cleaning=replace(trace.cleaning, no_estimate=2))
    assert "1 job (less than 0.1 %) has no estimate" in " ".join(cautions(logged_schedule(one)))
    assert "2 jobs (less than 0.1 %) have no estimate" in " ".join(cautions(logged_schedule(two)))


def waiting(*waits):
    """A schedule of jobs of one second each that wait so long."""
    count = len(waits)
    trace = make_trace(range(count), [1] * count, [1] * count, count)
    start = trace.jobs.submit + np.array(waits)
    never = np.full(count, -1)
    return Schedule(trace, "test", 0, start, start + 1, never, never)


def test_numbers():
    """Ratios of mean and median, and the jobs within ten minutes or a factor of two."""
    own, real = waiting(0, 600, 1_000, 10_000), waiting(600, 1_300, 3_000, 20_000)
    numbers = calibrate(own, real)
    assert numbers["log_mean_wait_ratio"] == pytest.approx(11_600 / 24_900)
    assert numbers["log_median_wait_ratio"] == pytest.approx(800 / 2_150)
    assert numbers["log_rank_correlation"] == pytest.approx(1)
    assert numbers["log_close"] == 0.5  # the first by ten minutes, the last by its factor


def test_itself():
    """A schedule repeats itself: ratios of 1, all jobs close, and a good verdict."""
    numbers = calibrate(waiting(1, 2, 5), waiting(1, 2, 5))
    assert list(numbers.values()) == pytest.approx([1, 1, 1, 1])
    assert verdict(numbers) == "good"


def test_nothing_waits():
    """Where only the log has no waits, ratios are unknown, and it is repeated poorly."""
    numbers = calibrate(waiting(0, 5), waiting(0, 0))
    assert math.isnan(numbers["log_mean_wait_ratio"])
    assert math.isnan(numbers["log_rank_correlation"])
    assert verdict(numbers) == "poor"


@pytest.mark.parametrize(
    ("simulated", "logged", "word"),
    [
        ((0, 0), (0, 0), "good"),
        ((0,), (0,), "good"),
        ((50, 50), (60, 60), "good"),
        ((0, 0), (60, 60), "poor"),
        ((60, 60), (0, 0), "poor"),
        ((60, 60), (60, 61), "poor"),
    ],
)
def test_equal_waits(simulated, logged, word):
    """Waits that are equal in both schedules are in one order, and their mean decides."""
    assert verdict(calibrate(waiting(*simulated), waiting(*logged))) == word


@pytest.mark.parametrize(
    ("ratio", "correlation", "close", "word"),
    [
        (1.25, 0.7, 0.7, "good"),
        (0.8, 0.7, 0.7, "good"),
        (0.79, 0.7, 0.7, "fair"),
        (1.0, 0.69, 0.9, "fair"),
        (0.5, 0.4, 0.5, "fair"),
        (2.01, 0.9, 0.9, "poor"),
        (1.0, 0.39, 0.9, "poor"),
        (1.0, 0.9, 0.49, "poor"),
        (None, 0.9, 0.9, "poor"),
    ],
)
def test_verdict(ratio, correlation, close, word):
    """All three numbers must reach a verdict's limits."""
    numbers = {
        "log_mean_wait_ratio": ratio,
        "log_rank_correlation": correlation,
        "log_close": close,
    }
    assert verdict(numbers) == word


def test_no_verdict():
    """Without a log there is no verdict."""
    assert verdict({"mean_wait": 1.0}) == ""


def test_other_jobs():
    """Schedules of other jobs are refused."""
    with pytest.raises(BfenvError, match="the jobs differ"):
        calibrate(waiting(1, 2), waiting(1, 2, 3))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_rank_correlation(pairs):
    """It is Spearman's coefficient, ties included."""
    x, y = np.array(pairs, dtype=float).T
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(rank_correlation(x, y))
    else:
        assert rank_correlation(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
