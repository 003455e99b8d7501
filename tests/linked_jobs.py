"""Traces whose jobs are in partitions, or wait for other jobs."""

import numpy as np
from hypothesis import strategies as st

import bfenv
from bfenv.core.jobs import JOB, PRECEDING, THINK, Outage
from bfenv.core.partitions import with_partitions
from bfenv.workloads.logs.records import PARTITION
from tests.conftest import small_traces


def partitioned(trace, numbers, sizes, processors, **changes):
    """A trace whose jobs are in these partitions, 1 named cpu and 2 named gpu."""
    records = np.full((len(trace), 18), -1.0)
    records[:, PARTITION] = numbers
    merged = bfenv.make_trace(
        trace.jobs.submit,
        trace.jobs.size,
        trace.runtime,
        processors,
        estimate=trace.jobs.estimate,
        user=trace.jobs.user,
        records=records,
        header=("Partition: 1 cpu", "Partition: 2 gpu"),
        name="site",
        **changes,
    )
    return with_partitions(merged, sizes) if sizes else merged


@st.composite
def merged_traces(draw):
    """Jobs of at most 4 processors in partitions of 4 and 5 processors."""
    trace = draw(small_traces(jobs=12, processors=4))
    numbers = draw(st.lists(st.sampled_from([1, 2]), min_size=len(trace), max_size=len(trace)))
    return partitioned(trace, numbers, "cpu=4,gpu=5", 9)


def three_jobs(**changes):
    """A full gpu partition of 2, a waiting gpu job, and a cpu job; 4 processors of cpu are idle."""
    trace = bfenv.make_trace([0, 1, 2], [2, 2, 4], [100, 100, 100], 6)
    return partitioned(trace, [2, 2, 1], "cpu=4,gpu=2", 6, **changes)


def chained(trace, before, think, **changes):
    """The trace with these preceding jobs, by place or -1, and think times."""
    records = np.full((len(trace), 18), -1.0)
    records[:, JOB] = np.arange(len(trace)) + 1
    records[:, PRECEDING] = [place + 1 if place >= 0 else -1 for place in before]
    records[:, THINK] = think
    jobs = trace.jobs
    return bfenv.make_trace(
        jobs.submit,
        jobs.size,
        trace.runtime,
        trace.processors,
        estimate=jobs.estimate,
        user=jobs.user,
        records=records,
        **changes,
    )


@st.composite
def chains(draw):
    """Small traces in which some jobs wait for an earlier one; some with an outage."""
    trace = draw(small_traces(jobs=10, processors=6))
    before = [draw(st.integers(-1, place - 1)) if place else -1 for place in range(len(trace))]
    think = draw(st.lists(st.integers(0, 9), min_size=len(trace), max_size=len(trace)))
    outages = draw(st.sampled_from([(), (Outage(5, 9, trace.processors),), (Outage(3, 8, 1),)]))
    return chained(trace, before, think, outages=outages)
