"""Later jobs that will be too late, against all later jobs one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.later_jobs import NONE, new_later_jobs, note_later_jobs, too_late
from bfenv.core.events import advance, new_cluster
from bfenv.core.openings import new_openings

PROCESSORS = 16


@st.composite
def queues(draw):
    """Waiting jobs with their guarantees, one of them tried and some of them started."""
    job = st.tuples(
        st.integers(1, PROCESSORS), st.integers(1, 50), st.integers(0, 30), st.booleans()
    )
    rows = draw(st.lists(job, min_size=2, max_size=40))
    size, estimate, guarantee, started = (np.array(column) for column in zip(*rows, strict=True))
    return size, estimate, guarantee, started, draw(st.integers(0, len(rows) - 1))


@given(queues(), st.integers(0, 31))
def test_a_job_is_found_only_if_it_is_later_as_large_as_long_and_too_late(queue, anchor):
    """The job that is tried and those that have started are not found."""
    size, estimate, guarantee, started, tried = queue
    trace = bfenv.make_trace(np.zeros(len(size)), size, estimate, PROCESSORS)
    cluster, jobs, truth = new_cluster(trace)
    assert advance(cluster, jobs, truth)
    cluster.start[started] = 0
    openings = new_openings(jobs, PROCESSORS)
    later = new_later_jobs(jobs, openings)
    line = np.arange(len(size))
    note_later_jobs(later, openings, cluster, jobs, line, guarantee)
    for job in line[~started]:
        found = too_late(later, guarantee, job, anchor, tried)
        can_be = (line > job) & (line != tried) & ~started
        can_be &= (size >= size[job]) & (estimate >= estimate[job]) & (guarantee < anchor)
        assert found == NONE or can_be[found]
        is_least = size[job] in openings.least and estimate[job] in openings.shortest
        if is_least and can_be.any():
            assert guarantee[found] == guarantee[can_be].min()
