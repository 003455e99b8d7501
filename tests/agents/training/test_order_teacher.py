"""The teacher: its schedule is EASY's in an order, in which age counts; a network learns it."""

import math

import numpy as np
import pytest

import bfenv
from bfenv.agents.training import change, find_settings, ppo
from bfenv.agents.training.episodes import Episodes, make_envs
from bfenv.agents.training.group_credit import group_advantages, group_seeds
from bfenv.agents.training.networks import best_actions
from bfenv.agents.training.order_teacher import OrderTeacher
from bfenv.envs import BackfillVectorEnv

pytestmark = pytest.mark.torch

ORDER = "1.3 * log(likely_runtime) + 0.4 * log(size) - log(wait + likely_runtime)"
WHOLE = {"split": "all", "episode_jobs": None, "warmup_jobs": 0}
HEAD = {"reservations": "chosen"}


def trace_of_users():
    """A busy machine whose users' runtimes are far below their estimates."""
    rng = np.random.default_rng(2)
    count = 300
    runtime = rng.integers(1, 3_000, count)
    return bfenv.make_trace(
        np.sort(rng.choice(25_000, count, replace=False)),
        rng.integers(1, 9, count),
        runtime,
        processors=16,
        estimate=runtime * rng.integers(1, 20, count),
        user=rng.integers(0, 12, count),
    )


def starts(trace, teacher_of, **settings):
    """Start times of the jobs, where the teacher that `teacher_of` makes acts."""
    envs = BackfillVectorEnv(1, trace, "disabled", **HEAD, **WHOLE, **settings)
    envs.reset(seed=0)
    teacher, over = teacher_of(envs), [False]
    while not over[0]:
        mask = envs.action_masks()
        actions = teacher.act(mask)
        assert mask[0, actions[0]]
        _, _, over, _, _ = envs.step(actions)
    return envs.handles[0].cluster.start[: len(trace)].copy()


@pytest.mark.parametrize("order", [ORDER, "estimate * size", "submit"])
def test_schedule(order):
    """Where every job is in a slot, the schedule is that of EASY in the order."""
    trace = trace_of_users()
    found = starts(trace, lambda envs: OrderTeacher(order, 0, 0, envs), window=len(trace))
    policy = f"easy(order='{order}')"
    assert np.array_equal(found, bfenv.simulate(trace, policy).start)


def test_age():
    """Where age outweighs the order, the schedule is EASY's; else it is not."""
    trace = trace_of_users()
    easy = bfenv.simulate(trace, "easy").start
    for age, weight, same in ((0.0, 1e13, True), (0.0, 1.0, False), (1e3, 1e13, False)):
        found = starts(
            trace,
            lambda envs, age=age, weight=weight: OrderTeacher(ORDER, age, weight, envs),
            window=len(trace),
            guard=1e6,
        )
        assert np.array_equal(found, easy) == same


@pytest.mark.thorough
def test_guard_and_trials():
    """With the environment's guard and trials, the schedule is that of the same options of EASY."""
    trace, weight = trace_of_users(), 4.0
    found = starts(
        trace,
        lambda envs: OrderTeacher("size + tried", 0.1, weight, envs),
        window=len(trace),
        guard=1.0,
        trial_limit="300s above 900s",
    )
    order = f"size + tried - {weight} * max(0, wait / age_limit - 0.1)"
    options = "guard=1.0, guard_scale=scaled_backlog, trial=300, trial_above=900"
    assert np.array_equal(found, bfenv.simulate(trace, f"easy(order='{order}', {options})").start)


def test_imitation():
    """After the warm start the network takes the order's side far more often than before."""
    changes = {"warm_start_steps": 8192, "num_steps": 64, "environment": {"guard": None}}
    settings = change(find_settings("toy"), changes)
    envs = make_envs(settings)
    episodes, teacher = Episodes(envs), OrderTeacher("size * estimate", 0, 0, envs)
    learner = ppo.new_learner(settings, envs.batch)

    def agreement():
        """The share of choices in which the network agrees with the order."""
        same, count = 0, 0
        episodes.reset(1000)
        for _ in range(60):
            actions, choice = teacher.act(episodes.mask), episodes.mask.sum(axis=1) > 1
            own = best_actions(learner.network, episodes.observation, episodes.mask)
            same, count = same + int((own == actions)[choice].sum()), count + int(choice.sum())
            episodes.step(actions)
        return same / count

    before = agreement()
    episodes.reset(0)
    ppo.imitate(learner, teacher, episodes, ppo.new_rollout(settings, episodes))
    assert agreement() > max(2 * before, 0.6) and before > 0


IN_PAIRS = {"credit": "group", "group_size": 2, "num_envs": 4, "num_steps": 48}


def test_slow_version():
    """Advantages equal sums over the group's events, up to where a rollout stops early."""
    rng = np.random.default_rng(3)
    steps, count, horizon = 12, 4, 30.0
    seconds = rng.integers(1, 6, (steps, count)).astype(float)
    reward = rng.normal(size=(steps, count))
    over = np.zeros((steps, count), bool)
    over[8, 0] = over[11, 1] = over[5, 3] = True  # the third goes on
    settings = change(
        find_settings("toy"),
        {"credit": "group", "group_size": 4, "num_envs": 4, "horizon": horizon},
    )
    advantage, known = group_advantages(reward, seconds, over, settings)
    rates = np.zeros((int(seconds.sum()), count))  # of rewards, in each second
    starts = np.zeros((steps, count), int)
    for i in range(count):
        at = 0
        for t in range(steps):
            starts[t, i] = at
            if over[:t, i].any():
                continue
            rates[at : at + int(seconds[t, i]), i] = reward[t, i] / seconds[t, i]
            at += int(seconds[t, i])
    cut = int(seconds[:, 2].sum())  # the third is followed no longer
    beyond = rates - rates.mean(axis=1, keepdims=True)
    lengths = [int(seconds[: 1 + int(over[:, i].argmax()), i].sum()) for i in (0, 1, 3)]
    events = sorted({min(at, cut) for at in [*starts.ravel().tolist(), *lengths, cut]})
    for i in range(count):
        for t in range(steps):
            assert known[t, i] == (not over[:t, i].any())
            begin, expected = min(int(starts[t, i]), cut), 0.0
            for k in range(len(events) - 1):
                if known[t, i] and events[k] >= begin:
                    gain = beyond[events[k] : events[k + 1], i].sum()
                    expected += math.exp(-(events[k] - begin) / horizon) * gain
            if known[t, i]:
                assert advantage[t, i] == pytest.approx(expected, abs=1e-5)


def test_same_jobs():
    """A group plays the same jobs, other groups play others, and each update others again."""
    settings = change(find_settings("toy"), IN_PAIRS)
    episodes = Episodes(make_envs(settings))
    windows = []
    for number in range(2):
        episodes.reset(group_seeds(settings, number))
        windows.append([handle.episode_jobs for handle in episodes.envs.handles])
    for first, second, third, fourth in windows:
        assert first == second and third == fourth and first != third
    assert windows[0] != windows[1]
