"""The vector environment: bit for bit a SyncVectorEnv of single ones; and its own errors."""

import copy
import pickle
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import bfenv
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.vector import BackfillVectorEnv
from tests.envs.vectors import SHORT, same, some_actions


def users():
    """A crowded machine with a few users."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=400,load=1.3,seed=1")
    user = np.random.default_rng(0).integers(-1, 6, len(trace))
    return replace(trace, jobs=trace.jobs._replace(user=user))


def twins(count, steps=None, mode=AutoresetMode.SAME_STEP, **settings):
    """The vector environment, and single ones in a row."""

    settings = settings | {"max_episode_steps": steps}
    row = SyncVectorEnv([lambda: BackfillEnv(**settings)] * count, autoreset_mode=mode)
    return BackfillVectorEnv(count, autoreset_mode=mode, **settings), row


def pickled_reward(before, after):
    return (after.now - before.now) * 1e-3 - after.wait / after.jobs


def ended_reward(before, after, ended):
    return -float((ended.end - ended.submit).sum())


def same_steps(vector, row, steps, least=0):
    """Compare resets and steps of two vectors of environments; return how many episodes ended.

    After `steps` steps, it goes on until more than `least` have ended, but not for ever.
    """
    generator, ends = np.random.default_rng(0), 0
    observation, infos = vector.reset(seed=7)
    for mine, yours in zip((observation, infos), row.reset(seed=7), strict=True):
        same(mine, yours)
    for step in range(3 * steps):
        if step >= steps and ends > least:
            break
        actions = some_actions(infos["action_mask"], generator)
        result = vector.step(actions)
        for mine, yours in zip(result, row.step(actions), strict=True):
            same(mine, yours)
        infos = result[4]
        ends += int((result[2] | result[3]).sum())
    return ends


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("steps", "settings"),
    [
        (None, SHORT),
        (None, SHORT | {"reservations": 1, "reward": "wait"}),
        (None, SHORT | {"reservations": 1, "idle": "every_pass"}),
        (9, SHORT),
        (None, SHORT | {"load": (0.6, 0.9), "workload": ["lublin", "sud:jobs=400"]}),
        (None, SHORT | {"reward": pickled_reward}),
        (None, SHORT | {"reward": ended_reward}),
        (None, SHORT | {"reward": "bounded_slowdown", "tau": 60}),
        (9, SHORT | {"window": 3, "window_order": "saf"}),
        (
            None,
            SHORT | {"idle": "allowed", "episode_jobs": 6},
        ),
    ],
)
def test_steps(steps, settings):
    """Every step is that of single environments, bit for bit."""
    vector, row = twins(5, steps, **settings)
    assert same_steps(vector, row, 150, least=10) > 10


@pytest.mark.parametrize(
    "settings",
    [
        {"workload": ["lublin:jobs=400", users()], "split": "all"},
        {"workload": users(), "window": 3, "window_order": "oldest"},
    ],
)
def test_steps_with_users(settings):
    """So it is where the columns of users are observed, which need other code."""
    vector, row = twins(5, **SHORT | settings)
    assert same_steps(vector, row, 150, least=10) > 10


def test_next_step():
    """So it is with next-step autoreset, also after a truncation."""
    vector, row = twins(4, 9, AutoresetMode.NEXT_STEP, **SHORT)
    assert vector.autoreset_mode is vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert same_steps(vector, row, 100) > 20


def test_rewards_of_resets():
    """A reward function is called for actions only, not for resets."""
    settings = {"window": 4, "episode_jobs": None, "warmup_jobs": 0, "split": "all"}
    trace = bfenv.make_trace([0, 0], [1, 1], [5, 5], 1)

    calls = []

    def reward(before, after):
        calls.append(after)
        return 1.0

    vector = BackfillVectorEnv(2, trace, "next_step", reward=reward, **settings)
    vector.reset(seed=0)
    rewards = [vector.step(np.zeros(2, dtype=int))[1].tolist() for _ in range(4)]
    assert rewards == [[1, 1], [1, 1], [0, 0], [1, 1]]
    assert len(calls) == 6


def test_disabled():
    """Without autoreset you reset what is over, and a step before that is an error."""
    vector = BackfillVectorEnv(3, autoreset_mode="disabled", max_episode_steps=2, **SHORT)
    vector.reset(seed=0)
    for _ in range(2):
        *_, truncated, infos = vector.step(vector.action_masks().argmax(1))
    assert truncated.all() and (infos["metrics"]["charged_jobs"] > 0).all()
    with pytest.raises(ResetNeeded):
        vector.step(np.zeros(3, dtype=int))
    vector.reset(options={"reset_mask": truncated})
    vector.step(np.zeros(3, dtype=int))


def test_wrappers_of_vectors():
    """Gymnasium's wrappers of vectors accept next-step autoreset."""
    env = gymnasium.make_vec("Backfill-v0", num_envs=2, autoreset_mode="next_step", **SHORT)
    env = gymnasium.wrappers.vector.FlattenObservation(env)
    env = gymnasium.wrappers.vector.NormalizeObservation(env)
    observation, _ = env.reset(seed=0)
    assert observation.shape == env.observation_space.shape


