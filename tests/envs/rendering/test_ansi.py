"""The screen of text."""

import gymnasium
import numpy as np
import pytest

import bfenv
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.rendering.ansi import render_text
from bfenv.envs.rendering.snapshot import take_snapshot
from tests.envs.rendering.scene import SMALL, at_20, crowd, lines_of, small


def test_lines():
    """The screen shows clock, machine, head, queue and episode."""
    env = at_20()
    lines = lines_of(env.render())
    assert lines["Backfill-v0"].split() == ["Backfill-v0", "small", "day", "1", "00:00:20"]
    assert "3 of 4 busy (75 %), 1 free" in lines["machine"]
    assert (
        "2 jobs; next expected end in 1m 20s (job 0, 1 proc.), last in 1m 50s" in lines["running"]
    )
    assert "job 2 (4 proc.): shadow time in 1m 50s (day 1, 00:02:10)" in lines["head"]
    assert "0 extra nodes" in lines["head"]
    assert "3 jobs waiting, 1 may start, 0 beyond the window of 64" in lines["queue"]
    assert "2 of 5 started; 0 illegal, 0 forced" in lines["episode"]
    env.step(999)
    assert "2 of 5 started; 1 illegal, 0 forced" in lines_of(env.render())["episode"]


def test_verdicts():
    """Each waiting job may start, or the reason why not is shown."""
    lines = lines_of(at_20().render())
    assert lines["slot"].split() == "slot job user size estimate wait may start".split()
    assert lines["0"].split() == "0 2 1 4 1m 20s 0s no: too large now".split()
    assert lines["1"].split() == "1 3 2 1 3m 20s 0s no: would delay a reservation".split()
    assert lines["2"].split() == "2 4 2 1 40s 0s yes".split()


def test_heads():
    """A job that does not fit may be named as the head, and does not count as one to start."""
    trace = bfenv.make_trace([0] * 4, [3, 4, 1, 2], [50] * 4, 4)
    env = BackfillEnv(trace, warmup_jobs=0, episode_jobs=None, split="all", render_mode="ansi")
    env.reset()
    env.step(0)
    assert env.action_masks()[:3].all()
    lines = lines_of(env.render())
    assert "3 jobs waiting, 1 may start, 2 may become the head, 0 beyond" in lines["queue"]
    assert lines["0"].endswith("head: too large now")
    assert lines["1"].endswith("yes")
    assert lines["2"].endswith("head: too large now")
    env.step(0)  # names job 1
    lines = lines_of(env.render())
    assert "3 jobs waiting, 1 may start, 0 beyond" in lines["queue"]
    assert lines["2"].endswith("no: too large now")


def test_profile():
    """The availability profile rises from now to the full machine."""
    assert lines_of(small().render())["ahead"].split()[1] == "█" * 40
    ahead = lines_of(at_20().render())["ahead"].split()[1]
    assert list(ahead) == sorted(ahead)
    assert ahead[0] == "▂" and ahead[-1] == "█"


def test_size():
    """The text fits a screen with a long queue."""
    env = BackfillEnv(crowd(), window=32, render_mode="ansi", idle="every_pass", split="all")
    env.reset(seed=1)
    for _ in range(200):
        env.step(32)
    lines = env.render().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert f"{take_snapshot(env, 5).waiting - 12} more" in lines[-1]


def test_end_of_episode():
    """After the last start no job waits."""
    env = small()
    ended = False
    while not ended:
        _, _, ended, _, _ = env.step(int(np.flatnonzero(env.action_masks())[0]))
    lines = lines_of(env.render())
    assert "5 of 5 started" in lines["episode"]
    assert "no job waits" in lines["head"]
    assert "slot" not in lines


def test_requested_start():
    """A requested start is the head's reservation."""
    trace = bfenv.make_trace([0, 1], [2, 1], [10, 10], 4, requested_start=[500, 0])
    env = BackfillEnv(
        trace, reservations=1, warmup_jobs=0, episode_jobs=None, split="all", render_mode="ansi"
    )
    env.reset()
    lines = lines_of(env.render())
    assert "shadow time in 8m 19s (day 1, 00:08:20), 2 extra nodes" in lines["head"]
    assert lines["0"].endswith("no: requested start in 8m 19s")


def test_before_reset():
    """Rendering before the first reset is an error."""
    env = BackfillEnv(bfenv.make_trace(**SMALL), warmup_jobs=0, episode_jobs=1, split="all")
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        render_text(env)
