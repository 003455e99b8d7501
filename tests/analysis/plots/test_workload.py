"""The picture of a workload and its panels."""

import numpy as np
import pytest

import bfenv
from bfenv.analysis.plots.workload import draw_workload
from bfenv.workloads.transform import at_once

pytest.importorskip("matplotlib")


def panels(trace):
    return {axes.get_title(loc="left").split(":")[0]: axes for axes in draw_workload(trace).axes}


def test_every_trace():
    """Every trace has a picture, however short or long."""
    model = bfenv.load_workload("lublin", jobs=300)
    for trace in (
        at_once(model),
        model[:1],
        bfenv.make_trace([0, 0], [1, 1], [1, 1], 1),
        bfenv.make_trace([0, 10**9], [10**6, 3], [10**8, 1], 10**6, estimate=[10**9, 1]),
    ):
        figure = draw_workload(trace)
        figure.canvas.draw()
        assert len(figure.axes) == 6


def test_panels():
    """The panels show the numbers of the trace."""
    trace = bfenv.make_trace(
        [0, 3600, 7200, 7300], [1, 2, 3, 4], [60, 60, 600, 900], 4, estimate=[60, 120, 3600, 3600]
    )
    shown = panels(trace)
    runtime, estimate = shown["Runtimes and estimates"].get_lines()
    assert runtime.get_xdata()[1:].tolist() == [60, 600, 900]
    assert runtime.get_ydata().tolist() == [0, 50, 75, 100]
    assert estimate.get_ydata().tolist() == [0, 25, 50, 100]
    bars = shown["Most popular estimates"].patches
    assert [bar.get_width() for bar in bars] == [50, 25, 25]
    assert [tick.get_text() for tick in shown["Most popular estimates"].get_yticklabels()] == [
        "1 h",
        "1 min",
        "2 min",
    ]
    heights = [bar.get_height() for bar in shown["Sizes"].patches]
    assert heights == [25, 25, 25, 0, 0, 25]  # 1, 2, 4; 3
    hours = [bar.get_height() for bar in shown["Arrivals by hour of the day"].patches]
    assert hours == [25, 25, 50] + [0] * 21
    accuracy = [bar.get_height() for bar in shown["How much of the estimate is used"].patches]
    assert np.flatnonzero(accuracy).tolist() == [3, 5, 10, 19]