def test_reset_mask():
    """A mask resets some environments and leaves the others."""
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
    same(results[0][1], results[1][1])
    for mine, yours in zip(*(env.step(np.full(4, 8)) for env in (vector, row)), strict=True):
        same(mine, yours)


def test_fresh():
    """What a step returned does not change later."""
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


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_no_copy(mode):
    """With `copy=False` the same arrays show what copies would."""
    one = BackfillVectorEnv(3, autoreset_mode=mode, **SHORT)
    two = BackfillVectorEnv(3, autoreset_mode=mode, copy=False, **SHORT)
    first, infos = one.reset(seed=0)
    kept, _ = two.reset(seed=0)
    same(first, kept)
    mask = np.array([True, False, True])
    for step in range(60):
        results = [env.step(infos["action_mask"].argmax(1)) for env in (one, two)]
        if step == 30:
            results = [env.reset(options={"reset_mask": mask}) for env in (one, two)]
        same(*(result[0] for result in results))
        for mine, yours in zip(*results, strict=True):
            same(mine, yours)
        for key, values in results[1][0].items():
            assert values is kept[key] and not np.shares_memory(values, results[0][0][key])
        infos = results[0][-1]


def test_make_vec():
    """Gymnasium makes it by default, with its settings and spaces."""
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


def test_copies():
    """Copies and pickles continue like the original, and choose the same slots."""
    order = {"window": 3, "window_order": "oldest"}
    vector = BackfillVectorEnv(3, ["lublin:jobs=400", users()], split="all", **SHORT | order)
    vector.reset(seed=2)
    others = [vector, copy.deepcopy(vector), pickle.loads(pickle.dumps(vector))]
    for _ in range(60):
        results = [env.step(env.action_masks().argmax(1)) for env in others]
        for result in results[1:]:
            for mine, yours in zip(results[0], result, strict=True):
                same(mine, yours)


def test_attributes():
    """Methods and attributes of the environments are called, read and set, as in SyncVectorEnv."""
    vector, row = twins(3, **SHORT)
    for env in (vector, row):
        env.reset(seed=1)
        env.set_attr("tag", [1, 2, 3])
    for name in ("action_masks", "pass_id", "window", "render_mode", "tag"):
        same(list(vector.call(name)), list(row.call(name)))
        same(list(vector.get_attr(name)), list(row.get_attr(name)))
    with pytest.raises(AttributeError, match="window"):
        vector.set_attr("window", 4)
    with pytest.raises(ValueError, match="2"):
        vector.set_attr("tag", [1, 2])


