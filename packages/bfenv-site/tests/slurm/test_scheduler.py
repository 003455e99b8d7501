"""Slurm's policy: its rules on small machines, and whole schedules against a slow oracle."""

from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from site_helpers import slurm_oracle as oracle
from tests.conftest import small_traces, stretched


@st.composite
def options(draw):
    """Parameters of Slurm, as text and as the oracle's settings."""
    chosen = {
        "bf_interval": draw(st.sampled_from([1, 7, 30])),
        "bf_resolution": draw(st.sampled_from([1, 10, 60])),
        "bf_window": draw(st.sampled_from([1, 3, 1440])),
        "bf_max_job_test": draw(st.sampled_from([1, 2, 5, 500])),
        "bf_max_job_start": draw(st.sampled_from([0, 0, 1, 2])),
        "bf_job_part_count_reserve": draw(st.sampled_from([0, 0, 1, 2])),
        "default_queue_depth": draw(st.sampled_from([1, 2, 100])),
        "sched_interval": draw(st.sampled_from([20, 60])),
    }
    interval, resolution, window, *rest = chosen.values()
    records = draw(st.sampled_from([2, 3, 4, 6, 500]))
    text = ",".join(f"{name}={value}" for name, value in chosen.items())
    return f"{text},bf_node_space_size={records}", oracle.Settings(
        interval, resolution, window * 60, *rest, every_cycle=False, records=records
    )


@st.composite
def traces(draw):
    """Jobs of seconds to minutes, some of them with a requested start."""
    trace = draw(small_traces(jobs=14, processors=8, requested_starts=True))
    return stretched(trace, draw(st.sampled_from([1, 7, 13, 40])), user=None)


def rows(trace):
    """The jobs as the oracle takes them."""
    jobs = trace.jobs
    columns = (jobs.submit, jobs.size, jobs.estimate, trace.runtime, jobs.requested_start)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def node_sizes(processors, cores):
    """The processors of the nodes; the last one may have fewer."""
    return [min(cores, processors - first) for first in range(0, processors, cores)]


@given(traces(), options(), st.integers(1, 3))
@settings(max_examples=300)
def test_oracle(trace, chosen, cores):
    """The policy makes the schedule of the oracle."""
    text, meant = chosen
    policy = f'slurm(parameters="{text}", cores_per_node={cores})'
    expected = oracle.simulate(rows(trace), node_sizes(trace.processors, cores), meant)
    assert bfenv.simulate(trace, policy).start.tolist() == expected


@given(traces(), st.integers(1, 3))
@settings(max_examples=100)
def test_skipped_cycles(trace, cores):
    """Cycles before which nothing changed would start nothing."""
    sizes = node_sizes(trace.processors, cores)
    expected = oracle.simulate(rows(trace), sizes, oracle.Settings(7, 10))
    policy = f'slurm(parameters="bf_interval=7,bf_resolution=10", cores_per_node={cores})'
    assert bfenv.simulate(trace, policy).start.tolist() == expected


def test_joined_pieces():
    """A reservation holds in a later cycle, after pieces of time were joined.

    Job 7 has three nodes reserved at 91; job 9 must not start on them, and starts behind it.
    """
    trace = bfenv.make_trace(
        [0] + [26] * 9,
        [1, 2, 1, 1, 1, 2, 3, 3, 1, 1],
        [13, 39, 13, 26, 13, 26, 13, 13, 13, 13],
        4,
        requested_start=[91] + [0] * 9,
    )
    policy = 'slurm(parameters="bf_interval=7,bf_resolution=10")'
    expected = [91, 26, 26, 26, 39, 52, 78, 97, 84, 104]
    assert bfenv.simulate(trace, policy).start.tolist() == expected


def test_limits_of_a_cycle():
    """A cycle looks at so many jobs of a user and of a partition.

    Job 1 needs all nodes after job 0; jobs 2 to 5 fit before it, two of each user.
    """
    trace = bfenv.make_trace(
        [0] * 6, [3, 8, 1, 1, 1, 1], [600, 60, 300, 300, 300, 300], 8, user=[0, 0, 0, 0, 1, 1]
    )
    starts = {
        "bf_max_job_user=2": [0, 600, 0, 30, 0, 0],
        "bf_max_job_user_part=2": [0, 600, 0, 30, 0, 0],
        "bf_max_job_part=2": [0, 600, 0, 30, 60, 90],
        "bf_max_job_user=3": [0, 600, 0, 0, 0, 0],
    }
    for parameters, start in starts.items():
        result = bfenv.simulate(trace, f'slurm(parameters="{parameters}")').start
        assert result.tolist() == start, parameters
