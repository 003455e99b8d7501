"""One row: what is in it, and what becomes of policies and agents that fail."""

import re
from importlib.metadata import version

import numpy as np
import pytest

import bfenv
from bfenv.agents.card import Card, write_card
from bfenv.agents.seen_jobs import searched_spans
from bfenv.core.versions import sources_hash, versions
from bfenv.evaluation.row import Curves, Versus
from bfenv.leaderboard.make_row import make_row, warm_seconds
from bfenv.leaderboard.provenance import commit, is_made_here
from bfenv.leaderboard.task import plan_rows
from bfenv.parallel.worker_process import close_worker
from tests.leaderboard.suites import SAMPLES, TINY

LONG = 120.0  # seconds, never reached


@pytest.fixture(scope="module", autouse=True)
def _close():
    yield
    close_worker()


def make(policies=(), agents=(), suite=TINY, timeout=LONG, keep=False):
    (task, *_) = plan_rows(suite, policies, agents)
    return make_row(task, timeout, keep)


def test_policy():
    """A row has the task, the trace, the results, and what they depend on."""
    made = make(["easy(order=sjf)"])
    row, timing = made.row, made.timing
    trace = bfenv.load_workload(row.source)
    schedule = bfenv.simulate(trace, "easy(order=sjf)")
    assert (row.suite, row.policy, row.kind) == ("tiny-v1", "easy(order=sjf)", "policy")
    assert (row.workload, row.load, row.seed, row.code) == ("one", 0.8, 0, None)
    assert (row.status, row.error) == ("ok", "")
    assert row.workload_hash == trace.content_hash
    assert (row.jobs, row.processors) == (len(trace), trace.processors)
    assert row.offered_load == trace.offered_load
    assert row.command == (
        "bfenv leaderboard run --suite tiny-v1 --policy 'easy(order=sjf)' --out DIR"
    )
    assert (row.versions, row.commit) == (versions() | {"sources": sources_hash()}, commit())
    expected = bfenv.metrics(schedule)
    assert {name: row.metrics[name] for name in expected} == expected
    easy = bfenv.metrics(bfenv.simulate(trace, "easy"))
    difference = row.versus.differences["mean_wait"].difference
    assert row.versus.reference == "easy"
    assert difference == pytest.approx(expected["mean_wait"] - easy["mean_wait"])
    assert row.curves.wait_quantiles[-1] == schedule.wait.max()
    assert 0 < timing["seconds"] <= timing["row_seconds"]
    assert made.arrays == {}


@pytest.mark.together
@pytest.mark.parametrize(
    ("policy", "package"),
    [("slurm", "bfenv_site"), ("easy", None), ("rlscheduler", "bfenv_lab")],
)
def test_sources_of_a_distribution(policy, package):
    """The row of a policy of another distribution records its version and sources as well."""
    name = None if package is None else package.replace("_", "-")
    own = versions() | {"sources": sources_hash()}
    beside = {} if name is None else {name: version(name), f"{name} sources": sources_hash(package)}
    row = make([policy]).row
    assert row.versions == own | beside
    assert is_made_here(row.versions) and not is_made_here({**row.versions, "sources": "other"})
    assert all(not is_made_here({**row.versions, key: "other"}) for key in beside)


def test_kept_schedule():
    """The arrays of the schedule come with the row on request, those of trials if there are any."""
    for policy in ("easy", "easy-speculative"):
        arrays = make([policy], keep=True).arrays
        schedule = bfenv.simulate(bfenv.load_workload(TINY.entries[0].traces[0].source), policy)
        assert {"start", "end"} <= set(arrays)
        assert ("trial_end" in arrays) == bool((schedule.trial_end >= 0).any())
        for name, values in arrays.items():
            assert np.array_equal(values, getattr(schedule, name))


@pytest.mark.together
@pytest.mark.parametrize(
    ("agent", "error"),
    [
        ("raising", r"RuntimeError: it cannot decide\?\[2J \(sample_agents.py, line \d+\)"),
        ("crashing", re.escape("its process died (SIGABRT)")),
        ("leaving", r"SystemExit: 3 \(sample_agents.py, line \d+\)"),
        ("illegal", r"illegal action at \d+ s: slot 7"),
        ("nonsense", "action must be an integer, got .slot 1."),
    ],
)
def test_bad_agent(agent, error):
    """An agent that fails has a row with the reason, and no results."""
    made = make([], [f"{SAMPLES}:{agent}:window=4"])
    assert made.row.status == "failed"
    assert re.fullmatch(error, made.row.error)
    assert (made.row.metrics, made.row.versus, made.row.curves) == ({}, Versus(), Curves())
    assert (made.row.jobs, made.row.kind) == (40, "agent")
    assert made.timing["row_seconds"] > 0


def test_agent_of_a_search(tmp_path):
    """An agent has a row like any policy, but none on jobs that it was trained on."""
    source = TINY.entries[0].traces[0].source
    for training, status in ((source.replace("seed=7", "seed=8"), "ok"), (source, "failed")):
        path = tmp_path / f"{status}.json"
        record = tuple(searched_spans((training,), "all"))
        write_card(path, Card("x", "completion", "policy", "", "easy(order=sjf)", {}, record))
        row = make([f"agent:{path}"]).row
        assert (row.policy, row.status) == (f"agent:{path}", status)
        assert ("was trained on" in row.error) == (status == "failed")
        assert row.code


@pytest.mark.together
def test_endless_loop():
    """A compiled endless loop is stopped when the row's time is up."""
    made = make([], [f"{SAMPLES}:looping"], timeout=4)
    assert (made.row.status, made.row.error) == ("failed", "no result within 4 s")


def test_warm_seconds():
    """Seconds per job are positive; a policy that fails costs nothing here."""
    assert warm_seconds("easy") > 0
    assert warm_seconds("no such policy") == 0
