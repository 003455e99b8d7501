"""What tests of policies with trials share: schedules of a few jobs, and the naive version."""

import numpy as np
from hypothesis import strategies as st

import bfenv
from tests.oracles import multiqueue as naive_multiqueue
from tests.oracles.machine import Job


def schedule(policy, processors, *jobs, priority=None, requested_start=None, **options):
    """The schedule of jobs (submit, size, estimate, runtime)."""
    submit, size, estimate, runtime = zip(*jobs, strict=True)
    trace = bfenv.make_trace(
        submit,
        size,
        runtime,
        processors,
        estimate=estimate,
        priority=priority,
        requested_start=requested_start,
    )
    return bfenv.simulate(trace, policy, **options).check()


@st.composite
def workloads(draw, priorities=3, requests=True):
    """A Trace of a few jobs with many ties, priorities, and requested starts."""
    processors = draw(st.integers(1, 8))
    row = st.tuples(
        st.integers(0, 5),  # gap
        st.integers(1, processors),  # size
        st.integers(1, 12),  # estimate
        st.integers(0, 11),  # estimate - runtime
        st.integers(0, priorities - 1),
        st.one_of(st.just(0), st.integers(1, 30)) if requests else st.just(0),
    )
    count = draw(st.integers(1, 14))
    rows = draw(st.lists(row, min_size=count, max_size=count))
    gap, size, estimate, spare, priority, requested_start = np.array(rows).T
    return bfenv.make_trace(
        np.cumsum(gap),
        size,
        np.maximum(1, estimate - spare),
        processors,
        estimate=estimate,
        priority=priority,
        requested_start=requested_start,
    )


def assert_equals_naive(trace, policy, **options):
    jobs = trace.jobs
    columns = jobs.submit, jobs.size, jobs.estimate, trace.runtime, jobs.priority
    rows = zip(*(column.tolist() for column in (*columns, jobs.requested_start)), strict=True)
    expected = naive_multiqueue.multiqueue([Job(*row) for row in rows], trace.processors, **options)
    result = bfenv.simulate(trace, policy).check()
    for field in ("start", "end", "trial_start", "trial_end"):
        assert getattr(result, field).tolist() == getattr(expected, field)
    assert result.records["reserved_start"].tolist() == expected.reserved
    assert result.records["reassigned"].tolist() == expected.reassigned


def asking(trace, share):
    """The trace with this share of jobs asking for a start within a day, 75 % of high priority."""
    generator, count = np.random.default_rng(3), len(trace)
    lead = generator.integers(1, 86_400, count)
    asked = generator.random(count) < share
    return bfenv.make_trace(
        trace.jobs.submit,
        trace.jobs.size,
        trace.runtime,
        trace.processors,
        estimate=trace.jobs.estimate,
        priority=generator.random(count) < 0.75,
        requested_start=np.where(asked, trace.jobs.submit + lead, 0),
    )
