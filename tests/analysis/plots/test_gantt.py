"""Gantt charts: what is drawn."""

import pytest

import bfenv
from bfenv.analysis.plots.gantt import draw_gantt, write_gantt
from bfenv.core.errors import BfenvError
from tests.analysis.drawn import FOUR

pytest.importorskip("matplotlib")


def test_jobs():
    """A chart has a box and a number for each job, and backfilled jobs are hatched."""
    figure = draw_gantt([bfenv.simulate(FOUR, policy) for policy in ("easy", "fcfs")], 0, 21)
    figure.canvas.draw()
    easy, queue, fcfs, _ = figure.axes
    boxes = [patch for patch in easy.patches if patch.get_facecolor()[3] > 0]
    drawn = {(p.get_x(), p.get_y(), p.get_width(), p.get_height(), bool(p.get_hatch()))
             for p in boxes}  # fmt: skip
    assert drawn == {(0, 0, 10, 3, False), (2, 3, 4, 1, True), (10, 0, 5, 4, False),
                     (15, 0, 6, 2, False)}  # fmt: skip
    assert not any(patch.get_hatch() for patch in fcfs.patches)
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


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_files(tmp_path, suffix):
    """Equal charts are equal files, in every format."""
    schedules = [bfenv.simulate(FOUR, "easy")]
    for name in ("one", "two"):
        write_gantt(schedules, tmp_path / f"{name}{suffix}", 0, 30)
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()
    with pytest.raises(BfenvError, match=r"one\.txt"):
        write_gantt(schedules, tmp_path / "one.txt", 0, 30)
