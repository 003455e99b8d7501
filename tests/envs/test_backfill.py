"""The single environment: the contract of Gymnasium, actions, seeds, copies, its page."""

import copy
import json
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import bfenv
import bfenv.envs.features as f
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.settings import SETTINGS
from tests.envs.playing import whole


def test_make():
    """Gymnasium makes it by both ids."""
    for name in ("Backfill-v0", "bfenv:Backfill-v0"):
        env = gymnasium.make(name)
        env.reset(seed=1)
        env.close()
        env.close()


@pytest.mark.usefixtures("compiled_environments")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reservations": 1, "window": 5},
        {"idle": "every_pass"},
    ],
)
def test_gymnasium_checker(options):
    """Gymnasium's checker has nothing to report."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("Backfill-v0", **options).unwrapped)


def test_sb3_checker():
    """stable-baselines3's checker reports nothing but two-dimensional boxes."""
    from stable_baselines3.common.env_checker import check_env as check

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(gymnasium.make("Backfill-v0").unwrapped)
    assert all("unconventional shape" in str(warning.message) for warning in caught)


def test_spec_json():
    """The spec survives JSON."""
    env = gymnasium.make("Backfill-v0", window=16, reservations=1, reward="wait", load=0.7)
    spec = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
    assert json.loads(env.spec.to_json())["kwargs"]["window"] == 16
    other = gymnasium.make(spec)
    assert other.unwrapped.window == 16
    assert other.unwrapped.trace.offered_load == pytest.approx(0.7, rel=0.01)


def test_illegal_action():
    """An illegal action is the pass, at the pass's price, and is counted."""
    twins = [BackfillEnv(reservations=0, idle="allowed", reward="wait") for _ in range(2)]
    for env in twins:
        _, info = env.reset(seed=1)
    illegal = int(info["action_mask"].argmin())
    assert info["action_mask"][illegal] == 0
    one, two = (env.step(action) for env, action in zip(twins, (illegal, env.window), strict=True))
    assert all(np.array_equal(one[0][key], two[0][key]) for key in one[0])
    assert one[1:4] == two[1:4] and one[1] < 0
    assert one[4]["now"] == two[4]["now"] > info["now"]
    assert (one[4]["illegal_action"], one[4]["illegal_actions"]) == (True, 1)
    assert (two[4]["illegal_action"], two[4]["illegal_actions"]) == (False, 0)


@pytest.mark.compiled
@pytest.mark.parametrize("action", [-1, 8])
def test_unmasked_agents_end(action):
    """An agent that only acts illegally, or only passes, ends its episode, and pays for it."""
    env = BackfillEnv(window=8, episode_jobs=20, warmup_jobs=20, reward="bounded_slowdown")
    env.reset(seed=0)
    total, done, steps = 0.0, False, 0
    while not done:
        _, reward, done, _, info = env.step(action)
        total, steps = total + reward, steps + 1
    assert info["metrics"]["mean_bounded_slowdown"] > 100
    assert total == pytest.approx(-info["metrics"]["mean_bounded_slowdown"])
    if action == -1:
        assert info["illegal_actions"] == steps


@pytest.mark.parametrize("action", [0, np.int64(0), np.array(0), np.array([0]), np.array([[0]])])
def test_arrays_as_actions(action):
    """An array with one integer is an action, as model.predict returns it."""
    given, plain = BackfillEnv(), BackfillEnv()
    given.reset(seed=0)
    plain.reset(seed=0)
    assert given.step(action)[1:4] == plain.step(0)[1:4]
    assert np.array_equal(given.cluster.start, plain.cluster.start)


@pytest.mark.parametrize("action", [-1, 9, 10**6, 10**30, -(10**30)])
def test_action_outside_space(action):
    """An integer outside the space, or of any array, is an illegal action, not an error."""
    env = whole(bfenv.make_trace([0, 0], [1, 1], [3, 3], 1), window=8)
    env.reset(seed=0)
    assert env.step(action)[4]["illegal_action"]


@pytest.mark.parametrize(
    "action", [None, float("nan"), 1.5, "0", np.array([0, 1]), np.array([0.5]), np.array(0.0)]
)
def test_action_type(action):
    """An action that is not an integer is an error and changes nothing."""
    env = BackfillEnv()
    env.reset(seed=0)
    before = env.action_masks(), env.pass_id
    with pytest.raises(bfenv.BfenvError, match="action"):
        env.step(action)
    assert env.pass_id == before[1] and np.array_equal(env.action_masks(), before[0])


@pytest.mark.parametrize("limit", [None, 5])
def test_step_after_the_end(limit):
    """An episode that is over needs a reset, which may fail."""
    env = BackfillEnv("lublin:jobs=400", warmup_jobs=20, episode_jobs=10, max_episode_steps=limit)
    _, info = env.reset(seed=0)

    def play(info):
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
            over = terminated or truncated
        for _ in range(2):
            with pytest.raises(ResetNeeded, match="the episode is over: reset the environment"):
                env.step(0)

    play(info)
    with pytest.raises(bfenv.BfenvError):
        env.reset(options={"first_job": -1})
    with pytest.raises(ResetNeeded):
        copy.deepcopy(env).step(0)
    play(env.reset()[1])


def test_seeds():
    """Equal seeds and actions give equal episodes, other seeds others."""

    def rollout(seed):
        env = gymnasium.make("Backfill-v0", episode_jobs=40, warmup_jobs=40).unwrapped
        observation, _ = env.reset(seed=seed)
        seen = [observation["queue"].sum()]
        for _ in range(50):
            observation, reward, done, _, info = env.step(int(env.action_masks().argmax()))
            seen += [observation["queue"].sum(), reward, info["now"]]
            if done:
                observation, _ = env.reset()
                seen.append(observation["queue"].sum())
        return seen

    assert rollout(5) == rollout(5)
    assert rollout(5) != rollout(6)


def test_copies():
    """Copies and pickles continue like the original."""
    env = gymnasium.make("Backfill-v0").unwrapped
    env.reset(seed=2)
    for _ in range(20):
        env.step(int(env.action_masks().argmax()))
    twins = [env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for _ in range(20):
        results = [twin.step(int(twin.action_masks().argmax())) for twin in twins]
        for observation, reward, *_ in results[1:]:
            assert reward == results[0][1]
            assert all(np.array_equal(observation[k], results[0][0][k]) for k in observation)
    first = [twin.reset()[1]["now"] for twin in twins]
    assert first[0] == first[1] == first[2]


def test_page():
    """The page has its sections, every feature, every setting, and at most 1,800 words."""
    page = BackfillEnv.__doc__
    assert sum(any(map(str.isalnum, word)) for word in page.split()) <= 1800
    for name in SETTINGS:
        assert f"* `{name}=" in page
    extra = (*f.PRIORITY, *f.REQUESTED_START, *f.PASS)
    for feature in (*f.QUEUE, *f.USERS, *extra, *f.CLUSTER):
        assert f"| {feature.name} " in page
    sections = "Description, Action Space, Observation Space, Rewards, Starting State, Episode End"
    for section in (*sections.split(", "), "Arguments", "Version History"):
        assert f"## {section}" in page
