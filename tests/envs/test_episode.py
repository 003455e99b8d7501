"""Episodes: the very schedules of the simulator, decision points, warm machines."""

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.core.cluster import waiting
from bfenv.envs.backfill import BackfillEnv
from tests.conftest import log, small_traces
from tests.envs.playing import play, whole


@given(small_traces(jobs=10), st.sampled_from(["fcfs", "easy"]))
@settings(max_examples=60)
def test_replay(trace, policy):
    """A policy driven through `step` makes the schedule of `simulate`."""
    env = whole(trace, window=10)
    agent = PolicyAgent(policy, env)
    _, info = play(env, agent)
    schedule = bfenv.simulate(trace, policy)
    assert env.cluster.start.tolist() == schedule.start.tolist()
    assert info["illegal_actions"] == info["forced_starts"] == 0


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_replay_lublin(policy):
    """So it does on the embedded workload."""
    trace = bfenv.load_workload("lublin")[:2000]
    env = whole(trace, window=2000)
    play(env, PolicyAgent(policy, env))
    assert np.array_equal(env.cluster.start, bfenv.simulate(trace, policy).start)


def test_replay_log():
    """So it does on a real log."""
    trace = log("KTH-SP2-1996-2.1-cln")[:3000]
    env = whole(trace, window=500)
    play(env, PolicyAgent("easy", env))
    assert np.array_equal(env.cluster.start, bfenv.simulate(trace, "easy").start)


@given(small_traces(jobs=10), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_random_actions(trace, seed):
    """Whatever legal actions are taken, the schedule is possible."""
    env = whole(trace, window=3)
    generator = np.random.default_rng(seed)
    _, info = env.reset(seed=0)
    done = False
    while not done:
        action = generator.choice(np.flatnonzero(info["action_mask"]))
        _, _, done, _, info = env.step(action)
    start = env.cluster.start.copy()
    schedule = bfenv.Schedule(
        trace,
        "random",
        0,
        start,
        start + trace.runtime,
        np.full(len(start), -1),
        np.full(len(start), -1),
    )
    schedule.check()


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
    """With every_pass, time stops where no start is legal."""
    trace = bfenv.make_trace([0, 1, 2], [1, 1, 1], [9, 9, 9], 1)
    times = {}
    for every_pass in (False, True):
        env = whole(trace, every_pass=every_pass)
        _, info = env.reset(seed=0)
        times[every_pass], done = [info["now"]], False
        while not done:
            _, _, done, _, info = env.step(int(info["action_mask"].argmax()))
            times[every_pass].append(info["now"])
    assert times == {False: [0, 9, 18, 18], True: [0, 1, 2, 9, 18, 18]}


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


def test_new_episode():
    """A new episode knows nothing of what the last one ran."""
    env = BackfillEnv(episode_jobs=50, warmup_jobs=50)
    for _ in range(2):
        _, info = env.reset(options={"first_job": 300})
        ended = np.flatnonzero(env.cluster.end >= 0)
        assert ended.max() < 300
        assert (env.cluster.start[300 + 50 :] == np.iinfo(np.int64).max).all()
        done = False
        while not done:
            _, _, done, _, info = env.step(int(info["action_mask"].argmax()))


def test_requested_starts():
    """Jobs with requested starts can be warmed up."""
    env = BackfillEnv("lublin:requested_start_share=0.1", episode_jobs=50, warmup_jobs=50)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
