"""Suites: frozen lists of traces, known by their content."""

import hashlib
import json
import os
import re

import numpy as np
import pytest

import bfenv
import bfenv.leaderboard.suite as suites
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.run import run_suite
from bfenv.leaderboard.store import read_leaderboard
from tests.conftest import log

# A suite that is not what it was is a new version: these lines are added to, never changed.
DESCRIPTIONS = {
    "synthetic-v1": "deca8e340a59da4c91bba0a802ec611711840f86a7e24362f25976168f396f00",
    "archive-v1": "e7db5fda754444af5424218448730440e54b34453658fec111606bfcbcec09c7",
    "rlscheduler-windows-v1": "a7b45d2716e7b6d0e6298fd2de3b32151907bac3e1582cac25308c9d6d19230b",
    "rlscheduler-windows-v2": "a316c8895e06e870c9d9c69d2a8a9f694da07105c398bc2bc421b2381ded3d28",
    "smoke-v1": "b565ec69d0a67152991fa3988210abd601c98d12eb0d307aa6d5c84b24aa2b46",
}


def traces(suite):
    return [trace for entry in suites.SUITES[suite].entries for trace in entry.traces]


@pytest.mark.parametrize("suite", suites.SUITES)
def test_description(suite):
    """A suite is what it was when it got its version."""
    text = json.dumps(suites.SUITES[suite].description(), sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == DESCRIPTIONS[suite]


@pytest.mark.parametrize("suite", suites.SUITES)
def test_entries(suite):
    """Labels and sources are distinct, and an entry has one trace or one per seed."""
    entries = suites.SUITES[suite].entries
    assert len({entry.label for entry in entries}) == len(entries)
    sources = [trace.source for trace in traces(suite)]
    assert len(set(sources)) == len(sources)
    assert {len(entry.traces) for entry in entries} <= {1, suites.SUITES[suite].seeds}
    assert suite.endswith(f"-v{suites.SUITES[suite].version}")


def test_contents():
    """The data file has the traces of all suites and no others, each with its jobs and hash."""
    wanted = {trace.source for suite in suites.SUITES for trace in traces(suite)}
    assert set(suites.suite_contents()) == wanted
    for source, trace in suites.suite_contents().items():
        assert trace.source == source
        assert isinstance(trace.jobs, int) and trace.jobs > 0
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", trace.hash)
    again = {trace.hash for trace in traces("rlscheduler-windows-v1")}  # are also in version 2
    hashes = {trace.hash for trace in suites.suite_contents().values()}
    assert len(hashes) == len(wanted) - len(again)
    assert suites.suite_contents() is suites.suite_contents()


@pytest.mark.parametrize("suite", ["smoke-v1", "synthetic-v1"])
def test_generated_content(suite):
    """The generated traces have the content they had."""
    for trace in traces(suite):
        assert len(suites.load_frozen(trace.source, trace.hash)) == trace.jobs


@pytest.mark.parametrize(
    "suite", ["archive-v1", "rlscheduler-windows-v1", "rlscheduler-windows-v2"]
)
def test_log_content(suite):
    """The logs have the content they had."""
    if not os.environ.get("BFENV_TRACES"):
        pytest.skip("BFENV_TRACES names no folder of logs")
    for trace in traces(suite):
        assert len(suites.load_frozen(trace.source, trace.hash)) == trace.jobs


def test_other_content():
    """Other content is refused, naming both hashes."""
    trace = traces("smoke-v1")[0]
    found = bfenv.load_workload("lublin:jobs=10").content_hash
    with pytest.raises(bfenv.WorkloadError, match=f"expected {trace.hash}, found {found}"):
        suites.load_frozen("lublin:jobs=10", trace.hash)


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
def test_content_hash(column, changed):
    """The hash depends on all that a schedule depends on, and not on the name."""
    values = {
        "submit": [0, 5, 9],
        "size": [1, 2, 3],
        "estimate": [8, 9, 9],
        "runtime": [3, 4, 5],
        "user": [0, 1, 0],
        "processors": 4,
    }
    trace = bfenv.make_trace(**values)
    renamed = bfenv.make_trace(**values, name="another")
    other = bfenv.make_trace(**values | {column: changed})
    assert trace.content_hash == renamed.content_hash != other.content_hash


def test_archive_suite():
    """The archive suite is the last 40 % of each log by time."""
    log(suites.LOGS[0])
    for name, own, loaded in zip(
        suites.LOGS, traces("archive-v1")[::2], traces("archive-v1")[1::2], strict=True
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


def test_published_mean():
    """RLScheduler, SC'20: the mean of FCFS over ten windows of Lublin-1 is that of the suite."""
    log("lublin_256_10k")
    (entry, _) = suites.SUITES["rlscheduler-windows-v1"].entries
    assert len(entry.traces) == len(suites.WINDOWS) == 10
    windows = [bfenv.load_workload(trace.source) for trace in entry.traces]
    means = [
        bfenv.metrics(s)["mean_bounded_slowdown"] for s in bfenv.simulate_many(windows, "fcfs")
    ]
    assert round(sum(means) / 10, 2) == 7273.77


def test_unknown_suite():
    """An unknown suite is refused with suggestions."""
    with pytest.raises(bfenv.UnknownNameError, match="did you mean smoke-v1"):
        suites.find_suite("smoke")
    assert suites.find_suite("smoke-v1") is suites.SUITES["smoke-v1"]


def test_frozen():
    """A frozen trace cannot be changed."""
    with pytest.raises(AttributeError):
        traces("smoke-v1")[0].hash = "sha256:0"
    assert isinstance(traces("smoke-v1")[0], suites.FrozenTrace)


def test_suite_of(site, tmp_path):
    """The name of one's own suite comes from the content, wherever the file is."""
    copy = tmp_path / "site.swf"
    copy.write_bytes(site.read_bytes())
    assert suites.suite_of([str(site)]).name == suites.suite_of([str(copy)]).name
    assert suites.suite_of([str(site)]).name != suites.suite_of([f"{site}:job_count=10"]).name
    assert suites.suite_of([str(site)]).entries[0].logged
    with pytest.raises(BfenvError, match="two workloads have the name 'site'"):
        suites.suite_of([str(site), str(copy)])
    with pytest.raises(BfenvError, match="needs a workload"):
        suites.suite_of([])


def test_row_of_the_log(site, tmp_path):
    """A leaderboard of one's own log has the log's row, which is not ranked."""
    outcome = run_suite(suites.suite_of([str(site)]), ["fcfs"], out=tmp_path)
    assert [row.policy for row in outcome.new_rows if row.kind == "log"] == ["logged"]
    leaderboard = read_leaderboard(tmp_path)
    assert [row.policy for row in leaderboard.logged] == ["logged"]
    assert [row.policy for row in leaderboard.all_rows] == ["fcfs"]
    assert leaderboard.rows[0].metrics["log_close"] == 1  # the log is that of fcfs
    assert f"--workload {site}" in leaderboard.rows[0].command
