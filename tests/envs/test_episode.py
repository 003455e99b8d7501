"""Episodes: the very schedules of the simulator, decision points, warm machines."""

import gymnasium
import numpy as np
import pytest

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.core.cluster import waiting
from tests.envs.playing import play, whole


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_replay_lublin(policy):
    """A policy driven through `step` makes the schedule of `simulate`, see also `test_outages`."""
    trace = bfenv.load_workload("lublin")[:2000]
    env = whole(trace, window=2000)
    play(env, PolicyAgent(policy, env))
    assert np.array_equal(env.cluster.start, bfenv.simulate(trace, policy).start)


def test_forced_starts():
    """Passing forever ends the episode by forced starts, which are counted."""
    trace = bfenv.make_trace([0, 0, 1], [1, 1, 1], [3, 3, 3], 1)
    env = whole(trace)
    env.reset(seed=0)
    steps, done = 0, False
    while not done:
        _, _, done, _, info = env.step(env.window)
        steps += 1
    assert info["forced_starts"] == 3
    assert env.cluster.start.tolist() == [1, 4, 7]


def test_every_pass():
    """With idle="every_pass", time stops where no start is legal."""
    trace = bfenv.make_trace([0, 1, 2], [1, 1, 1], [9, 9, 9], 1)
    times = {}
    for idle in ("never", "every_pass"):
        env = whole(trace, idle=idle, reservations=1)
        _, info = env.reset(seed=0)
        times[idle], done = [info["now"]], False
        while not done:
            _, _, done, _, info = env.step(int(info["action_mask"].argmax()))
            times[idle].append(info["now"])
    assert times == {"never": [0, 9, 18, 18], "every_pass": [0, 1, 2, 9, 18, 18]}


def test_loaded_to_the_end():
    """Jobs keep arriving until the last job of the episode has started."""
    env = gymnasium.make("Backfill-v0", episode_jobs=50, warmup_jobs=50).unwrapped
    env.reset(seed=1)
    done = False
    while not done:
        _, _, done, _, _ = env.step(env.window if env.action_masks()[-1] else 0)
        if waiting(env.cluster).max(initial=0) >= env.episode_jobs.stop:
            return
    pytest.fail("no job after the episode's ever arrived")
