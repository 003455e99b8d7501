"""Machines and traces that tests of several policies share."""

import numpy as np
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import now, start
from bfenv.core.events import advance, commit_starts, new_cluster


def thesis_machine():
    """Figure 3.1: machine 10 at t = 25, job 0 (size 5) runs for 3 more seconds, jobs 1-5 wait."""
    trace = bfenv.make_trace([22, 25, 25, 25, 25, 25], [5, 7, 2, 1, 2, 3], [6, 4, 2, 6, 4, 5], 10)
    cluster, jobs, truth = new_cluster(trace)
    advance(cluster, jobs, truth)
    start(cluster, jobs, 0)
    advance(cluster, jobs, truth)
    commit_starts(cluster, jobs, truth)
    return cluster, trace


@st.composite
def overloaded(draw):
    """A trace whose jobs wait for a machine of a few processors, and mostly end early."""
    processors = draw(st.integers(2, 9))
    job = st.tuples(
        st.integers(0, 40),
        st.integers(1, processors),
        st.integers(1, 30) | st.integers(60, 400),
        st.floats(0.05, 1),
    )
    rows = sorted(draw(st.lists(job, min_size=3, max_size=25)))
    submit, size, estimate, share = zip(*rows, strict=True)
    runtime = [max(1, int(e * s)) for e, s in zip(estimate, share, strict=True)]
    return bfenv.make_trace(submit, size, runtime, processors, estimate=estimate)


def many_at_once():
    """A trace of jobs that are all there from the first second on, for a larger machine."""
    generator = np.random.default_rng(3)
    size = generator.choice([1, 1, 1, 2, 3, 5, 8, 20, 33], 300)
    estimate = generator.choice([7, 60, 300, 900, 3600, 40_000, 300_000], 300)
    runtime = np.maximum(1, estimate * generator.random(300)).astype(int)
    return bfenv.make_trace(np.zeros(300), size, runtime, 33, estimate=estimate)


@st.composite
def crowds(draw):
    """A small trace with priorities, in which many jobs wait at a time."""
    machine = draw(st.integers(2, 6))
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from([0, 0, 0, 1, 2]),  # gap
                st.integers(1, machine),  # size
                st.integers(1, 12),  # estimate
                st.sampled_from([0, 0, 2, 11]),  # estimate - runtime
                st.integers(-2, 2),  # priority
            ),
            min_size=4,
            max_size=12,
        )
    )
    gap, size, estimate, spare, priority = (np.array(column) for column in zip(*rows, strict=True))
    runtime = np.maximum(estimate - spare, 1)
    return bfenv.make_trace(
        np.cumsum(gap), size, runtime, machine, estimate=estimate, priority=priority
    )


def with_another(trace, policy, is_turn):
    """Ends of a run in which EASY decides in the passes that are not the policy's turn."""
    jobs, easy = trace.jobs, find_policy("easy")
    cluster, jobs, truth = new_cluster(trace)
    memory = policy.memory(jobs, trace.processors, np.random.default_rng(0))
    count = 0
    while advance(cluster, jobs, truth):
        count += 1
        if is_turn(count):
            policy.decide(cluster, jobs, memory)
            assert memory.reservations.profile.time[0] == now(
                cluster
            )  # no part of the plan lies in the past
        else:
            easy.decide(cluster, jobs, memory)
    return cluster.end
