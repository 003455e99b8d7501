"""Who waits less and who waits longer."""

from dataclasses import replace

import numpy as np
import pytest

import bfenv
from bfenv.analysis.parties import divisions, parties, users_changed
from bfenv.core.schedule import Schedule
from bfenv.workloads.logs.records import PARTITION


def schedules(before, after, **columns):
    """Two schedules of the same jobs, by their waits."""
    count = len(before)
    trace = bfenv.make_trace(
        range(count),
        columns.get("size", [1] * count),
        [10] * count,
        100,
        estimate=columns.get("estimate", [10] * count),
        user=columns.get("user", [-1] * count),
    )
    if "partition" in columns:
        records = np.full((count, 18), -1.0)
        records[:, PARTITION] = columns["partition"]
        trace = replace(trace, records=records, header=("Partition: 2 gpu",))
    never = np.full(count, -1)
    starts = (trace.jobs.submit + np.array(waits) for waits in (before, after))
    return [Schedule(trace, "p", 0, start, start + 10, never, never) for start in starts]


def test_partitions():
    """Means are over each one's own jobs; names come from the header; most gained is first."""
    one, other = schedules([10, 20, 30], [10, 10, 90], partition=[2, 2, 1])
    gpu, first = parties(one, other)["partition"]
    assert (gpu.label, gpu.jobs, gpu.before, gpu.after, gpu.change) == ("gpu", 2, 15, 10, -10)
    assert (first.label, first.jobs, first.before, first.after) == ("partition 1", 1, 30, 90)


def test_one_kind():
    """Jobs of a single kind are not divided."""
    one, other = schedules([1, 2], [2, 1])
    assert parties(one, other) == {}


def test_unknown_user():
    """Jobs of unknown users are a party, but not a user that waits less or longer."""
    one, other = schedules([0, 0, 200], [100, 100, 0], user=[0, -1, -1])
    assert [part.label for part in parties(one, other)["user"]] == ["no user", "user 0"]
    assert users_changed(one, other) == (0, 1)
    assert users_changed(other, one) == (1, 0)


def test_sizes():
    """Classes of size end where half and nine tenths of the jobs are, and cover all jobs."""
    sizes = [1] * 5 + [4] * 4 + [64]
    one, _ = schedules([0] * 10, [0] * 10, size=sizes)
    classes = divisions(one.trace)["size"]
    assert list(classes) == ["1 processors", "4 processors", "64 processors"]
    assert np.sum(list(classes.values()), axis=0).tolist() == [1] * 10


@pytest.mark.parametrize("limits", [[60], [60, 60, 7_200], list(range(60, 6_060, 60))])
def test_limits(limits):
    """Each job has one class of limits, in ascending order."""
    one, _ = schedules([0] * len(limits), [0] * len(limits), estimate=limits)
    classes = divisions(one.trace)["time limit"]
    assert np.sum(list(classes.values()), axis=0).tolist() == [1] * len(limits)
    highest = [max(np.array(limits)[those]) for those in classes.values()]
    assert highest == sorted(highest)


def test_numbers_of_the_log(tmp_path):
    """Users are named by their numbers in the log, which need not be consecutive."""
    path = tmp_path / "log.swf"
    lines = (f"{i} {i} 0 9 1 -1 -1 1 9 -1 1 {user} 1 -1 1 1 -1 -1" for i, user in ((1, 40), (2, 7)))
    path.write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    assert list(divisions(bfenv.read_swf(path))["user"]) == ["user 7", "user 40"]
