"""The vector environment: bit by bit a SyncVectorEnv of single ones; and its own border."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

import bfenv
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.vector import BackfillVectorEnv

SHORT = {"window": 8, "episode_jobs": 12, "warmup_jobs": 20}


def same(one, other):
    """Equal in keys, types of arrays and every value, nested or not."""
    assert isinstance(other, type(one)), (type(one), type(other))
    if isinstance(one, dict):
        assert set(one) == set(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list) or (isinstance(one, np.ndarray) and one.dtype == object):
        assert len(one) == len(other)
        for mine, yours in zip(one, other, strict=True):
            same(mine, yours)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    else:
        assert one == other


def some_actions(masks, generator):
    """Mostly legal, now and then any."""
    legal = (generator.random(masks.shape) * masks).argmax(1)
    return np.where(generator.random(len(masks)) < 0.05, masks.shape[1] - 2, legal)


def twins(count, steps=None, **settings):
    """The vector environment, and single ones in a row."""

    def single():
        env = BackfillEnv(**settings)
        return env if steps is None else TimeLimit(env, steps)

    row = SyncVectorEnv([single] * count, autoreset_mode=AutoresetMode.SAME_STEP)
    return BackfillVectorEnv(count, max_episode_steps=steps, **settings), row


def pickled_reward(before, after):
    return (after.now - before.now) * 1e-3 - after.wait / after.jobs


@pytest.mark.parametrize(
    ("steps", "settings"),
    [
        (None, SHORT),
        (None, SHORT | {"reservation_depth": 1, "reward": "wait"}),
        (None, SHORT | {"reservation_depth": -1, "every_pass": True}),
        (9, SHORT),
        (None, SHORT | {"load": (0.6, 0.9), "workload": ["lublin", "sud:jobs=400"]}),
        (None, SHORT | {"reward": pickled_reward}),
    ],
)
def test_every_step_is_that_of_single_environments(steps, settings):
    vector, row = twins(5, steps, **settings)
    generator = np.random.default_rng(0)
    observation, infos = vector.reset(seed=7)
    expected = row.reset(seed=7)
    same(observation, expected[0])
    same(infos, expected[1])
    ends = 0
    for _ in range(400):
        actions = some_actions(infos["action_mask"], generator)
        result = vector.step(actions)
        for mine, yours in zip(result, row.step(actions), strict=True):
            same(mine, yours)
        infos = result[4]
        ends += int((result[2] | result[3]).sum())
    assert ends > 20


def test_thousands_of_steps_of_64_environments_are_those_of_single_ones():
    vector, row = twins(64, **SHORT)
    generator = np.random.default_rng(1)
    _, infos = vector.reset(seed=3)
    row.reset(seed=3)
    for _ in range(100):
        actions = some_actions(infos["action_mask"], generator)
        result = vector.step(actions)
        for mine, yours in zip(result, row.step(actions), strict=True):
            same(mine, yours)
        infos = result[4]


def test_a_mask_resets_some_and_leaves_the_others():
    vector, row = twins(4, **SHORT)
    for env in (vector, row):
        env.reset(seed=1)
        for _ in range(5):
            env.step(np.zeros(4, dtype=int))
    mask = np.array([True, False, False, True])
    results = [
        env.reset(seed=[5, None, None, 6], options={"reset_mask": mask}) for env in (vector, row)
    ]
    same(results[0][0], results[1][0])
    for key, values in results[0][1].items():
        assert np.array_equal(values, results[1][1][key]), key
    for mine, yours in zip(*(env.step(np.full(4, 8)) for env in (vector, row)), strict=True):
        same(mine, yours)


def test_what_was_shown_does_not_change():
    vector = BackfillVectorEnv(3, **SHORT)
    shown = [vector.reset(seed=0)]
    copies = copy.deepcopy(shown)
    for _ in range(60):
        result = vector.step(shown[-1][-1]["action_mask"].argmax(1))
        shown.append(result)
        copies.append(copy.deepcopy(result))
    mask = np.array([False, True, False])
    shown.append(vector.reset(options={"reset_mask": mask}))
    vector.step(np.full(3, 8))
    for now, then in zip(shown, copies, strict=False):
        for mine, yours in zip(now, then, strict=True):
            same(mine, yours)


def test_gymnasium_makes_it_by_default_with_its_settings_and_spaces():
    env = gymnasium.make_vec("Backfill-v0", num_envs=3, max_episode_steps=4, **SHORT)
    assert isinstance(env.unwrapped, BackfillVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observation, infos = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert env.single_observation_space == BackfillEnv(**SHORT).observation_space
    assert env.action_space == gymnasium.spaces.MultiDiscrete([9, 9, 9])
    assert infos["action_mask"].shape == (3, 9)
    for step in range(1, 5):
        *_, truncated, infos = env.step(env.action_space.sample())
        assert truncated.tolist() == [step == 4] * 3
    assert infos["_final_info"].all()
    assert env.np_random_seed == (0, 1, 2)
    env.close()
    env.close()


def test_a_seed_is_one_more_for_each_environment_and_loads_differ_by_draw():
    vector = BackfillVectorEnv(6, load=(0.5, 0.7, 0.9), **SHORT)
    vector.reset(seed=10)
    loads = [round(machine.trace.offered_load, 1) for machine in vector.machines]
    assert set(loads) == {0.5, 0.7, 0.9}
    again = []
    for seed in range(10, 16):
        env = BackfillEnv(load=(0.5, 0.7, 0.9), **SHORT)
        env.reset(seed=seed)
        again.append(round(env.trace.offered_load, 1))
    assert loads == again


def test_the_episode_can_be_chosen_on_each_of_several_workloads():
    env = BackfillEnv(["lublin", "sud:jobs=400"], load=[0.6, 0.8], **SHORT)
    names = []
    for k in range(4):
        env.reset(options={"trace": k, "first_job": 30})
        names.append((env.trace.name.split(":")[0], round(env.trace.offered_load, 1)))
        assert env.episode_jobs == range(30, 42)
    assert [load for _, load in names] == [0.6, 0.8, 0.6, 0.8]
    assert names[0][0] == names[1][0] != names[2][0] == names[3][0]
    with pytest.raises(bfenv.BfenvError, match="trace is a whole number from 0 to 3, not 4"):
        env.reset(options={"trace": 4})


def test_copies_and_pickles_go_on_like_the_original():
    vector = BackfillVectorEnv(3, **SHORT)
    vector.reset(seed=2)
    others = [vector, copy.deepcopy(vector), pickle.loads(pickle.dumps(vector))]
    for _ in range(60):
        results = [env.step(env.action_masks().argmax(1)) for env in others]
        for result in results[1:]:
            for mine, yours in zip(results[0], result, strict=True):
                same(mine, yours)


def test_every_environment_is_rendered():
    vector = BackfillVectorEnv(2, render_mode="ansi", **SHORT)
    vector.reset(seed=0)
    single = BackfillEnv(render_mode="ansi", **SHORT)
    single.reset(seed=1)
    assert vector.render()[1] == single.render() != vector.render()[0]


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda env: env.step(np.zeros(2, dtype=int)), "actions are 3 whole numbers"),
        (lambda env: env.step(np.zeros(3)), "actions are 3 whole numbers"),
        (lambda env: env.step(None), "actions are 3 whole numbers"),
        (lambda env: env.reset(seed=[1, 2]), "2 seeds for 3 environments"),
        (lambda env: env.reset(options={"reset_mask": [True] * 3}), "reset_mask is an array"),
        (lambda env: env.reset(options={"reset_mask": np.zeros(3, bool)}), "one True at least"),
        (lambda env: env.reset(options={"last_job": 3}), "unknown reset option 'last_job'"),
    ],
)
def test_a_misuse_is_named_and_changes_nothing(misuse, message):
    env = BackfillVectorEnv(3, **SHORT)
    env.reset(seed=0)
    before = env.fleet.batch.counters.copy()
    with pytest.raises(bfenv.BfenvError, match=message):
        misuse(env)
    assert np.array_equal(env.fleet.batch.counters, before)


def test_a_step_or_a_reset_of_some_needs_a_reset_of_all_before():
    with pytest.raises(ResetNeeded):
        BackfillVectorEnv(2, **SHORT).step(np.zeros(2, dtype=int))
    with pytest.raises(ResetNeeded):
        BackfillVectorEnv(2, **SHORT).reset(options={"reset_mask": np.array([True, False])})


def test_a_first_reset_that_failed_was_none():
    env = BackfillVectorEnv(2, **SHORT)
    with pytest.raises(bfenv.BfenvError, match="first_job"):
        env.reset(options={"first_job": 0})
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(2, dtype=int))
    with pytest.raises(ResetNeeded):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(seed=0)
    env.step(np.zeros(2, dtype=int))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_envs": 0}, "number of environments is a whole number from 1 on, not 0"),
        ({"window": 10**12}, "window is a whole number from 1 to 1048576"),
        ({"workload": []}, "workload is an empty list"),
        ({"load": []}, "load is an empty list"),
        ({"load": "12"}, "load is a number, or several in a list, not '12'"),
        ({"workload": 3}, "a workload is a name or a path, not 3"),
        ({"max_episode_steps": 0}, "max_episode_steps is a whole number from 1 on, not 0"),
        ({"windw": 3}, "unknown setting 'windw'; did you mean window"),
    ],
)
def test_a_wrong_setting_is_named(settings, message):
    with pytest.raises(bfenv.BfenvError, match=message):
        BackfillVectorEnv(**settings)