def test_keys():
    """Infos have the same keys at every step, whatever happens."""
    for mode in ("same_step", "next_step"):
        vector = BackfillVectorEnv(3, autoreset_mode=mode, **SHORT)
        _, infos = vector.reset(seed=0)
        keys = set(infos)
        for _ in range(60):
            infos = vector.step(infos["action_mask"].argmax(1))[-1]
            assert keys == set(infos) - {"final_obs", "final_info", "_final_obs", "_final_info"}
    env = BackfillEnv(**SHORT)
    (_, info), over = env.reset(seed=0), False
    keys = set(info), set(info["metrics"])
    while not over:
        *_, over, _, info = env.step(int(info["action_mask"].argmax()))
        assert keys == (set(info), set(info["metrics"]))
        assert over == (info["metrics"]["reference_bounded_slowdown"] > 0)


def test_render():
    """Every environment is rendered."""
    vector = BackfillVectorEnv(2, render_mode="ansi", **SHORT)
    vector.reset(seed=0)
    single = BackfillEnv(render_mode="ansi", **SHORT)
    single.reset(seed=1)
    assert vector.render()[1] == single.render() != vector.render()[0]


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda env: env.step(np.zeros(2, dtype=int)), "actions .*3"),
        (lambda env: env.step(np.zeros(3)), "actions .*3"),
        (lambda env: env.step(None), "actions .*3"),
        (lambda env: BackfillVectorEnv(3, copy="no"), "copy .*'no'"),
        (lambda env: BackfillVectorEnv(2, autoreset_mode="later"), "autoreset_mode .*'later'"),
        (lambda env: env.reset(seed=[1, 2]), "seed .*3.* 2"),
        (lambda env: env.reset(options={"reset_mask": [True] * 3}), "reset_mask .*True, True"),
        (lambda env: env.reset(options={"reset_mask": np.zeros(3, bool)}), "reset_mask .*False"),
        (lambda env: env.reset(options={"last_job": 3}), "'last_job'"),
        (lambda env: env.reset(options={3: 3}), "'3'"),
        (lambda env: env.reset(options=[("first_job", 30)]), "options must be a dict"),
        (lambda env: env.reset(seed=1.5), "seed .*1.5"),
        (lambda env: env.reset(seed={1, 2, 3}), "seed .*{1, 2, 3}"),
    ],
)
def test_misuse(misuse, message):
    """A misuse is named and changes nothing."""
    env = BackfillVectorEnv(3, **SHORT)
    env.reset(seed=0)
    before = env.batch._state.counters.copy()
    with pytest.raises(bfenv.BfenvError, match=message):
        misuse(env)
    assert np.array_equal(env.batch._state.counters, before)


def test_failed_reset_of_some():
    """If one environment cannot be reset, none is."""
    traces = [bfenv.load_workload(f"lublin:procs=32,jobs={jobs},seed=1") for jobs in (90, 300)]
    env = BackfillVectorEnv(8, traces, split="all", **SHORT)
    env.reset(seed=0)
    env.step(env.action_masks().argmax(1))
    before = copy.deepcopy(env.batch._state)
    for _ in range(9):
        with pytest.raises(bfenv.BfenvError, match="first_job"):
            env.reset(options={"first_job": 200})  # the shorter trace has no such job
        same(list(before), list(env.batch._state))


def test_failed_reset():
    """A step, or a reset of some, needs a reset of all before it that did not fail."""
    env = BackfillVectorEnv(2, **SHORT)
    for _ in range(2):
        with pytest.raises(ResetNeeded):
            env.step(np.zeros(2, dtype=int))
        with pytest.raises(ResetNeeded):
            env.reset(options={"reset_mask": np.array([True, False])})
        with pytest.raises(bfenv.BfenvError, match="first_job"):
            env.reset(options={"first_job": 0})
    env.reset(seed=0)
    env.step(np.zeros(2, dtype=int))
