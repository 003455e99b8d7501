"""The policy's decisions against those of a real slurmctld, recorded state by state.

`decisions.json` has nine live runs of 30 or 40 jobs on eight nodes of one processor, by Debian's
Slurm 22.05.8. A job is [number, size, limit, end by its limit, nodes]; null where it never waited
in a recorded state, or never ran in one. A state is [time, running, waiting, started]. All
times are seconds since the beginning of the run.
"""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import bfenv
from bfenv.core.cluster import start, started
from bfenv.core.events import advance, new_cluster
from bfenv_site.slurm.nodes import open_on

RUNS = json.loads((Path(__file__).parent / "decisions.json").read_text())


class Moment(NamedTuple):
    """A recorded state, and what the real one started in it: jobs by number, nodes from 1."""

    run: str
    parameters: str
    nodes: int
    now: int
    running: list  # (job, end, nodes)
    waiting: list  # (job, size, limit)
    starts: dict  # nodes by job


def numbers(text):
    """The numbers of a text such as "1 4-6"."""
    ends = [list(map(int, part.split("-"))) for part in text.split()]
    return [number for part in ends for number in range(part[0], part[-1] + 1)]


@cache
def moments():
    """All recorded states."""
    result = []
    for run in RUNS:
        jobs = {job: rest for job, *rest in run["jobs"]}
        for now, *sets in run["states"]:
            running, waiting, begun = map(numbers, sets)
            result.append(
                Moment(
                    run["name"],
                    run["parameters"],
                    run["nodes"],
                    now,
                    [(job, jobs[job][2], numbers(jobs[job][3])) for job in running],
                    [(job, *jobs[job][:2]) for job in waiting],
                    {job: set(numbers(jobs[job][3])) for job in begun},
                )
            )
    return result


def decide(moment):
    """The nodes by job of what the policy starts in a state."""
    policy = bfenv.find_policy(f'slurm(parameters="{moment.parameters}")')
    rows = [(job, len(nodes), end - moment.now, nodes) for job, end, nodes in moment.running]
    rows = sorted(rows + [(*job, None) for job in moment.waiting])
    ids, sizes, limits, nodes = zip(*rows, strict=True)
    trace = bfenv.make_trace([moment.now] * len(rows), sizes, limits, moment.nodes)
    cluster, jobs, truth = new_cluster(trace)
    memory = policy.memory(jobs, moment.nodes, np.random.default_rng(0))
    advance(cluster, jobs, truth)
    for job, held in enumerate(nodes):
        if held is not None:
            open_on(memory.nodes, job, len(held), [node - 1 for node in held])
            start(cluster, jobs, job)
    before = len(started(cluster))
    policy.decide(cluster, jobs, memory)
    return {ids[job]: nodes_of(memory.nodes, job) for job in started(cluster)[before:].tolist()}


def nodes_of(nodes, job):
    """The nodes of a running job, from 1."""
    held, entry = set(), nodes.first[job]
    while entry >= 0:
        held.add(int(nodes.entry_node[entry]) + 1)
        entry = nodes.entry_next[entry]
    return held


@cache
def decisions():
    """Each recorded state with what the policy starts in it."""
    return [(moment, decide(moment)) for moment in moments()]


def test_same_starts():
    """At 98 of 100 moments at least, the policy starts the jobs that the real one started."""
    at_moments = [(m, mine) for m, mine in decisions() if m.starts]
    same = sum(set(m.starts) == set(mine) for m, mine in at_moments)
    assert len(at_moments) == 254
    assert same >= 0.98 * len(at_moments)


def test_quiet_cycles():
    """The policy starts nothing in cycles in which the real one started nothing."""
    in_quiet = [mine for moment, mine in decisions() if not moment.starts]
    assert len(in_quiet) == 1059
    assert not any(in_quiet)


def test_same_nodes():
    """Where the policy starts the same jobs as the real one, they are on the same nodes."""
    for moment, mine in decisions():
        if set(mine) == set(moment.starts):
            assert mine == moment.starts, (moment.run, moment.now)


# The moments at which it decides otherwise: what it starts, what the real one started, and why.
DIFFER = {
    # The real one left nodes out that two jobs had just ended on.
    ("test20_13", 9171): ([32, 38], [32]),
    # Job 38 was submitted between the record of the queue and the cycle.
    ("window20_15", 1997): ([10], [10, 38]),
}


def test_differing_moments():
    """The moments at which the policy decides otherwise are known."""
    differ = {
        (moment.run, moment.now): (sorted(mine), sorted(moment.starts))
        for moment, mine in decisions()
        if set(mine) != set(moment.starts)
    }
    assert differ == DIFFER


def test_max_job_test():
    """Only jobs that reach Slurm's test count towards bf_max_job_test.

    The second job is ruled out by the reservation of the first, so the third is looked at.
    """
    parameters = "bf_interval=1,bf_resolution=1,bf_job_part_count_reserve=1,bf_max_job_test=2"
    waiting = [(2, 4, 600), (3, 1, 1200), (4, 1, 300)]
    moment = Moment("three", parameters, 4, 0, [(1, 600, [1, 2, 3])], waiting, {})
    assert decide(moment) == {4: {4}}


def test_fewer_nodes():
    """Slurm gives up on a job where reservations leave fewer and fewer nodes.

    So that job does not count, and the one behind it is looked at.

    Pairs of nodes come free at 100, 200 and 300 s, and jobs 4 to 6 have them reserved from then on;
    node 7 is free. Six nodes for 150 s are not open from now on. A later try could only find fewer
    of them, until job 4 ends hours later, which is more than a piece behind those 150 s.
    """
    running = [(1, 100, [1, 2]), (2, 200, [3, 4]), (3, 300, [5, 6])]
    waiting = [(4, 2, 9000), (5, 2, 9000), (6, 2, 9000), (7, 6, 150), (8, 1, 60)]
    parameters = "bf_interval=1,bf_resolution=1,bf_max_job_test=4,bf_node_space_size=9"
    assert decide(Moment("fewer", parameters, 7, 0, running, waiting, {})) == {8: {7}}


def test_full_table():
    """A cycle ends when its table of the future is full.

    The first two jobs have a reservation each, of two records and one; the third job fits.
    """
    waiting = [(2, 4, 600), (3, 4, 600), (4, 1, 300)]
    for records, expected in ((3, {}), (4, {4: {4}})):
        parameters = f"bf_interval=1,bf_resolution=1,bf_node_space_size={records}"
        moment = Moment("table", parameters, 4, 0, [(1, 600, [1, 2, 3])], waiting, {})
        assert decide(moment) == expected, records
