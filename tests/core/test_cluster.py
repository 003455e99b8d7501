"""The machine's verbs, one instant at a time."""

import numpy as np
import pytest

import bfenv
import bfenv.core.cluster as c
from bfenv.core.events import advance, commit_starts, new_cluster, reset
from bfenv.core.illegal_start import find_illegal_start
from bfenv.core.jobs import FOREVER


def machine(*jobs, processors=4, **columns):
    """A cluster of jobs (submit, size, estimate, runtime), its requests and its truth."""
    submit, size, estimate, runtime = zip(*jobs, strict=True)
    trace = bfenv.make_trace(submit, size, runtime, processors, estimate=estimate, **columns)
    cluster, jobs, truth = new_cluster(trace)
    return cluster, jobs, truth


def state(cluster):
    return {
        "now": int(c.now(cluster)),
        "free": int(c.free(cluster)),
        "waiting": c.waiting(cluster).tolist(),
        "running": c.running(cluster).tolist(),
    }


def test_instant():
    """An instant is completions, then arrivals, then one pass."""
    #  P
    #  4 |000011..
    #    +--------> t    job 0 ends at 4, the instant at which job 1 is submitted
    cluster, jobs, truth = machine((0, 4, 9, 4), (4, 4, 2, 2))
    assert advance(cluster, jobs, truth)
    c.start(cluster, jobs, 0)
    assert advance(cluster, jobs, truth)
    assert state(cluster) == {"now": 4, "free": 4, "waiting": [1], "running": []}
    assert c.finished(cluster).tolist() == [0]
    c.start(cluster, jobs, 1)
    assert advance(cluster, jobs, truth)
    assert int(c.now(cluster)) == 6
    assert not advance(cluster, jobs, truth)


def test_ends():
    """A job is expected to end after its estimate, and ends after its runtime."""
    cluster, jobs, truth = machine((0, 1, 9, 4), (1, 1, 2, 2))
    advance(cluster, jobs, truth)
    c.start(cluster, jobs, 0)
    assert cluster.kill_time[0] == 9
    assert cluster.end[0] == -1
    advance(cluster, jobs, truth)
    c.start(cluster, jobs, 1)
    assert c.running(cluster).tolist() == [1, 0]  # by expected end: 3 and 9
    advance(cluster, jobs, truth)
    advance(cluster, jobs, truth)
    assert cluster.end.tolist() == [4, 3]


def test_equal_expected_ends():
    """Running jobs that are expected to end together are in the order of their starts."""
    cluster, jobs, truth = machine((0, 1, 5, 5), (0, 1, 5, 5), (0, 1, 5, 5))
    advance(cluster, jobs, truth)
    for job in (2, 0, 1):
        c.start(cluster, jobs, job)
    assert c.running(cluster).tolist() == [2, 0, 1]


def test_started_jobs():
    """Started jobs stand in the queue until the pass is over."""
    cluster, jobs, truth = machine((0, 1, 5, 5), (0, 1, 5, 5), (0, 1, 5, 5), (0, 1, 5, 5))
    advance(cluster, jobs, truth)
    c.start(cluster, jobs, 2)
    c.start(cluster, jobs, 0)
    assert c.waiting(cluster).tolist() == [0, 1, 2, 3]
    commit_starts(cluster, jobs, truth)
    assert c.waiting(cluster).tolist() == [1, 3]


def test_requested_start():
    """A requested start is an instant, and no start is legal before it."""
    cluster, jobs, truth = machine((0, 1, 5, 5), requested_start=[7])
    advance(cluster, jobs, truth)
    assert not c.may_start(cluster, jobs, 0)
    with pytest.raises(ValueError, match="asked to start later"):
        c.start(cluster, jobs, 0)
    c.wake_at(cluster, 6)
    for time in (6, 7):
        assert advance(cluster, jobs, truth)
        assert int(c.now(cluster)) == time
        assert c.may_start(cluster, jobs, 0) == (time == 7)
    c.start(cluster, jobs, 0)
    advance(cluster, jobs, truth)
    assert cluster.end[0] == 12


def test_wake_ups():
    """Of the wake-ups asked for in a pass, the earliest comes and the others are forgotten."""
    cluster, jobs, truth = machine((0, 1, 5, 5), (50, 1, 5, 5))
    advance(cluster, jobs, truth)
    for time in (30, 20, 40, 0):
        c.wake_at(cluster, time)
    times = []
    while advance(cluster, jobs, truth):
        times.append(int(c.now(cluster)))
    assert times == [20, 50]


