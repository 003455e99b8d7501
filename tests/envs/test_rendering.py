"""The two renderings: what they show, what they never show, and where they work."""

import copy
import os
import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import bfenv
from bfenv.envs import rendering as render
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.rendering.canvas import Brush
from bfenv.envs.rendering.rgb import EDGE, INK, JOBS, PAST, PLOT, Axes
from bfenv.envs.rendering.snapshot import horizon, look, span

# On 4 processors, after slots 0 and 0 have started at 0 and 10 and the clock is at 20:
#
#   4 |   .  . [2 2 2 2 2      job 0: 1 processor until 100      head: job 2, needs 4,
#   3 | 0 0 .  [2 2 2 2 2      job 1: 2 processors until 130     shadow time 130, 0 extra nodes
#   2 | 1 1 1  [2 2 2 2 2      job 3 (1 processor, 200 s) would delay it, job 4 (1, 40 s) not
#   1 | 1 1 1  [2 2 2 2 2
#     0   100  130       210
SMALL = {
    "submit": [0, 10, 20, 20, 20],
    "size": [1, 2, 4, 1, 1],
    "runtime": [60, 90, 50, 100, 30],
    "processors": 4,
    "estimate": [100, 120, 80, 200, 40],
    "user": [7, 7, 8, 9, 9],
    "name": "small",
}


def small(mode="ansi", **options):
    env = BackfillEnv(
        bfenv.make_trace(**SMALL),
        warmup_jobs=0,
        episode_jobs=None,
        split="all",
        reservation_depth=1,
        render_mode=mode,
        **options,
    )
    env.reset(seed=0)
    return env


def at_20(mode="ansi", **options):
    env = small(mode, **options)
    env.step(0)
    env.step(0)
    return env


def crowd(jobs=3000, processors=64, seed=0):
    """A trace with far more work than the machine can do."""
    rng = np.random.default_rng(seed)
    estimate = rng.integers(1, 50_000, jobs)
    return bfenv.make_trace(
        np.sort(rng.integers(0, 100_000, jobs)),
        rng.integers(1, processors + 1, jobs),
        rng.integers(1, estimate + 1),
        processors,
        estimate=estimate,
        user=rng.integers(0, 10**6, jobs),
        name="a very long name of a workload, longer than the line of the screen has room" * 3,
    )


def lines_of(text):
    """The lines by their first word."""
    return {line.split()[0]: line for line in text.splitlines() if line.split()}


def test_text_shows_clock_machine_head_queue_and_episode():
    env = at_20()
    env.step(999)
    lines = lines_of(env.render())
    assert lines["Backfill-v0"].split() == ["Backfill-v0", "small", "day", "1", "00:00:20"]
    assert "3 of 4 busy (75 %), 1 free" in lines["machine"]
    assert (
        "2 jobs; next expected end in 1m 20s (job 0, 1 proc.), last in 1m 50s" in lines["running"]
    )
    assert "job 2 (4 proc.): shadow time in 1m 50s (day 1, 00:02:10)" in lines["head"]
    assert "0 extra nodes" in lines["head"]
    assert "3 jobs waiting, 1 may start, 0 beyond the window of 64" in lines["queue"]
    assert "2 of 5 started; 1 illegal, 0 forced" in lines["episode"]


def test_text_lists_the_queue_with_verdicts():
    lines = lines_of(at_20().render())
    assert lines["slot"].split() == "slot job user size estimate wait may start".split()
    assert lines["0"].split() == "0 2 1 4 1m 20s 0s no: too large now".split()
    assert lines["1"].split() == "1 3 2 1 3m 20s 0s no: would delay a reservation".split()
    assert lines["2"].split() == "2 4 2 1 40s 0s yes".split()


def test_text_draws_the_availability_profile():
    assert lines_of(small().render())["ahead"].split()[1] == "█" * 40
    ahead = lines_of(at_20().render())["ahead"].split()[1]
    assert list(ahead) == sorted(ahead)
    assert ahead[0] == "▂" and ahead[-1] == "█"


