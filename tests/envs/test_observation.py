"""What is seen: within its box, right by hand, and nothing that is hidden."""

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.cluster import now
from bfenv.envs import observation
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.observation import AHEAD, CLUSTER, JOB_ACCURACY, QUEUE
from tests.conftest import small_traces


def named(features, values):
    return {f.name: float(v) for f, v in zip(features, values, strict=True)}


def test_by_hand():
    """A machine worked out by hand."""
    #  machine 10 at t = 25: job 0 (size 5) is expected to end at 28; jobs 1, 2 wait (Shmueli 2003,
    #  Figure 3.4: the head needs 7, so its shadow time is 28 and its extra nodes are 3)
    trace = bfenv.make_trace(
        [0, 25, 25],
        [5, 7, 2],
        [26, 4, 2],
        10,
        estimate=[28, 4, 2],
        user=[0, -1, 1],
        priority=[0, 0, -3],
        time_of_day=6 * 3600 - 25,
    )
    env = BackfillEnv(trace, window=4, episode_jobs=None, warmup_jobs=0, split="all")
    env.reset(seed=0)
    observation, _, _, _, info = env.step(0)
    assert info["now"] == 25
    assert named(QUEUE, observation["queue"][0]) == pytest.approx(
        {
            "present": 1,
            "size": 0.7,
            "estimate": 4 / 3604,
            "wait": 0,
            "slowdown": 0,
            "fits": 0,
            "before_shadow": 0,
            "within_extra": 0,
            "accuracy": -1,
            "priority": 0,
            "start_in": 0,
        }
    )
    assert named(QUEUE, observation["queue"][1]) == pytest.approx(
        {
            "present": 1,
            "size": 0.2,
            "estimate": 2 / 3602,
            "wait": 0,
            "slowdown": 0,
            "fits": 1,
            "before_shadow": 1,
            "within_extra": 1,
            "accuracy": -1,
            "priority": -0.75,
            "start_in": 0,
        }
    )
    assert not observation["queue"][2:].any()
    assert named(CLUSTER, observation["cluster"]) == pytest.approx(
        {
            "free": 0.5,
            "queue": 2 / 6,
            "overflow": 0,
            "shadow": 3 / 3603,
            "extra": 0.3,
            "next_end": 3 / 3603,
            "day_sin": 1,
            "day_cos": 0,
        },
        abs=1e-6,
    )
    assert AHEAD[:2].tolist() == [0, 60] and AHEAD[-1] == 5 * 86_400
    assert observation["profile"].tolist() == [0.5] + [1.0] * 31


def test_accuracy():
    """A user's accuracy is the mean over the jobs that have ended."""
    trace = bfenv.make_trace(
        [0, 0, 50], [1, 1, 1], [2, 4, 5], 1, estimate=[4, 4, 5], user=[7, 7, 7]
    )
    env = BackfillEnv(trace, window=4, episode_jobs=None, warmup_jobs=0, split="all")
    seen = [env.reset(seed=0)[0]["queue"][0, JOB_ACCURACY]]
    for _ in range(2):
        seen.append(env.step(0)[0]["queue"][0, JOB_ACCURACY])
    assert seen == [-1.0, 0.5, 0.75]


def test_accuracy_of_warm_up():
    """The jobs of the warm-up count."""
    trace = bfenv.make_trace(
        [0, 0, 50, 51], [1] * 4, [2, 4, 5, 5], 2, estimate=[4, 4, 5, 5], user=[0] * 4
    )
    env = BackfillEnv(trace, window=4, episode_jobs=2, warmup_jobs=2, split="all")
    assert env.reset(seed=0)[0]["queue"][0, JOB_ACCURACY] == 0.75


@given(small_traces(jobs=8), st.integers(0, 2**32 - 1), st.integers(0, 3))
@settings(max_examples=80)
def test_no_leak(trace, seed, depth):
    """Two traces that differ only in runtimes look alike until the first of those jobs ends."""
    jobs = trace.jobs
    other = bfenv.make_trace(
        jobs.submit,
        jobs.size,
        jobs.estimate,
        trace.processors,
        estimate=jobs.estimate,
        user=jobs.user,
    )
    options = {
        "window": 6,
        "episode_jobs": None,
        "warmup_jobs": 0,
        "split": "all",
        "reservation_depth": depth,
        "every_pass": True,
    }
    twins = [BackfillEnv(t, **options) for t in (trace, other)]
    generator = np.random.default_rng(seed)
    seen = [twin.reset(seed=0) for twin in twins]
    while True:
        (one, info), (two, _) = seen[0], seen[1]
        if seen[0][1]["now"] != seen[1][1]["now"] or ends(twins[0], trace, other):
            return
        for key in one:
            assert np.array_equal(one[key], two[key])
        assert info["action_mask"].tolist() == seen[1][1]["action_mask"].tolist()
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        steps = [twin.step(action) for twin in twins]
        if steps[0][2] or steps[1][2]:
            return
        seen = [(step[0], step[4]) for step in steps]


def ends(env, trace, other):
    """Whether a job whose runtimes differ has ended in `env`."""
    submitted = trace.jobs.submit <= now(env.cluster)
    return bool(((env.cluster.end >= 0) & submitted & (trace.runtime != other.runtime)).any())


@pytest.mark.parametrize("options", [{}, {"window": 3}, {"load": 1.2}, {"reservation_depth": -1}])
def test_boxes(options):
    """Observations stay in their boxes."""
    env = gymnasium.make("Backfill-v0", episode_jobs=100, **options).unwrapped
    generator = np.random.default_rng(0)
    observation, info = env.reset(seed=0)
    for _ in range(600):
        assert env.observation_space.contains(observation)
        action = generator.choice(np.flatnonzero(info["action_mask"]))
        observation, _, done, _, info = env.step(action)
        if done:
            observation, info = env.reset()


def test_fresh():
    """Observations and masks once returned do not change."""
    env = BackfillEnv()
    first, info = env.reset(seed=0)
    kept = {key: value.copy() for key, value in first.items()}
    mask = info["action_mask"].copy()
    second, _, _, _, other = env.step(env.window)
    assert all(np.array_equal(first[key], kept[key]) for key in first)
    assert not any(np.shares_memory(first[key], second[key]) for key in first)
    assert info["action_mask"].tolist() == mask.tolist()
    assert not np.shares_memory(info["action_mask"], other["action_mask"])


def test_columns():
    """Every feature has a named index, which is its place in its table."""
    for features, prefix in ((QUEUE, "JOB_"), (CLUSTER, "CLUSTER_")):
        for i, feature in enumerate(features):
            assert getattr(observation, prefix + feature.name.upper()) == i
