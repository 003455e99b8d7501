"""Backfill-v0: the contract of Gymnasium, and the very schedules of the simulator."""

import copy
import json
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.core.cluster import expected_ends, now, running, waiting
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.observation import QUEUE
from tests.conftest import log, small_traces
from tests.oracles import machine as naive


def whole(trace, window=8, **options):
    """An environment whose one episode is all of the trace, from an empty machine."""
    options = {"window": window, "episode_jobs": None, "warmup_jobs": 0, "split": "all"} | options
    return BackfillEnv(trace, **options)


def play(env, agent=None, seed=0, **reset):
    """Rewards and final info of one episode; without an agent the first legal action is taken."""
    observation, info = env.reset(seed=seed, **reset)
    rewards, done = [], False
    while not done:
        action = (
            int(info["action_mask"].argmax()) if agent is None else agent.predict(observation)[0]
        )
        observation, reward, done, truncated, info = env.step(action)
        assert not truncated
        rewards.append(reward)
    return rewards, info


def test_gymnasium_makes_it_by_both_ids():
    for name in ("Backfill-v0", "bfenv:Backfill-v0"):
        env = gymnasium.make(name)
        env.reset(seed=1)
        env.close()
        env.close()


@pytest.mark.parametrize(
    "options", [{}, {"reservation_depth": 1, "window": 5}, {"every_pass": True}]
)
def test_gymnasiums_checker_has_nothing_to_say(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("Backfill-v0", **options).unwrapped)


def test_stable_baselines3s_checker_has_nothing_to_say_but_of_two_dimensional_boxes():
    from stable_baselines3.common.env_checker import check_env as check

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(gymnasium.make("Backfill-v0").unwrapped)
    assert all("unconventional shape" in str(warning.message) for warning in caught)


@given(small_traces(jobs=10), st.sampled_from(["fcfs", "easy"]))
@settings(max_examples=60)
def test_a_policy_driven_through_step_makes_the_schedule_of_simulate(trace, policy):
    env = whole(trace, window=10)
    agent = PolicyAgent(policy, env)
    _, info = play(env, agent)
    schedule = bfenv.simulate(trace, policy)
    assert env.cluster.start.tolist() == schedule.start.tolist()
    assert info["illegal_actions"] == info["forced_starts"] == 0


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_a_replay_of_the_embedded_workload_is_the_schedule_of_simulate(policy):
    trace = bfenv.load_workload("lublin")[:2000]
    env = whole(trace, window=2000)
    play(env, PolicyAgent(policy, env))
    assert np.array_equal(env.cluster.start, bfenv.simulate(trace, policy).start)


def test_a_replay_of_a_real_log_is_the_schedule_of_simulate():
    trace = log("KTH-SP2-1996-2.1-cln")[:3000]
    env = whole(trace, window=500)
    play(env, PolicyAgent("easy", env))
    assert np.array_equal(env.cluster.start, bfenv.simulate(trace, "easy").start)