def test_text_fits_the_screen_at_a_long_queue():
    env = BackfillEnv(crowd(), window=32, render_mode="ansi", every_pass=True, split="all")
    env.reset(seed=1)
    for _ in range(200):
        env.step(32)
    lines = env.render().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert f"{look(env, 5).waiting - 12} more" in lines[-1]


def test_after_the_last_start_nobody_waits_and_nothing_may_start():
    env = small()
    ended = False
    while not ended:
        _, _, ended, _, _ = env.step(int(np.flatnonzero(env.action_masks())[0]))
    lines = lines_of(env.render())
    assert "5 of 5 started" in lines["episode"]
    assert "nobody waits" in lines["head"]
    assert "slot" not in lines


def test_a_requested_start_is_the_head_s_reservation():
    trace = bfenv.make_trace([0, 1], [2, 1], [10, 10], 4, requested_start=[500, 0])
    env = BackfillEnv(trace, warmup_jobs=0, episode_jobs=None, split="all", render_mode="ansi")
    env.reset()
    lines = lines_of(env.render())
    assert "shadow time in 8m 19s (day 1, 00:08:20), 2 extra nodes" in lines["head"]
    assert lines["0"].endswith("no: requested start in 8m 19s")


def test_rows_beyond_the_first_are_those_that_may_start():
    trace = bfenv.make_trace([0] * 31, [1] + [4] * 29 + [1], [9] * 31, 4)
    env = BackfillEnv(trace, warmup_jobs=0, episode_jobs=None, split="all")
    env.reset()
    env.step(0)
    assert [row.slot for row in look(env, 6).rows] == [0, 1, 2, 3, 4, 29]


def test_half_of_the_rows_are_the_first_of_the_queue():
    trace = bfenv.make_trace([0] * 40, [4] * 10 + [1] * 30, [9] * 40, 4)
    env = BackfillEnv(trace, warmup_jobs=0, episode_jobs=None, split="all")
    env.reset()
    env.step(10)
    assert [row.slot for row in look(env, 6).rows] == [0, 1, 2, 10, 11, 12]


@pytest.mark.parametrize(
    "seconds, shown",
    [(0, "0s"), (59, "59s"), (60, "1m"), (270, "4m 30s"), (64_800, "18h"), (273_600, "3d 04h")],
)
def test_a_length_of_time_is_told_by_its_two_largest_units(seconds, shown):
    assert span(seconds) == shown


def test_the_horizon_holds_most_of_what_runs_and_is_round():
    assert horizon(bfenv.make_trace([0], [1], [1], 1).jobs) == 1
    assert horizon(bfenv.make_trace([0] * 4, [1] * 4, [10, 10, 10, 4000], 1).jobs) == 7200


def test_a_frame_is_a_picture_of_constant_size():
    env = small("rgb_array")
    frame = env.render()
    assert frame.shape == (540, 960, 3)
    assert frame.dtype == np.uint8
    assert frame.flags.writeable and frame.flags.c_contiguous
    assert at_20("rgb_array").render().shape == frame.shape


def test_a_step_changes_the_frame():
    env = small("rgb_array")
    before = env.render()
    env.step(0)
    assert (env.render() != before).any()


def test_frames_are_determined_by_the_state():
    screen, env = render.Screen(), small()
    first = screen.draw(env)
    env.step(0)
    screen.draw(env)
    env.reset(seed=0)
    assert (screen.draw(env) == first).all()
    assert (render.Screen().draw(small()) == first).all()


@pytest.mark.parametrize("processors", [1, 4, 64, 1152, 100_000])
def test_the_stack_of_running_jobs_fills_the_plot_as_far_as_the_machine_is_busy(processors):
    env = BackfillEnv(crowd(processors=processors), window=8, split="all", render_mode="rgb_array")
    env.reset(seed=2)
    for _ in range(20):
        env.step(int(np.flatnonzero(env.action_masks())[0]))
        scene = look(env, 0)
        assert sum(run.size for run in scene.runs) == scene.processors - scene.free
        assert all(run.start <= scene.now < run.end for run in scene.runs)
        plot = env.render()[PLOT[1] : PLOT[1] + PLOT[3], PLOT[0] : PLOT[0] + PLOT[2]]
        column = plot[:, round(PLOT[2] * PAST) + 3].astype(int)
        coloured = np.ptp(column, axis=1) > 20
        stack = coloured[round(PLOT[3] * scene.free / scene.processors) + 3 :]
        assert stack.sum() >= 0.9 * len(stack)


