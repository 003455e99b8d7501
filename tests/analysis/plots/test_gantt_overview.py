"""What a Gantt chart shows of a large machine, on a case worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

import bfenv
from bfenv.analysis.plots.gantt import draw_gantt
from bfenv.analysis.plots.gantt_overview import (
    is_large,
    largest,
    size_class,
    use_by_size,
)
from bfenv.analysis.plots.gantt_scene import Scene, scene
from bfenv.core.errors import BfenvError

# 1,000 processors: jobs of up to 10, of up to 100, and larger ones. Job 3 waits for job 1 until 40.
JOBS = bfenv.make_trace([0, 0, 0, 20], [10, 100, 800, 101], [100, 40, 60, 50], 1_000)


def seen(begin: int = 0, span: int = 120) -> Scene:
    """Return the hours to draw."""
    return scene(bfenv.simulate(JOBS, "fcfs"), begin, span)


@pytest.mark.parametrize(
    ("processors", "runs", "policies", "large"),
    [(300, 1, 1, False), (301, 1, 1, True), (8, 30, 2, False), (8, 31, 2, True), (8, 62, 1, False)],
)
def test_is_large(processors, runs, policies, large):
    """The overview is of more than 300 processors, or more than 60 runs of two schedules."""
    trace = bfenv.make_trace([0] * runs, [1] * runs, [10] * runs, processors)
    assert is_large([scene(bfenv.simulate(trace, "fcfs"), 0, 900)] * policies) is large


def test_use():
    """Each class holds its processors from each instant on; jobs at a limit are in the smaller."""
    times, uses = use_by_size(seen())
    assert times.tolist() == [0, 40, 60, 90, 100, 120]
    assert {use.label: use.processors.tolist() for use in uses} == {
        "jobs of up to 10 processors": [10, 10, 10, 10, 0, 0],
        "up to 100": [100, 0, 0, 0, 0, 0],
        "larger jobs": [800, 901, 101, 0, 0, 0],
    }


@pytest.mark.parametrize(
    ("processors", "labels"),
    [
        (1, ["jobs"]),
        (19, ["jobs of up to 1 processor", "larger jobs"]),
        (20, ["jobs of up to 1 processor", "up to 2", "larger jobs"]),
    ],
)
def test_small_machine(processors, labels):
    """A small machine has no class of which no size can be."""
    trace = bfenv.make_trace([0], [processors], [10], processors)
    _, uses = use_by_size(scene(bfenv.simulate(trace, "fcfs"), 0, 10))
    assert [use.label for use in uses] == labels
    assert [use.processors[0] for use in uses] == [0] * (len(labels) - 1) + [processors]


def test_class():
    """A job on its own has the colour of its class."""
    shown = {run.job: int(size_class(seen(), run.job)) for run in largest(seen())}
    assert shown == {0: 0, 1: 1, 2: 2, 3: 2}


def test_use_within_the_interval():
    """Runs are cut at both ends of the interval."""
    times, uses = use_by_size(seen(50, 20))
    assert times.tolist() == [50, 60, 70]
    assert [use.processors.tolist() for use in uses] == [[10, 10, 0], [0, 0, 0], [901, 101, 0]]


def test_largest(monkeypatch):
    """The runs with most processor-seconds within the interval are shown, by start."""
    assert [run.job for run in largest(seen())] == [2, 1, 0, 3]
    monkeypatch.setattr("bfenv.analysis.plots.gantt_overview.SHOWN", 2)
    assert [run.job for run in largest(seen())] == [2, 3]  # 48,000 and 5,050
    assert [run.job for run in largest(seen(58, 12))] == [2, 3]  # 1,600 and 1,212
    assert [run.job for run in largest(seen(30, 10))] == [2, 1]  # job 3 does not run yet


@pytest.mark.parametrize("processors", [40, 400])
def test_nothing_runs(processors):
    """An interval between two jobs is refused with a line, whatever the machine's size."""
    trace = bfenv.make_trace([0, 864_000], [4, 4], [1_000, 1_000], processors)
    with pytest.raises(BfenvError, match="no job runs in the 60.0 min from 5.0 d on"):
        scene(bfenv.simulate(trace, "fcfs"), 432_000, 3_600)


def test_picture():
    """The largest jobs are bars with their numbers, each behind a line for the time it waited."""
    pytest.importorskip("matplotlib")
    axes = draw_gantt([seen().schedule], 0, 120).axes[1]
    assert axes.get_ylabel() == "the 4 largest jobs (job: processors)"
    assert [bar.get_x() for bar in axes.patches] == [0, 0, 0, 40]
    assert [line.get_xdata().tolist() for line in axes.lines] == [[20, 40]]
    assert [text.get_text() for text in axes.texts] == ["2: 800", "1: 100", "0: 10", "3: 101"]
    run = next(run for run in seen().runs if run.job == 3)
    expected = "job 3: 101 processors for 50 s, submitted 00:00:20, waited 20 s"
    assert seen().describe(run) == expected


def test_trial():
    """Of a job that was killed and run again, the trial is white and dashed, the run is not."""
    pytest.importorskip("matplotlib")
    trace = bfenv.make_trace([0, 0], [600, 400], [100, 50], 1_000)
    none = np.array([-1, -1])
    run = replace(bfenv.simulate(trace, "fcfs"), start=np.array([0, 100]), end=np.array([100, 150]))
    tried = replace(run, trial_start=np.array([-1, 10]), trial_end=np.array([-1, 20]))
    figure = draw_gantt([tried], 0, 150)
    bars = {(bar.get_x(), bar.get_width()): bar for bar in figure.axes[1].patches}
    dashed = [place for place, bar in bars.items() if bar.get_linestyle() == "--"]
    assert dashed == [(10, 10)] and bars[10, 10].get_facecolor() == (1, 1, 1, 1)
    assert set(bars) == {(0, 100), (10, 10), (100, 50)}
    whole = draw_gantt([replace(run, trial_start=none, trial_end=none)], 0, 150)
    explained = [[text.get_text() for text in f.legends[0].get_texts()] for f in (figure, whole)]
    assert ["a trial, then killed" in texts for texts in explained] == [True, False]


def test_ticks():
    """There are no fractions of processors."""
    pytest.importorskip("matplotlib")
    trace = bfenv.make_trace([0] * 40, [1] * 40, [10] * 40, 12)
    axes = draw_gantt([bfenv.simulate(trace, policy) for policy in ("fcfs", "easy")], 0, 30).axes[0]
    assert axes.get_ylabel() == "processors" and all(tick % 1 == 0 for tick in axes.get_yticks())
