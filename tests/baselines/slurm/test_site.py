"""A site's nodes, partitions and priorities: whole schedules against a slow oracle."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.slurm.conf import Multifactor, Partition, Site
from bfenv.baselines.slurm.parameters import read_parameters
from bfenv.baselines.slurm.scheduler import PARTITION
from bfenv.baselines.slurm.site import policy_for
from bfenv.core.cluster import NEXT_JOB
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance, new_cluster
from bfenv.core.simulator import simulate
from bfenv.workloads.logs import records
from tests.conftest import small_traces
from tests.oracles import slurm as oracle

FACTOR = 13  # seconds in a unit of the small traces
CONF = """
NodeName=DEFAULT CPUs=2
NodeName=n[1-2]
NodeName=fat CPUs=4
PartitionName=thin Nodes=n[1-2] Default=YES
PartitionName=fat Nodes=fat PriorityTier=5
"""


def with_columns(trace, partitions, groups, names):
    """The trace with a record of each job's partition and group, and with the partitions' names."""
    columns = np.full((len(trace), len(records.FIELDS)), -1.0)
    columns[:, records.PARTITION] = np.array(partitions) + 1
    columns[:, records.GROUP] = groups
    jobs = trace.jobs
    return bfenv.make_trace(
        jobs.submit * FACTOR,
        jobs.size,
        trace.runtime * FACTOR,
        trace.processors,
        estimate=jobs.estimate * FACTOR,
        user=jobs.user,
        requested_start=jobs.requested_start * FACTOR,
        records=columns,
        header=[f"Partition: {number} {name}" for number, name in enumerate(names, start=1)],
    )


@st.composite
def sites(draw, priorities=True, fair_share=True):
    """A trace, a site, its SchedulerParameters, and the oracle's jobs and settings."""
    trace = draw(small_traces(jobs=12, processors=8, requested_starts=True))
    processors = trace.processors
    sizes, left = [], processors
    while left:
        sizes.append(draw(st.integers(1, min(3, left))))
        left -= sizes[-1]
    numbers = range(len(sizes))
    parts = []
    for name in ("a", "b", "c")[: draw(st.integers(1, 3))]:
        nodes = sorted(draw(st.sets(st.sampled_from(numbers)))) if parts else list(numbers)
        nodes = nodes or list(numbers)
        tier, factor = draw(st.integers(1, 2)), draw(st.integers(0, 2))
        parts.append(Partition(name, np.array(nodes), tier, factor))
    room = [sum(sizes[node] for node in part.nodes.tolist()) for part in parts]
    of_job = [
        draw(st.sampled_from([i for i in range(len(parts)) if room[i] >= size]))
        for size in trace.jobs.size.tolist()
    ]
    groups = [draw(st.integers(1, 2)) for _ in of_job]
    weight = st.sampled_from([0, 0, 10, 1000])
    weights = tuple(draw(weight) for _ in range(4))
    if not fair_share:
        weights = (weights[0], 0, *weights[2:])
    is_on = priorities and draw(st.booleans())
    small, by_time = draw(st.booleans()), draw(st.booleans())
    max_age, period = draw(st.sampled_from([30, 200])), draw(st.sampled_from([1, 20, 100]))
    multifactor = Multifactor(
        is_on, *map(float, weights), max_age, small, by_time, half_life=0.0, period=period
    )
    whole, builtin = draw(st.booleans()), draw(st.booleans())
    site = Site(np.array(sizes), tuple(parts), 0, not builtin, whole, multifactor)
    reserved, depth = draw(st.sampled_from([0, 0, 1, 2])), draw(st.sampled_from([1, 3, 100]))
    text = (
        f"bf_interval=7,bf_resolution=10,bf_job_part_count_reserve={reserved},"
        f"default_queue_depth={depth},sched_interval=20"
    )
    trace = with_columns(trace, of_job, groups, [part.name for part in parts])
    jobs = trace.jobs
    users = list(zip(groups, jobs.user.tolist(), strict=True))
    columns = (jobs.submit, jobs.size, jobs.estimate, trace.runtime, jobs.requested_start)
    rows = list(
        zip(*(column.tolist() for column in columns), of_job, users, strict=True)
    )
    meant = oracle.Settings(
        7, 10, 1440 * 60, 500, 0, reserved, depth, 20,
        every_cycle=False, whole=whole, builtin=builtin,
        partitions=tuple((part.tier, part.nodes.tolist()) for part in parts),
        period=period if is_on else 0,
        priority=oracle.Multifactor(
            weights, tuple(max(part.factor, 1e-9) for part in parts), processors,
            max_age, small, by_time,
        ),
    )  # fmt: skip
    return trace, site, read_parameters(text)[0], rows, sizes, meant


def starts(trace, site, parameters):
    """The starts of the jobs of a trace on a site."""
    return simulate(trace, policy_for(trace, "slurm", site, parameters)).start.tolist()


@given(sites())
@settings(max_examples=300)
def test_it_makes_the_schedule_of_the_oracle(drawn):
    trace, site, parameters, rows, sizes, meant = drawn
    assert starts(trace, site, parameters) == oracle.simulate(rows, sizes, meant)
