"""Who waits less and who waits longer."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import bfenv
from bfenv.analysis.placement import place
from bfenv.core.schedule import Schedule
from bfenv.workloads.logs.records import PARTITION
from bfenv_site.reports.parties import divisions, parties, users_changed
from tests.analysis.drawn import FOUR
from tests.conftest import small_traces


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
    before, after = schedules([10, 20, 30], [10, 10, 90], partition=[2, 2, 1])
    gpu, first = parties(before, after)["partition"]
    assert (gpu.label, gpu.jobs, gpu.before, gpu.after, gpu.change) == ("gpu", 2, 15, 10, -10)
    assert (first.label, first.jobs, first.before, first.after) == ("partition 1", 1, 30, 90)


def test_one_kind():
    """Jobs of a single kind are not divided."""
    before, after = schedules([1, 2], [2, 1])
    assert parties(before, after) == {}


def test_unknown_user():
    """Jobs of unknown users are a party, but not a user that waits less or longer."""
    before, after = schedules([0, 0, 200], [100, 100, 0], user=[0, -1, -1])
    assert [part.label for part in parties(before, after)["user"]] == ["no user", "user 0"]
    assert users_changed(before, after) == (0, 1)
    assert users_changed(after, before) == (1, 0)


def test_sizes():
    """Classes of size end where half and nine tenths of the jobs are, and cover all jobs."""
    sizes = [1] * 5 + [4] * 4 + [64]
    before, _ = schedules([0] * 10, [0] * 10, size=sizes)
    classes = divisions(before.trace)["size"]
    assert list(classes) == ["1 processors", "4 processors", "64 processors"]
    assert np.sum(list(classes.values()), axis=0).tolist() == [1] * 10


@pytest.mark.parametrize("limits", [[60], [60, 60, 7_200], list(range(60, 6_060, 60))])
def test_limits(limits):
    """Each job has one class of limits, in ascending order."""
    before, _ = schedules([0] * len(limits), [0] * len(limits), estimate=limits)
    classes = divisions(before.trace)["time limit"]
    assert np.sum(list(classes.values()), axis=0).tolist() == [1] * len(limits)
    highest = [max(np.array(limits)[those]) for those in classes.values()]
    assert highest == sorted(highest)


def test_numbers_of_the_log(tmp_path):
    """Users are named by their numbers in the log, which need not be consecutive."""
    path = tmp_path / "log.swf"
    lines = (f"{i} {i} 0 9 1 -1 -1 1 9 -1 1 {user} 1 -1 1 1 -1 -1" for i, user in ((1, 40), (2, 7)))
    path.write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    assert list(divisions(bfenv.read_swf(path))["user"]) == ["user 7", "user 40"]


def spans(schedule, *interval):
    return {run.job: (run.start, run.end, run.spans) for run in place(schedule, *interval)}


def test_lowest_first():
    """A job gets the lowest free processors."""
    assert spans(bfenv.simulate(FOUR, "easy")) == {
        0: (0, 10, [(0, 3)]),
        2: (2, 6, [(3, 4)]),
        1: (10, 15, [(0, 4)]),
        3: (15, 21, [(0, 2)]),
    }


def test_pieces():
    """A job is in one piece if there is room for it, else in the lowest pieces."""
    # Jobs of 1, 2, 1, 1 processors; the first and the third leave at 5 and 6; a job of 1 takes
    # the gap below, one of 2 then finds 3 and 5 free only.
    trace = bfenv.make_trace([0, 0, 0, 0, 5, 6], [1, 2, 1, 1, 1, 2], [5, 20, 6, 20, 20, 20], 6)
    schedule = bfenv.simulate(trace, "fcfs")
    assert spans(schedule)[4] == (5, 25, [(0, 1)])
    assert spans(schedule)[5] == (6, 26, [(3, 4), (5, 6)])


@given(small_traces())
def test_disjoint(trace):
    """No processor has two runs at once, and each job has as many as it needs."""
    for policy in ("easy", "multiqueue"):
        schedule = bfenv.simulate(trace, policy)
        runs = place(schedule)
        assert sum(not run.trial for run in runs) == len(trace)
        for i, run in enumerate(runs):
            processors = {p for first, last in run.spans for p in range(first, last)}
            assert len(processors) == trace.jobs.size[run.job]
            assert processors <= set(range(trace.processors))
            for other in runs[:i]:
                if other.start < run.end and run.start < other.end:
                    assert not processors & {
                        p for first, last in other.spans for p in range(first, last)
                    }


def test_interval():
    """An interval has the runs that overlap it."""
    schedule = bfenv.simulate(FOUR, "easy")
    assert set(spans(schedule, 6, 15)) == {0, 1}
    assert set(spans(schedule, 9, 16)) == {0, 1, 3}
