"""The page's overview of a large machine, on a case worked out by hand."""

import re

import pytest

import bfenv
from bfenv.analysis.plots.gantt_scene import scene
from bfenv.leaderboard.report.gantt import gantt
from bfenv.leaderboard.report.gantt_overview import overview
from bfenv.leaderboard.report.gantt_selection import GanttSelection
from bfenv.leaderboard.report.plot import SCALE, Axis, percents
from tests.leaderboard.report.conftest import Page


def test_overview():
    """Small jobs lie below large ones; each of the largest has a bar after the time it waited."""
    trace = bfenv.make_trace([0, 10], [500, 1_000], [50, 50], 1_000)
    one = scene(bfenv.simulate(trace, "fcfs"), 0, 100)
    use, legend, jobs = overview("g", one, Axis(lambda t: t / 100, [], "time"))
    top, half = 0, SCALE // 2
    path = f"M0 {SCALE}V{half}H{half}V{top}H{SCALE}V{SCALE}H{half}V{SCALE}H0Z"
    assert re.findall(r'd="([^"]*)" class="g2"', str(use)) == [path]
    assert str(legend).count("<li") == 3
    assert "job 1: 1,000 processors, submitted 00:00:10, started 00:00:50" in str(jobs)
    tenth, half = percents(0.1), percents(0.5)
    assert f'<line x1="{tenth}" x2="{half}"' in str(jobs)
    assert f'<rect x="{half}" width="{half}"' in str(jobs)


@pytest.mark.parametrize(("processors", "large"), [(300, False), (301, True)])
def test_which(processors, large):
    """Above 300 processors the chart is the overview, and says so."""
    trace = bfenv.make_trace([0], [1], [10], processors)
    text = gantt(GanttSelection("w", [bfenv.simulate(trace, "easy")], 0, 10, ""), set())
    Page(text)
    assert ("coloured by the size" in text) is large
    assert (">the largest job (job: processors)<" in text) is large
    assert "both policies" not in text  # there is one