def test_killed_trial():
    """A trial that outlives its limit is killed, and the job waits in its old place."""
    #  P
    #  2 |00tt00..    t: trial of job 1 from 2 to 5, killed; it runs for 6 s in the end
    #  1 |            job 2 was submitted later and stays behind it
    cluster, jobs, truth = machine((0, 1, 9, 2), (1, 1, 9, 6), (1, 1, 9, 9), processors=1)
    advance(cluster, jobs, truth)
    c.start(cluster, jobs, 0)
    advance(cluster, jobs, truth)  # 1: arrivals
    advance(cluster, jobs, truth)  # 2: job 0 has ended
    c.try_start(cluster, jobs, 1, 3)
    assert cluster.kill_time[1] == 5
    advance(cluster, jobs, truth)
    assert state(cluster) == {"now": 5, "free": 1, "waiting": [1, 2], "running": []}
    assert (cluster.trial_start[1], cluster.trial_end[1]) == (2, 5)
    assert (cluster.start[1], cluster.end[1]) == (-1, -1)
    assert c.finished(cluster).tolist() == []
    c.start(cluster, jobs, 1)
    advance(cluster, jobs, truth)
    assert cluster.end[1] == 11


def test_trial_goes_on():
    """In the second in which its trial ends, a job may go on, as if it had not been killed."""
    cluster, jobs, truth = machine((0, 1, 9, 6), (5, 1, 9, 9))
    advance(cluster, jobs, truth)
    c.try_start(cluster, jobs, 0, 3)
    advance(cluster, jobs, truth)
    c.try_start(cluster, jobs, 0, 1)
    assert (cluster.start[0], cluster.kill_time[0], cluster.trial_end[0]) == (0, 4, -1)
    advance(cluster, jobs, truth)
    c.try_start(cluster, jobs, 0, 9)
    assert cluster.kill_time[0] == 9
    advance(cluster, jobs, truth)
    advance(cluster, jobs, truth)
    assert (int(c.now(cluster)), cluster.end[0]) == (6, 6)


def test_refused_trial():
    """A trial that was refused can be made later."""
    cluster, jobs, truth = machine((0, 3, 5, 5), (0, 2, 9, 5))
    advance(cluster, jobs, truth)
    c.start(cluster, jobs, 0)
    with pytest.raises(ValueError, match="does not wait, does not fit"):
        c.try_start(cluster, jobs, 1, 3)
    assert cluster.trial_start[1] == -1
    advance(cluster, jobs, truth)
    c.try_start(cluster, jobs, 1, 3)
    assert cluster.trial_start[1] == 5


@pytest.mark.parametrize("job", [-1, 2, 10**12, -(10**12)])
def test_no_such_job(job):
    """A start or a trial of a job that has not been submitted is refused, and the job is named."""
    cluster, jobs, truth = machine((0, 1, 9, 5), (0, 1, 9, 5), (7, 1, 9, 5))
    advance(cluster, jobs, truth)
    for verb, *limit in ((c.start,), (c.try_start, 3), (c.try_start, 0)):
        with pytest.raises(ValueError, match="has not been submitted"):
            verb(cluster, jobs, job, *limit)
        assert find_illegal_start(cluster, jobs).job == job


def test_second_0():
    """A job started in second 0 is not started again; one tried then has no second trial."""
    cluster, jobs, truth = machine((0, 1, 9, 5), (0, 1, 9, 5), (2, 1, 9, 5))
    advance(cluster, jobs, truth)
    c.start(cluster, jobs, 0)
    assert not c.may_start(cluster, jobs, 0)
    with pytest.raises(ValueError, match="does not wait"):
        c.start(cluster, jobs, 0)
    c.try_start(cluster, jobs, 1, 1)
    advance(cluster, jobs, truth)
    assert state(cluster) == {"now": 1, "free": 3, "waiting": [1], "running": [0]}
    advance(cluster, jobs, truth)
    with pytest.raises(ValueError, match="has had its trial"):
        c.try_start(cluster, jobs, 1, 3)


def test_long_trial():
    """A trial no shorter than the estimate is a start."""
    cluster, jobs, truth = machine((0, 1, 9, 9))
    advance(cluster, jobs, truth)
    c.try_start(cluster, jobs, 0, 9)
    assert cluster.trial_start[0] == -1
    with pytest.raises(ValueError):
        c.try_start(cluster, jobs, 0, 0)


