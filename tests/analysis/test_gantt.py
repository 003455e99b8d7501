"""Gantt charts: who gets which processors, which hours are shown, what is drawn."""

import numpy as np
import pytest
from hypothesis import given

import bfenv
from bfenv.analysis.placement import place
from bfenv.analysis.plots.gantt import gantt, moment, scene, write_gantt
from bfenv.analysis.plots.gantt_interval import interesting, readable_span
from bfenv.core.errors import BfenvError
from tests.conftest import small_traces

# Four processors. Job 0 holds three until 10, job 1 wants all four and waits, job 2 fits beside
# job 0 and is backfilled, job 3 starts after job 1.
FOUR = bfenv.make_trace([0, 1, 2, 3], [3, 4, 1, 2], [10, 5, 4, 6], 4)


def spans(schedule, *window):
    return {run.job: (run.start, run.end, run.spans) for run in place(schedule, *window)}


def test_jobs_get_the_lowest_processors_that_are_free():
    assert spans(bfenv.simulate(FOUR, "easy")) == {
        0: (0, 10, [(0, 3)]),
        2: (2, 6, [(3, 4)]),
        1: (10, 15, [(0, 4)]),
        3: (15, 21, [(0, 2)]),
    }


def test_a_job_is_in_one_piece_where_there_is_room_and_else_in_the_lowest_pieces():
    # Jobs of 1, 2, 1, 1 processors; the first and the third leave at 5 and 6; a job of 1 takes
    # the gap below, one of 2 then finds 3 and 5 free only.
    trace = bfenv.make_trace([0, 0, 0, 0, 5, 6], [1, 2, 1, 1, 1, 2], [5, 20, 6, 20, 20, 20], 6)
    schedule = bfenv.simulate(trace, "fcfs")
    assert spans(schedule)[4] == (5, 25, [(0, 1)])
    assert spans(schedule)[5] == (6, 26, [(3, 4), (5, 6)])


@given(small_traces())
def test_no_processor_has_two_runs_at_once(trace):
    for policy in ("easy", "multiqueue"):
        schedule = bfenv.simulate(trace, policy)
        runs = place(schedule)
        assert sum(not run.trial for run in runs) == len(trace)
        for i, run in enumerate(runs):
            own = {p for first, last in run.spans for p in range(first, last)}
            assert len(own) == trace.jobs.size[run.job] and own <= set(range(trace.processors))
            for other in runs[:i]:
                if other.start < run.end and run.start < other.end:
                    assert not own & {p for first, last in other.spans for p in range(first, last)}


def test_a_window_has_the_runs_that_overlap_it():
    schedule = bfenv.simulate(FOUR, "easy")
    assert set(spans(schedule, 6, 15)) == {0, 1}
    assert set(spans(schedule, 9, 16)) == {0, 1, 3}


def test_a_scene_counts_what_happens_in_it():
    one = scene(bfenv.simulate(FOUR, "easy"), 1, 10)
    assert one.used == pytest.approx((3 * 9 + 1 * 4 + 4 * 1) / 40)
    assert one.started.tolist() == [1, 2]
    assert one.backfilled.tolist() == [False, False, True, False]
    assert "2 jobs start, 1 of them backfilled" in one.heading()
    times, jobs = one.waiting()
    assert dict(zip(times.tolist(), jobs.tolist(), strict=True)) == {1: 1, 2: 1, 3: 2, 10: 1, 11: 1}


def test_hours_without_anything_to_see_are_refused():
    schedule = bfenv.simulate(FOUR, "easy")
    with pytest.raises(BfenvError, match="nothing runs"):
        scene(schedule, 21, 10)
    with pytest.raises(BfenvError, match="at least one second"):
        scene(schedule, 0, 0)


def test_the_hours_shown_are_those_in_which_two_schedules_differ():
    # The same, after a quiet time in which both policies do alike.
    quiet = [0, 100, 200, 300]
    trace = bfenv.make_trace(
        [*quiet, *(np.array([0, 1, 2, 3]) + 1000)],
        [1] * 4 + [3, 4, 1, 2],
        [5] * 4 + [10, 5, 4, 6],
        4,
    )
    pair = [bfenv.simulate(trace, policy) for policy in ("easy", "fcfs")]
    begin = interesting(pair, 20)
    assert begin <= 1002 < begin + 20
    assert interesting(pair[:1], 20) <= 1010 < interesting(pair[:1], 20) + 20
    assert interesting([pair[0], pair[0]], 20) == 0


def test_hours_are_found_in_any_length_of_time_and_by_the_second():
    late = 10**14  # seconds, an array of which no memory holds
    trace = bfenv.make_trace([0, late, late, late + 9], [1, 2, 2, 1], [5, 30, 5, 5], 2)
    schedule = bfenv.simulate(trace, "fcfs")
    assert schedule.start.tolist() == [0, late, late + 30, late + 35]
    assert interesting([schedule], 20) == late + 20
    assert interesting([schedule], 1) == late + 29


def test_a_span_is_readable_if_enough_jobs_start_in_it():
    trace = bfenv.make_trace(range(0, 360_000, 360), [1] * 1000, [60] * 1000, 4)
    assert readable_span(bfenv.simulate(trace, "easy")) == 14_400
    assert readable_span(bfenv.simulate(FOUR, "easy")) == 3_600


def test_moments_are_told_in_days_and_hours():
    assert [moment(t) for t in (0, 61, 3_600, 90_000)] == [
        "00:00",
        "00:01:01",
        "01:00",
        "1 d 01:00",
    ]


def test_a_chart_shows_the_jobs_and_hatches_those_backfilled():
    pytest.importorskip("matplotlib")
    figure = gantt([bfenv.simulate(FOUR, policy) for policy in ("easy", "fcfs")], 0, 21)
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


def test_trials_are_told_from_runs():
    pytest.importorskip("matplotlib")
    trace = bfenv.load_workload("lublin:procs=32,jobs=300")
    schedule = bfenv.simulate(trace, "easy-speculative")
    assert (schedule.trial_end >= 0).any()
    tried = int(schedule.trial_start[schedule.trial_end >= 0][0])
    figure = gantt([schedule], tried, 600)
    assert "a trial, then killed" in [text.get_text() for text in figure.legends[0].get_texts()]
    assert {patch.get_linestyle() for patch in figure.axes[0].patches} >= {"--", "-"}


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_equal_charts_are_equal_files(tmp_path, suffix):
    pytest.importorskip("matplotlib")
    schedules = [bfenv.simulate(FOUR, "easy")]
    for name in ("one", "two"):
        write_gantt(schedules, tmp_path / f"{name}{suffix}", 0, 30)
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()
    with pytest.raises(BfenvError, match="picture"):
        write_gantt(schedules, tmp_path / "one.txt", 0, 30)
