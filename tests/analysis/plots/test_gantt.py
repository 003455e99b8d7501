"""Gantt charts: what is drawn."""

import re
from dataclasses import replace

import numpy as np
import pytest

import bfenv
from bfenv.analysis.plots.gantt import draw_gantt, write_gantt
from bfenv.core.durations import DAY
from bfenv.core.errors import BfenvError
from tests.analysis.drawn import FOUR
from tests.site_log import write_site

PathPatch = pytest.importorskip("matplotlib.patches").PathPatch


def test_jobs():
    """A chart has a box and a number for each job, and backfilled jobs are hatched."""
    figure = draw_gantt([bfenv.simulate(FOUR, policy) for policy in ("easy", "fcfs")], 0, 21)
    figure.canvas.draw()
    easy, queue, fcfs, _ = figure.axes
    boxes = [patch for patch in easy.patches if patch.get_facecolor()[3] > 0]
    drawn = {(p.get_x(), p.get_y(), p.get_width(), p.get_height()) for p in boxes}
    assert drawn == {(0, 0, 10, 3), (2, 3, 4, 1), (10, 0, 5, 4), (15, 0, 6, 2)}
    hatching = easy.patches[-1].get_path().vertices
    assert np.ptp(hatching, axis=0) == pytest.approx((4, 1))  # all over the job from 2 to 6
    assert hatching.min(axis=0) == pytest.approx((2, 3))
    assert not isinstance(fcfs.patches[-1], PathPatch)
    assert [text.get_text() for text in easy.texts] == ["0", "2", "1", "3"]
    assert queue.get_ylabel() == "waiting" and easy.get_title(loc="left") == "easy"


def test_trials():
    """Trials look different from runs, and the legend explains them."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=300")
    schedule = bfenv.simulate(trace, "easy-speculative")
    assert (schedule.trial_end >= 0).any()
    tried = int(schedule.trial_start[schedule.trial_end >= 0][0])
    figure = draw_gantt([schedule], tried, 600)
    assert "a trial, then killed" in [text.get_text() for text in figure.legends[0].get_texts()]
    assert {patch.get_linestyle() for patch in figure.axes[0].patches} >= {"--", "-"}


@pytest.mark.parametrize(
    ("suffix", "begin"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")]
)
def test_files(tmp_path, suffix, begin):
    """The suffix sets the format, equal charts are equal files, and nothing else is left."""
    schedules = [bfenv.simulate(FOUR, "easy")]
    for name in ("one", "two"):
        write_gantt(schedules, tmp_path / f"{name}{suffix}", 0, 30)
    one, two = sorted(tmp_path.iterdir())
    assert one.read_bytes() == two.read_bytes() and one.read_bytes().startswith(begin)
    with pytest.raises(BfenvError, match=r"one\.txt"):
        write_gantt(schedules, tmp_path / "one.txt", 0, 30)


@pytest.mark.parametrize(
    ("start_time", "span", "labels"),
    [
        (1_767_225_600 + 754, DAY // 2, r"[0-9]{2}:[03]0\n[0-9]{2}-[0-9]{2}"),
        (1_767_225_600, 99 * DAY, r"[0-9]{2}-[0-9]{2}"),
        (None, DAY // 2, "[0-9]{2}:00"),
        (None, 99 * DAY, "[0-9]+ d"),
    ],
)
def test_ticks(tmp_path, start_time, span, labels):
    """A dated log has dates, at round hours of the clock; ticks that are days apart are days."""
    log = write_site(tmp_path / "site.swf", jobs=60, start_time=start_time or 0)
    if start_time is None:
        lines = log.read_text().splitlines(True)
        log.write_text("".join(line for line in lines if "UnixStart" not in line))
    axes = draw_gantt([bfenv.simulate(bfenv.read_swf(log), "easy")], 0, span).axes[-1]
    found = [label.get_text() for label in axes.get_xticklabels()]
    assert len(found) >= 2 and all(re.fullmatch(labels, label) for label in found)


def test_any_name():
    """A policy's name is text, whatever is in it."""
    schedule = replace(bfenv.simulate(FOUR, "easy"), policy="$x^{$\u202e")
    figure = draw_gantt([schedule], 0, 21)
    figure.canvas.draw()
    assert figure.axes[0].get_title(loc="left") == "$x^{$?"


@pytest.mark.parametrize("name", ["easy", "easy " * 60])
def test_long_name(name):
    """The policy's name, in as many lines as it needs, is above the summary and within the page."""
    figure = draw_gantt([replace(bfenv.simulate(FOUR, "easy"), policy=name)], 0, 21)
    figure.canvas.draw()
    machine = figure.axes[0]
    title, summary = (
        text.get_window_extent() for text in (machine._left_title, machine.xaxis.label)
    )
    assert machine.get_xlabel().startswith("4 jobs start")
    assert title.y0 >= summary.y1 and max(title.x1, summary.x1) <= figure.bbox.x1
