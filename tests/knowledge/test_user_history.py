"""What is known of a job's user, against the slow version, and what must not be known."""

import numpy as np
import pytest
from hypothesis import given, settings

import bfenv
import bfenv.knowledge.user_history as h
from bfenv.core.cluster import finished, may_start, now, running, start, waiting
from bfenv.core.policy import Policy
from tests.conftest import small_traces
from tests.oracles import user_history as oracle


def known(cluster, jobs, history):
    """All quantities of all waiting jobs, (jobs, quantities)."""
    h.learn_jobs(history, cluster, jobs, finished(cluster))
    h.count_jobs(history, cluster, jobs, h.ALL_COUNTS)
    return np.array(
        [
            [h.quantity(history, cluster, jobs, job, which) for which in range(len(h.NAMES))]
            for job in waiting(cluster)
        ]
    )


def first_that_fit(cluster, jobs):
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def observed(trace):
    """What is known at every pass of a run that starts whatever fits: [(time, {job: values})]."""
    seen = []
    history = h.new_user_history(trace.jobs)
    ended = []
    rows = [
        {name: int(getattr(trace.jobs, name)[job]) for name in trace.jobs._fields}
        for job in range(len(trace))
    ]

    def decide(cluster, jobs, memory):
        ended.extend((job, int(cluster.end[job] - cluster.start[job])) for job in finished(cluster))
        values = known(cluster, jobs, history)
        queue = waiting(cluster).tolist()
        expected = [
            oracle.quantities(
                job,
                int(now(cluster)),
                rows,
                trace.processors,
                ended,
                queue,
                running(cluster).tolist(),
                set(),
            )
            for job in queue
        ]
        seen.append((int(now(cluster)), dict(zip(queue, values, strict=True)), expected))
        first_that_fit(cluster, jobs)

    bfenv.simulate(trace, Policy("watching", decide))
    return seen


@given(small_traces(jobs=10))
@settings(max_examples=30)
def test_slow_version(trace):
    """Every quantity of every waiting job at every pass equals the recomputed one."""
    for _, values, expected in observed(trace):
        for row, one in zip(values.values(), expected, strict=True):
            assert row == pytest.approx([one[name] for name in h.NAMES], rel=1e-12)


def test_names_and_quantities_agree():
    """Each quantity has a name, a unit and a meaning."""
    assert len(set(h.NAMES)) == len(h.NAMES) == len(h.QUANTITIES)
    assert all(each.unit and each.meaning for each in h.QUANTITIES)


def test_no_users():
    """Without users, estimates stand in for runtimes, and a job counts itself only."""
    trace = bfenv.make_trace([0, 0, 5], [1, 1, 1], [3, 3, 3], 1, estimate=[4, 9, 6], user=[-1] * 3)
    for _, values, _ in observed(trace):
        for job, row in values.items():
            by_name = dict(zip(h.NAMES, row, strict=True))
            assert by_name["user_runtime"] == by_name["prediction"] == trace.jobs.estimate[job]
            assert by_name["user_queued"] == 1
            assert by_name["user_running"] == by_name["user_ended"] == 0
            assert by_name["accuracy"] == 1
