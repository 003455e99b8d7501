"""Jobs that wait for others: eligible at the end of the job before plus the think time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.dependencies import dependencies_of
from bfenv.core.errors import BfenvError
from tests.conftest import small_traces
from tests.linked_jobs import chained, chains

POLICIES = ("fcfs", "easy", "conservative", "conservative-replan", "easy(order='size', guard=1)")


@pytest.mark.parametrize("policy", POLICIES)
def test_think_time(policy):
    """A job starts after the end of the job before and its think time.

    Four processors: jobs 0 and 1 would fit together, and job 2 takes what job 1 leaves.
    """
    trace = bfenv.make_trace([0, 1, 2], [2, 2, 2], [100, 50, 30], 4)
    for think, start in ((0, 100), (7, 107)):
        follow = chained(trace, [-1, 0, -1], [-1, think, -1])
        assert bfenv.simulate(follow, policy).start.tolist() == [0, start, 2]


@given(chains(), st.sampled_from(POLICIES))
@settings(max_examples=150)
def test_eligible_starts(trace, policy):
    """No job starts before the end of the job before it plus its think time."""
    schedule = bfenv.simulate(trace, policy).check()
    follow = dependencies_of(trace)
    if follow is not None:
        waits = follow.before >= 0
        eligible = schedule.end[follow.before] + follow.think
        assert (schedule.start >= eligible)[waits].all()


@given(small_traces(jobs=10, processors=6), st.sampled_from(POLICIES))
@settings(max_examples=60)
def test_met_dependencies(trace, policy):
    """A job that waits for one that has ended long before has the schedule without dependencies."""
    free = chained(trace, [-1] * len(trace), [-1] * len(trace))
    start = bfenv.simulate(free, policy)
    before = [
        next((j for j in range(i) if start.end[j] <= trace.jobs.submit[i]), -1)
        for i in range(len(trace))
    ]
    follow = bfenv.simulate(chained(trace, before, [0] * len(trace)), policy)
    assert follow.start.tolist() == start.start.tolist()


def test_missing_jobs():
    """A dependency on a job that is missing or comes later is ignored."""
    trace = bfenv.make_trace([0, 1, 2], [1, 1, 1], [9, 9, 9], 4)
    assert dependencies_of(chained(trace, [1, 40, -1], [0, 0, 0])) is None
    assert dependencies_of(chained(trace, [-1, 0, 1], [0, 0, 0])[1:]).before.tolist() == [-1, 0]


def test_dependencies_are_content():
    """Traces whose jobs wait for different jobs have different hashes."""
    trace = bfenv.make_trace([0, 1], [1, 1], [9, 9], 4)
    hashes = {chained(trace, [-1, place], [0, 0]).hash for place in (-1, 0)}
    assert len(hashes) == 2


def write_log(path):
    path.write_text(
        "; MaxProcs: 8\n"
        "1 0 0 3600 4 -1 -1 4 3600 -1 1 1 1 1 1 1 -1 -1\n"
        "2 2 3598 3600 2 -1 -1 2 3600 -1 1 1 1 1 1 1 1 60\n"
    )
    return path


def test_log(tmp_path):
    """A log says that its dependencies are followed, unless ignored; environments refuse it."""
    path = write_log(tmp_path / "log.swf")
    with pytest.warns(UserWarning, match="log.swf: 1 job waits for the end of another job"):
        trace = bfenv.read_swf(path)
    assert bfenv.simulate(trace, "easy").start.tolist() == [0, 3660]
    free = bfenv.read_swf(path, dependencies="ignore")
    assert bfenv.simulate(free, "easy").start.tolist() == [0, 2]
    with pytest.raises(BfenvError, match="environments do not follow"):
        bfenv.envs.BackfillEnv(trace)
