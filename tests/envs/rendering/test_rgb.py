"""The image."""

import copy
import pickle
import sys

import numpy as np
import pytest

import bfenv
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.rendering import render_image, rgb
from bfenv.envs.rendering.rgb import EDGE, INK, JOBS, PAST, PLOT, Axes
from bfenv.envs.rendering.snapshot import horizon, take_snapshot
from tests.envs.playing import FREE
from tests.envs.rendering.scene import at_20, crowd, small


def test_size():
    """A frame is an image of constant size."""
    env = small("rgb_array")
    frame = env.render()
    assert frame.shape == (540, 960, 3)
    assert frame.dtype == np.uint8
    assert frame.flags.writeable and frame.flags.c_contiguous
    assert at_20("rgb_array").render().shape == frame.shape


def test_step():
    """A step changes the frame."""
    env = small("rgb_array")
    before = env.render()
    env.step(0)
    assert (env.render() != before).any()


def test_deterministic():
    """Frames are determined by the state."""
    env = small()
    first = render_image(env)
    env.step(0)
    render_image(env)
    env.reset(seed=0)
    assert (render_image(env) == first).all()
    assert (render_image(small()) == first).all()


@pytest.mark.parametrize("processors", [1, 4, 64, 1152, 100_000])
def test_stack(processors):
    """The stack of running jobs is as high as the machine is busy."""
    options = FREE | {"window": 8, "window_order": "oldest", "render_mode": "rgb_array"}
    # of these episodes, no running job ends left of the column that is looked at
    env = BackfillEnv(crowd(processors=processors), split="all", episode_jobs=256, **options)
    env.reset(seed=2)
    for _ in range(20):
        env.step(int(np.flatnonzero(env.action_masks())[0]))
        snapshot = take_snapshot(env, 0)
        assert sum(run.size for run in snapshot.runs) == snapshot.processors - snapshot.free
        assert all(run.start <= snapshot.now < run.end for run in snapshot.runs)
        plot = env.render()[PLOT[1] : PLOT[1] + PLOT[3], PLOT[0] : PLOT[0] + PLOT[2]]
        column = plot[:, round(PLOT[2] * PAST) + 3].astype(int)
        coloured = np.ptp(column, axis=1) > 20
        stack = coloured[round(PLOT[3] * snapshot.free / snapshot.processors) + 3 :]
        assert stack.sum() >= 0.9 * len(stack)


def test_profile():
    """The profile and the head's reservation are where they belong."""
    env = at_20("rgb_array")
    frame, snapshot = env.render(), take_snapshot(env, 0)
    axes = Axes(snapshot, horizon(env.jobs))
    for time, busy in ((60, 3), (115, 2)):
        line = frame[axes.y(busy) - 1 : axes.y(busy) + 2, axes.x(time)]
        assert (line == INK).all(axis=1).any(), time
    edge = JOBS[snapshot.head.job % len(JOBS)]
    for time in (140, 200):  # of the reservation of all 4 processors from 130 to 210
        column = frame[:, axes.x(time)]
        assert (column[axes.y(4)] == EDGE).all() and (column[axes.y(4) + 1] == edge).all()
    assert not (frame[axes.y(4) + 1, axes.x(220)] == edge).all()


def test_without_pillow(monkeypatch):
    """Without Pillow the error says what to install."""
    rgb._pillow.cache_clear()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(bfenv.BfenvError, match=r"pip install 'bfenv\[render\]'"):
        small("rgb_array").render()
    assert "Backfill-v0" in small("ansi").render()


def test_copies():
    """An environment that has drawn can be pickled and copied."""
    env = at_20("rgb_array")
    frame = env.render()
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert (twin.render() == frame).all()