def test_the_picture_has_the_profile_and_the_head_s_reservation_where_they_belong():
    env = at_20("rgb_array")
    frame, scene = env.render(), look(env, 0)
    axes = Axes(scene, horizon(env.trace.jobs))
    for time, busy in ((60, 3), (115, 2)):
        line = frame[axes.y(busy) - 1 : axes.y(busy) + 2, axes.x(time)]
        assert (line == INK).all(axis=1).any(), time
    edge = JOBS[scene.head.job % len(JOBS)]
    for time in (140, 200):  # of the reservation of all 4 processors from 130 to 210
        column = frame[:, axes.x(time)]
        assert (column[axes.y(4)] == EDGE).all() and (column[axes.y(4) + 1] == edge).all()
    assert not (frame[axes.y(4) + 1, axes.x(220)] == edge).all()


def test_unfinished_jobs_true_runtimes_are_in_neither_rendering():
    frames, texts = [], []
    for runtime in (range(500, 1000, 50), range(1000, 500, -50)):
        trace = bfenv.make_trace(range(10), [1, 2, 3] * 3 + [8], runtime, 8, estimate=[1000] * 10)
        env = BackfillEnv(
            trace, warmup_jobs=0, episode_jobs=None, split="all", every_pass=True, window=5
        )
        env.reset(seed=0)
        while look(env, 0).now < 9:
            texts.append(render.text(env))
            frames.append(render.Screen().draw(env))
            env.step(int(np.flatnonzero(env.action_masks())[0]))
    half = len(texts) // 2
    assert half >= 9
    assert texts[:half] == texts[half:]
    assert all((a == b).all() for a, b in zip(frames[:half], frames[half:], strict=True))


def test_human_mode_goes_through_gymnasium_s_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with pytest.warns(UserWarning, match="HumanRendering"):
        env = gymnasium.make(
            "Backfill-v0",
            workload=bfenv.make_trace(**SMALL),
            warmup_jobs=0,
            episode_jobs=2,
            split="all",
            render_mode="human",
        )
    env.reset(seed=0)
    env.step(0)
    env.close()


def test_a_frame_can_be_drawn_after_somebody_else_quit_pygame():
    pygame = pytest.importorskip("pygame")
    env = small("rgb_array")
    before = env.render()
    pygame.quit()
    assert (env.render() == before).all()
    env.step(0)
    env.render()


def test_without_pygame_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(bfenv.BfenvError, match=r"pip install 'bfenv\[render\]'"):
        small("rgb_array").render()
    assert "Backfill-v0" in small("ansi").render()


def test_drawing_needs_no_display_and_prints_no_greeting():
    code = (
        "from bfenv.envs.rendering.canvas import Brush\n"
        "b = Brush(9, 9); b.clear((1, 2, 3)); b.pixels()"
    )
    hidden = ("SDL_VIDEODRIVER", "DISPLAY", "PYGAME_HIDE_SUPPORT_PROMPT")
    environ = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_an_environment_that_has_drawn_pickles_and_copies():
    env = at_20("rgb_array")
    frame = env.render()
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert (twin.render() == frame).all()


def test_rendering_before_the_first_reset_is_an_error():
    env = BackfillEnv(bfenv.make_trace(**SMALL), warmup_jobs=0, episode_jobs=1, split="all")
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        render.text(env)


def test_images_of_text_are_forgotten_in_time(monkeypatch):
    monkeypatch.setattr("bfenv.envs.rendering.canvas.REMEMBERED", 10)
    brush = Brush(50, 50)
    for number in range(30):
        brush.clear((0, 0, 0))
        brush.text(0, 0, str(number), (9, 9, 9))
    assert len(brush._images) <= 11
