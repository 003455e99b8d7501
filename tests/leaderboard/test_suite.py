"""Suites: frozen lists of traces, known by their content."""

import hashlib
import json
import os

import numpy as np
import pytest

import bfenv
from bfenv.leaderboard.suite import (
    LOGS,
    SUITES,
    WINDOWS,
    Frozen,
    content_hash,
    find_suite,
    load_frozen,
)
from tests.conftest import log

# A suite that is not what it was is a new version: these lines are added to, never changed.
DESCRIPTIONS = {
    "synthetic-v1": "deca8e340a59da4c91bba0a802ec611711840f86a7e24362f25976168f396f00",
    "archive-v1": "e7db5fda754444af5424218448730440e54b34453658fec111606bfcbcec09c7",
    "rlscheduler-windows-v1": "a7b45d2716e7b6d0e6298fd2de3b32151907bac3e1582cac25308c9d6d19230b",
    "smoke-v1": "b565ec69d0a67152991fa3988210abd601c98d12eb0d307aa6d5c84b24aa2b46",
}


def traces(suite):
    return [trace for entry in SUITES[suite].entries for trace in entry.traces]


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_is_what_it_was_when_it_got_its_version(suite):
    text = json.dumps(SUITES[suite].description(), sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == DESCRIPTIONS[suite]


@pytest.mark.parametrize("suite", SUITES)
def test_labels_and_sources_are_distinct_and_seeds_count_the_traces(suite):
    entries = SUITES[suite].entries
    assert len({entry.label for entry in entries}) == len(entries)
    sources = [trace.source for trace in traces(suite)]
    assert len(set(sources)) == len(sources)
    assert {len(entry.traces) for entry in entries} <= {1, SUITES[suite].seeds}
    assert suite.endswith(f"-v{SUITES[suite].version}")


@pytest.mark.parametrize("suite", ["smoke-v1", "synthetic-v1"])
def test_the_generated_traces_have_the_content_they_had(suite):
    for trace in traces(suite):
        assert len(load_frozen(trace.source, trace.hash)) == trace.jobs


@pytest.mark.parametrize("suite", ["archive-v1", "rlscheduler-windows-v1"])
def test_the_logs_have_the_content_they_had(suite):
    if not os.environ.get("BFENV_TRACES"):
        pytest.skip("BFENV_TRACES names no folder of logs")
    for trace in traces(suite):
        assert len(load_frozen(trace.source, trace.hash)) == trace.jobs


def test_other_content_is_refused_saying_what_was_expected():
    trace = traces("smoke-v1")[0]
    found = content_hash(bfenv.load_workload("lublin:jobs=10"))
    with pytest.raises(bfenv.WorkloadError, match=f"expected {trace.hash}, found {found}"):
        load_frozen("lublin:jobs=10", trace.hash)


@pytest.mark.parametrize(
    ("column", "changed"),
    [
        ("submit", [0, 5, 10]),
        ("size", [1, 2, 4]),
        ("estimate", [8, 9, 10]),
        ("user", [0, 1, 2]),
        ("runtime", [3, 4, 6]),
        ("processors", 5),
    ],
)
def test_the_hash_is_of_all_that_a_schedule_depends_on(column, changed):
    values = {
        "submit": [0, 5, 9],
        "size": [1, 2, 3],
        "estimate": [8, 9, 9],
        "runtime": [3, 4, 5],
        "user": [0, 1, 0],
        "processors": 4,
    }
    one = bfenv.make_trace(**values)
    assert content_hash(one) == content_hash(bfenv.make_trace(**values, name="another"))
    other = bfenv.make_trace(**values | {column: changed})
    assert content_hash(one) != content_hash(other)


def test_the_archive_suite_is_the_last_forty_percent_of_the_time():
    log(LOGS[0])
    for name, own, loaded in zip(
        LOGS, traces("archive-v1")[::2], traces("archive-v1")[1::2], strict=True
    ):
        whole = bfenv.load_workload(name)
        submit = whole.jobs.submit
        last = submit - submit[0] >= 0.6 * (submit[-1] - submit[0])
        part = bfenv.load_workload(own.source)
        assert np.array_equal(part.runtime, whole.runtime[last])
        assert np.array_equal(np.diff(part.jobs.submit), np.diff(submit[last]))
        faster = bfenv.load_workload(loaded.source)
        assert np.array_equal(faster.runtime, part.runtime)
        assert abs(faster.offered_load - 0.9) < 1e-4


def test_the_published_mean_over_the_windows_of_lublin_1_is_that_of_the_suite():
    """RLScheduler, SC'20: FCFS, mean over ten windows."""
    log("lublin_256_10k")
    (entry, _) = SUITES["rlscheduler-windows-v1"].entries
    assert len(entry.traces) == len(WINDOWS) == 10
    windows = [bfenv.load_workload(trace.source) for trace in entry.traces]
    means = [
        bfenv.metrics(s)["mean_bounded_slowdown"] for s in bfenv.simulate_many(windows, "fcfs")
    ]
    assert round(sum(means) / 10, 2) == 7273.77


def test_an_unknown_suite_is_refused_with_suggestions():
    with pytest.raises(bfenv.UnknownNameError, match="did you mean smoke-v1"):
        find_suite("smoke")
    assert find_suite("smoke-v1") is SUITES["smoke-v1"]


def test_a_frozen_trace_cannot_be_changed():
    with pytest.raises(AttributeError):
        traces("smoke-v1")[0].hash = "sha256:0"
    assert isinstance(traces("smoke-v1")[0], Frozen)