@pytest.mark.parametrize("order", ["standard", "pyss"])
def test_reset(order):
    """After a reset, nothing remains of a run: no start, end or trial, nor what was to come."""
    rows = [(0, 1, 9, 9), (0, 2, 9, 5), (0, 1, 9, 2), (1, 4, 9, 9)]
    submit, size, estimate, runtime = zip(*rows, strict=True)
    trace = bfenv.make_trace(submit, size, runtime, 4, estimate=estimate)
    fresh, *_ = new_cluster(trace, event_order=order)
    cluster, jobs, truth = new_cluster(trace, event_order=order)
    while c.now(cluster) < 3:
        assert advance(cluster, jobs, truth)
        if cluster.start[2] == -1 and cluster.trial_start[2] < 0:
            c.try_start(cluster, jobs, 2, 1)
            c.start(cluster, jobs, 1)
        if cluster.trial_end[2] >= 0 and cluster.start[2] < 0:
            c.start(cluster, jobs, 2)
    assert cluster.end[2] == 3 and truth.event_count[0] > 0
    with pytest.raises(ValueError):
        c.start(cluster, jobs, 1)
    reset(cluster, truth, 4, 0, len(rows))
    assert truth.event_count[0] == 0
    assert (jobs.submit == FOREVER).all() and (np.stack(jobs) == truth.known[:, -1:]).all()
    assert cluster.state.tolist() == fresh.state.tolist()
    for name in cluster._fields[1:]:
        assert getattr(cluster, name).tolist() == getattr(fresh, name).tolist()
    assert fresh.state[c.OFFENDER] == -1
    assert fresh.end.tolist() == fresh.kill_time.tolist() == [-1] * 4


def test_retract():
    """Retracting leaves the machine as it was before the pass."""
    cluster, jobs, truth = machine((0, 1, 9, 9), (0, 1, 5, 5), (0, 1, 9, 3), (0, 1, 9, 9))
    advance(cluster, jobs, truth)
    c.start(cluster, jobs, 0)
    commit_starts(cluster, jobs, truth)
    before = state(cluster)
    c.start(cluster, jobs, 1)
    c.try_start(cluster, jobs, 2, 4)
    c.start(cluster, jobs, 3)
    c.wake_at(cluster, 3)
    c.retract(cluster, jobs)
    assert state(cluster) == before
    assert cluster.start[1:].tolist() == cluster.trial_start[1:].tolist() == [-1, -1, -1]
    advance(cluster, jobs, truth)
    assert int(c.now(cluster)) == 9  # no wake-up at 3


def test_horizon():
    """Nothing happens at the horizon or beyond it."""
    cluster, jobs, truth = machine((0, 1, 5, 5), (3, 1, 5, 5))
    cluster.state[c.HORIZON] = 3
    assert advance(cluster, jobs, truth)
    assert not advance(cluster, jobs, truth)
    assert state(cluster) == {"now": 0, "free": 4, "waiting": [0], "running": []}


def test_ends_ahead():
    """One event at a time, two ends can lie ahead on one processor.

    Job 1 starts before the end of job 0 is handled.
    """
    trace = bfenv.make_trace([0, 4], [1, 1], [4, 4], 1)
    cluster, jobs, truth = new_cluster(trace, event_order="pyss")
    while advance(cluster, jobs, truth):
        for job in c.waiting(cluster):
            if c.may_start(cluster, jobs, job):
                c.start(cluster, jobs, job)
    assert (cluster.start.tolist(), cluster.end.tolist()) == ([0, 4], [4, 8])
    assert len(truth.event_time) == 2


def test_ends_together():
    """One event at a time, jobs that end together end in the order of their starts."""
    rows = [(0, 1, 9, 5), (0, 1, 9, 5)]
    submit, size, estimate, runtime = zip(*rows, strict=True)
    trace = bfenv.make_trace(submit, size, runtime, 2, estimate=estimate)
    cluster, jobs, truth = new_cluster(trace, event_order="pyss")
    for _ in range(2):  # the two arrivals
        assert advance(cluster, jobs, truth)
    c.start(cluster, jobs, 1)
    c.start(cluster, jobs, 0)
    ends = []
    while advance(cluster, jobs, truth):
        ends.append(c.finished(cluster).tolist())
    assert ends == [[1], [0]]
    assert cluster.state[c.PASSES] == 4
