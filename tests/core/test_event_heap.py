"""The heap of events against a sorted list."""

from bisect import insort

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.easy import decide
from bfenv.core.cluster import HORIZON, running
from bfenv.core.events import advance, copy_machine, new_cluster, pop, push, renew_ends
from bfenv.core.jobs import FOREVER
from tests.conftest import small_traces
from tests.core.heaps import new_heap

events = st.lists(st.tuples(st.integers(0, 9), st.integers(-9, 9)), max_size=20)


@given(events, st.data())
def test_mixed(events, data):
    """Pushes and pops may alternate in any way."""
    heap, expected = new_heap(len(events)), []
    for time, entry in events:
        push(heap, time, entry)
        expected.append((time, entry))
        for _ in range(data.draw(st.integers(0, len(expected)))):
            first = min(expected)
            expected.remove(first)
            assert pop(heap) == first[1]
    assert heap.event_count[0] == len(expected)


def test_large():
    """Order is kept in a heap of many layers as well, while it grows and shrinks."""
    generator = np.random.default_rng(0)
    heap, expected = new_heap(1000), []
    for pushes, pops in ((300, 200), (400, 300), (100, 300)):
        for event in generator.integers(0, 100, (pushes, 2)).tolist():
            push(heap, *event)
            insort(expected, event)
        for _ in range(pops):
            time, entry = expected.pop(0)
            assert heap.event_time[0] == time and pop(heap) == entry
    assert heap.event_count[0] == 0


def run(cluster, jobs, truth, horizon=FOREVER):
    cluster.state[HORIZON] = horizon
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, ())


@given(small_traces(jobs=12), st.integers(0, 30), st.integers(0, 30))
def test_copy_runs_on(trace, horizon, later):
    """A machine that has gone on becomes the other one, earlier; both then run to the same end."""
    one, other = new_cluster(trace), new_cluster(trace)
    run(*one, horizon)
    run(*other, horizon + later)
    copy_machine(other[0], other[2], one[0], one[2])
    for machine in (one, other):
        run(*machine)
        cluster = machine[0]
        assert cluster.start.tolist() == bfenv.simulate(trace, "easy").start.tolist()


@given(small_traces(jobs=12), st.integers(1, 30))
def test_renewed_ends(trace, horizon):
    """What is learned of running jobs changes when they end, as if it had been known before."""
    runtime = trace.jobs.estimate.copy()
    cluster, jobs, truth = new_cluster(trace)
    run(cluster, jobs, truth._replace(runtime=runtime), horizon)
    still = running(cluster)
    runtime[still] = np.clip(trace.runtime, horizon - cluster.start, jobs.estimate)[still]
    renew_ends(cluster, truth._replace(runtime=runtime))
    run(cluster, jobs, truth._replace(runtime=runtime))
    known = bfenv.make_trace(
        jobs.submit, jobs.size, runtime, trace.processors, estimate=jobs.estimate
    )
    assert cluster.start.tolist() == bfenv.simulate(known, "easy").start.tolist()