@given(small_traces(jobs=10), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_whatever_legal_actions_are_taken_the_schedule_is_possible(trace, seed):
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


@pytest.mark.parametrize(
    ("reward", "metric"),
    [("bounded_slowdown", "mean_bounded_slowdown"), ("wait", "mean_wait")],
)
def test_rewards_add_up_to_the_reported_metric(reward, metric):
    env = gymnasium.make("Backfill-v0", reward=reward, episode_jobs=64, warmup_jobs=64).unwrapped
    for seed in range(3):
        rewards, info = play(env, PolicyAgent("easy", env), seed)
        jobs = env.episode_jobs
        trace = env.trace
        waits = (
            env.cluster.start[jobs.start : jobs.stop] - trace.jobs.submit[jobs.start : jobs.stop]
        )
        runtime = trace.runtime[jobs.start : jobs.stop]
        slowdown = np.maximum(1, (waits + runtime) / np.maximum(runtime, 10))
        expected = {"wait": waits.mean(), "bounded_slowdown": slowdown.mean()}[reward]
        assert sum(rewards) == pytest.approx(-expected, rel=1e-12)
        assert info["metrics"][metric] == pytest.approx(expected, rel=1e-12)


@given(small_traces(jobs=10))
def test_the_rewards_of_a_whole_trace_are_the_metrics_of_its_schedule(trace):
    env = whole(trace, window=10)
    rewards, _ = play(env, PolicyAgent("easy", env))
    mean = bfenv.metrics(bfenv.simulate(trace, "easy"))["mean_bounded_slowdown"]
    assert sum(rewards) == pytest.approx(-mean, rel=1e-12)


def test_rewards_are_dense():
    env = gymnasium.make("Backfill-v0", episode_jobs=64, warmup_jobs=64).unwrapped
    rewards, _ = play(env, PolicyAgent("fcfs", env), seed=4)
    assert sum(reward < 0 for reward in rewards) > len(rewards) / 4
    assert max(rewards) <= 0


def passes_taken(before, after):
    return float(after.now - before.now)


def test_a_reward_can_be_a_function_or_the_name_of_one():
    for reward in (passes_taken, "tests.envs.test_backfill:passes_taken"):
        env = whole(bfenv.make_trace([0, 0, 5], [1, 1, 1], [3, 3, 3], 1), reward=reward)
        rewards, _ = play(env)
        assert rewards == [3.0, 3.0, 0.0]


@given(small_traces(jobs=8, requested_starts=True), st.integers(-1, 4))
@settings(max_examples=150)
def test_the_mask_is_what_delays_no_reservation(trace, depth):
    env = whole(trace, window=8, reservation_depth=depth)
    _, info = env.reset(seed=0)
    jobs = trace.jobs
    done = False
    while not done:
        cluster = env.cluster
        line = waiting(cluster).tolist()
        queue = [
            naive.Job(
                0, int(jobs.size[j]), int(jobs.estimate[j]), 1, 0, int(jobs.requested_start[j])
            )
            for j in line
        ]
        runs = [
            (-1, int(end), int(jobs.size[j]))
            for j, end in zip(running(cluster), expected_ends(cluster), strict=True)
        ]
        free = trace.processors - sum(size for _, _, size in runs)
        legal = naive.guarded(queue, runs, int(now(cluster)), free, trace.processors, depth)
        assert set(np.flatnonzero(info["action_mask"][:-1])) == legal
        assert info["action_mask"][-1] == 1
        assert env.action_masks().tolist() == info["action_mask"].astype(bool).tolist()
        _, _, done, _, info = env.step(int(info["action_mask"].argmax()))


def test_an_illegal_action_changes_nothing_is_counted_and_costs_a_step():
    env = gymnasium.make("Backfill-v0").unwrapped
    observation, info = env.reset(seed=0)
    while info["action_mask"].all():
        observation, _, _, _, info = env.step(0)
    illegal = int(info["action_mask"].argmin())
    for count in (1, 2):
        seen, reward, terminated, truncated, info = env.step(illegal)
        assert all(np.array_equal(seen[key], observation[key]) for key in seen)
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert (info["illegal_action"], info["illegal_actions"]) == (True, count)
    _, _, _, _, info = env.step(env.window)
    assert (info["illegal_action"], info["illegal_actions"]) == (False, 2)


@pytest.mark.parametrize("action", [-1, 9, 10**6])
def test_an_action_outside_the_space_is_illegal_and_no_more(action):
    env = whole(bfenv.make_trace([0, 0], [1, 1], [3, 3], 1), window=8)
    env.reset(seed=0)
    assert env.step(action)[4]["illegal_action"]


def test_passing_for_ever_ends_the_episode_by_starts_that_are_counted():
    trace = bfenv.make_trace([0, 0, 1], [1, 1, 1], [3, 3, 3], 1)
    env = whole(trace)
    env.reset(seed=0)
    steps, done = 0, False
    while not done:
        _, _, done, _, info = env.step(env.window)
        steps += 1
    assert info["forced_starts"] == 3
    assert env.cluster.start.tolist() == [1, 4, 7]


def test_equal_seeds_and_actions_give_equal_episodes_and_other_seeds_others():
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


def test_copies_and_pickles_go_on_like_the_original():
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


def test_the_spec_survives_json():
    env = gymnasium.make("Backfill-v0", window=16, reservation_depth=1, reward="wait", load=0.7)
    spec = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
    assert json.loads(env.spec.to_json())["kwargs"]["window"] == 16
    other = gymnasium.make(spec)
    assert other.unwrapped.window == 16
    assert other.unwrapped.trace.offered_load == pytest.approx(0.7, rel=0.01)


def test_episodes_come_from_the_split_and_the_machine_is_warm():
    for split in ("train", "validation", "test"):
        env = gymnasium.make("Backfill-v0", split=split, episode_jobs=50, warmup_jobs=50).unwrapped
        first, last = env.fleet.splits[0]
        for seed in range(20):
            env.reset(seed=seed)
            jobs = env.episode_jobs
            assert first + 50 <= jobs.start and jobs.stop <= last
            assert len(jobs) == 50
    assert len(running(env.cluster)) > 0


def test_no_job_outside_the_split_ever_arrives():
    env = gymnasium.make("Backfill-v0", episode_jobs=50, warmup_jobs=0).unwrapped
    last = env.fleet.splits[0][1]
    env.reset(seed=0, options={"first_job": last - 50})
    done = False
    while not done:
        assert waiting(env.cluster).max(initial=0) < last
        _, _, done, _, _ = env.step(env.window)


def test_the_machine_stays_loaded_until_the_last_job_of_the_episode_has_started():
    env = gymnasium.make("Backfill-v0", episode_jobs=50, warmup_jobs=50).unwrapped
    env.reset(seed=1)
    done = False
    while not done:
        _, _, done, _, _ = env.step(env.window if env.action_masks()[-1] else 0)
        if waiting(env.cluster).max(initial=0) >= env.episode_jobs.stop:
            return
    pytest.fail("no job after the episode's ever arrived")


def test_an_episode_can_be_asked_for_by_its_first_job():
    env = gymnasium.make("Backfill-v0").unwrapped
    env.reset(options={"first_job": 300})
    assert env.episode_jobs == range(300, 556)
    for options, message in (
        ({"first_job": 5}, "first_job 5 is not in 256"),
        ({"first": 5}, "unknown reset option 'first'"),
    ):
        with pytest.raises(bfenv.BfenvError, match=message):
            env.reset(options=options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window is a whole number from 1 to 1048576, not 0"),
        ({"window": 2.5}, "window .* not 2.5"),
        ({"reservation_depth": -2}, "reservation_depth"),
        ({"episode_jobs": 0}, "episode_jobs"),
        ({"warmup_jobs": -1}, "warmup_jobs"),
        ({"episode_jobs": 10**6}, "too few for warmup_jobs=256 and episode_jobs=1000000"),
        ({"split": "trian"}, "unknown split 'trian'; did you mean train"),
        ({"reward": "weight"}, "unknown reward 'weight'; did you mean wait"),
        ({"reward": "nowhere:f"}, "no such reward: nowhere:f"),
        ({"reward": 3}, "a reward is a name or a function"),
        ({"workload": "lubin"}, "unknown workload 'lubin'; did you mean lublin"),
        ({"load": 0.0}, "load"),
        ({"load": float("nan")}, "load"),
        ({"render_mode": "jpeg"}, "render_mode"),
    ],
)
def test_a_wrong_argument_is_named(options, message):
    with pytest.raises(bfenv.BfenvError, match=message):
        BackfillEnv(**options)


