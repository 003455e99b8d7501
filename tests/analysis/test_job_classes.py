"""Classes of jobs and their metrics."""

import math

import numpy as np

import bfenv
from bfenv.analysis.job_classes import class_metrics, classify_jobs
from bfenv.analysis.schedule_metrics import bounded_slowdown

TRACE = bfenv.make_trace(
    [0] * 6, [8, 9, 8, 9, 1, 1], [3600, 3600, 3601, 3601, 1, 1], 64,
    estimate=[9_999, 10_000, 9_999, 10_000, 999, 1_000],
)  # fmt: skip


def test_limits():
    """The limits belong to short, to narrow, and to the longer estimate."""
    chosen = {name: np.flatnonzero(jobs).tolist() for name, jobs in classify_jobs(TRACE).items()}
    assert chosen == {
        "short narrow": [0, 4, 5],
        "short wide": [1],
        "long narrow": [2],
        "long wide": [3],
        "small estimate": [4],
        "medium estimate": [0, 2, 5],
        "long estimate": [1, 3],
    }


def test_partitions():
    """Both partitions have each job once."""
    classes = list(classify_jobs(bfenv.load_workload("lublin:jobs=300")).values())
    assert (np.sum(classes[:4], axis=0) == 1).all() and (np.sum(classes[4:], axis=0) == 1).all()


def test_class_metrics():
    """The means of a class are those of its jobs, NaN without any."""
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 9], [10, 20, 5000], 10)
    schedule = bfenv.simulate(trace, "fcfs")
    assert schedule.wait.tolist() == [0, 0, 10]
    found = class_metrics(schedule)
    assert found["short narrow"] == {"jobs": 2, "mean_wait": 0, "mean_bounded_slowdown": 1}
    assert found["long wide"]["mean_wait"] == 10
    assert found["long wide"]["mean_bounded_slowdown"] == bounded_slowdown(schedule)[2] == 1.002
    assert found["long narrow"]["jobs"] == 0 and math.isnan(found["long narrow"]["mean_wait"])
