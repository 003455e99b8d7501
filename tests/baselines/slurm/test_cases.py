"""Whole schedules of small scripted cases, beside the starts of a real slurmctld.

`cases.json` has 25 cases on Debian's Slurm 22.05.8, run 60 times faster than real time. A job is
[submit, size, limit, runtime, the real start in minutes, and what else it was submitted with]; the
other times are in seconds. "begin" is when a job with a requested start, held, or waiting for
another became eligible. An outage is a reservation of the whole machine for another user.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import bfenv
from bfenv.core.jobs import Outage

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())
LATE = 9  # seconds after a job's end at which the sped-up slurmctld sees it
# The cases with another start, and why.
DIFFER = {
    "queue_depth_1": "job 3 starts in a cycle; the cycles of the real one are at other seconds",
}


def trace_of(case):
    """The jobs of a case, by submit time, and their real starts in minutes."""
    rows = [
        (submit, size, limit + LATE, runtime + LATE, -more.get("nice", 0), more.get("begin", 0))
        for submit, size, limit, runtime, _, more in case["jobs"]
    ]
    order = sorted(range(len(rows)), key=lambda job: rows[job][0])
    submit, size, limit, runtime, priority, begin = zip(*(rows[i] for i in order), strict=True)
    processors = case["nodes"] * case["processors"]
    outages = (Outage(*case["outage"], processors),) if "outage" in case else ()
    trace = bfenv.make_trace(
        submit,
        size,
        runtime,
        processors,
        estimate=limit,
        priority=priority,
        requested_start=begin,
        outages=outages,
    )
    return trace, [case["jobs"][i][4] for i in order]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_it_starts_each_job_within_a_minute_of_the_real_one(case):
    if case["conf"]:
        pytest.skip("conf")
    trace, real = trace_of(case)
    options = f'parameters="{case["parameters"]}", cores_per_node={case["processors"]}'
    start = bfenv.simulate(trace, f"slurm({options})").start / 60
    is_same = np.abs(start - real).max() <= 1
    assert is_same != (case["name"] in DIFFER), (start, real)