def test_without_a_render_mode_there_is_nothing_to_render():
    env = BackfillEnv()
    env.reset(seed=0)
    with pytest.raises(bfenv.BfenvError, match="render_mode"):
        env.render()


def test_every_pass_stops_where_nothing_may_start():
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": None}, "unknown split 'None'"),
        ({"split": ["train"]}, "unknown split"),
        ({"workload": 3}, "a workload is a name or a path, not 3"),
        ({"workload": None}, "a workload is a name or a path, not None"),
        ({"reward": "os:sep"}, "the reward os:sep is no function but a str"),
        ({"reward": ":"}, "no such reward: :"),
        ({"reward": "os:"}, "no such reward: os:"),
        ({"window": 10**12}, "window is a whole number from 1 to 1048576"),
        ({"warmup_jobs": 10**30}, "too few for warmup_jobs=1000000"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_named_in_one_line(arguments, message):
    with pytest.raises(bfenv.BfenvError, match=message) as caught:
        BackfillEnv(**arguments)
    assert "\n" not in str(caught.value)


def test_a_reservation_depth_beyond_the_trace_reserves_for_all_jobs():
    trace = bfenv.make_trace([0, 0, 0], [2, 3, 1], [3, 3, 3], 3)
    masks = []
    for depth in (-1, 10**30):
        env = whole(trace, reservation_depth=depth)
        env.reset(seed=0)
        masks.append(env.step(0)[-1]["action_mask"].tolist())
    assert masks[0] == masks[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first_job": "x"}, "first_job is a whole number from 0 on, not 'x'"),
        ({"first_job": 300.5}, "first_job is a whole number from 0 on, not 300.5"),
        ({"first_job": [300]}, "first_job is a whole number"),
        ({"first_job": 10**30}, "first_job 10000000.* is not in"),
        (["first_job"], "reset options are a dict, not .'first_job'."),
        (3, "reset options are a dict, not 3"),
    ],
)
def test_a_reset_option_of_the_wrong_kind_is_named(options, message):
    env = BackfillEnv()
    with pytest.raises(bfenv.BfenvError, match=message):
        env.reset(options=options)


@pytest.mark.parametrize(
    "action", [None, float("nan"), 1.5, "0", np.array([0, 1]), np.array([0]), np.array(0.0)]
)
def test_an_action_that_is_not_one_whole_number_is_refused_and_changes_nothing(action):
    env = BackfillEnv()
    env.reset(seed=0)
    before = env.action_masks(), env.pass_id
    with pytest.raises(bfenv.BfenvError, match="an action is one whole number, not"):
        env.step(action)
    assert env.pass_id == before[1] and np.array_equal(env.action_masks(), before[0])


@pytest.mark.parametrize("action", [-1, 65, 10**30, -(10**30)])
def test_a_whole_number_that_is_no_action_is_an_illegal_action(action):
    env = BackfillEnv(window=64)
    env.reset(seed=0)
    assert env.step(action)[-1]["illegal_action"]


@given(small_traces(jobs=8, requested_starts=True))
@settings(max_examples=150)
def test_the_features_of_the_reservation_say_what_the_guard_says(trace):
    """Behind the head, legal is what fits and is over by the shadow time or within the extra."""
    env = whole(trace, reservation_depth=1)
    observation, info = env.reset(seed=0)
    names = [feature.name for feature in QUEUE]
    done = False
    while not done:
        rows = observation["queue"][1:].T
        fit, before, within = (
            rows[names.index(n)] for n in ("fits", "before_shadow", "within_extra")
        )
        expected = fit * np.maximum(before, within)
        assert info["action_mask"][1:-1].tolist() == expected.tolist()
        observation, _, done, _, info = env.step(int(info["action_mask"].argmax()))
