"""What a rendering may show."""

import numpy as np
import pytest

import bfenv
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.rendering import render_image, render_text
from bfenv.envs.rendering.snapshot import horizon, span, take_snapshot
from tests.envs.playing import whole


def test_legal_rows():
    """Rows beyond the first are those that may start."""
    trace = bfenv.make_trace([0] * 31, [1] + [4] * 29 + [1], [9] * 31, 4)
    env = BackfillEnv(trace, reservations=1, warmup_jobs=0, episode_jobs=None, split="all")
    env.reset()
    env.step(0)
    assert [row.slot for row in take_snapshot(env, 6).rows] == [0, 1, 2, 3, 4, 29]


def test_first_rows():
    """Half of the rows are the first of the queue."""
    trace = bfenv.make_trace([0] * 40, [4] * 10 + [1] * 30, [9] * 40, 4)
    env = whole(trace, window=64)
    env.reset()
    env.step(10)
    assert [row.slot for row in take_snapshot(env, 6).rows] == [0, 1, 2, 10, 11, 12]


def test_named_head():
    """The head is the job that the agent has named in this pass, and the oldest before."""
    trace = bfenv.make_trace([0, 1, 1, 1], [3, 4, 2, 1], [9] * 4, 4)
    env = whole(trace, window=4, reservations="chosen")
    env.reset()
    env.step(0)
    before = take_snapshot(env, 4).head
    env.step(1)  # job 2 does not fit beside job 0
    after = take_snapshot(env, 4).head
    assert (before.job, after.job) == (1, 2)


@pytest.mark.parametrize(
    "seconds, shown",
    [(0, "0s"), (59, "59s"), (60, "1m"), (270, "4m 30s"), (64_800, "18h"), (273_600, "3d 04h")],
)
def test_span(seconds, shown):
    """A duration is written in its two largest units."""
    assert span(seconds) == shown


def test_horizon():
    """The horizon holds most of what runs and is round."""
    assert horizon(bfenv.make_trace([0], [1], [1], 1).jobs) == 1
    assert horizon(bfenv.make_trace([0] * 4, [1] * 4, [10, 10, 10, 4000], 1).jobs) == 7200


def test_no_leak():
    """True runtimes of unfinished jobs, and requests of jobs to come, are in neither rendering."""
    frames, texts = [], []
    for runtime in (range(500, 1000, 50), range(1000, 500, -50)):
        estimate = [1000] * 9 + [1000 if runtime.step > 0 else 90_000]  # of a job to come
        trace = bfenv.make_trace(range(10), [1, 2, 3] * 3 + [8], runtime, 8, estimate=estimate)
        env = BackfillEnv(
            trace, warmup_jobs=0, episode_jobs=None, split="all", idle="every_pass", window=5
        )
        env.reset(seed=0)
        while take_snapshot(env, 0).now < 9:
            texts.append(render_text(env))
            frames.append(render_image(env))
            env.step(int(np.flatnonzero(env.action_masks())[0]))
    half = len(texts) // 2
    assert half >= 9
    assert texts[:half] == texts[half:]
    assert all((a == b).all() for a, b in zip(frames[:half], frames[half:], strict=True))
