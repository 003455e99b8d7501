"""Slots: which of many waiting jobs are seen, against a slow version."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.agents.random import RandomAgent
from bfenv.core.cluster import now, waiting
from bfenv.envs import slots
from bfenv.envs.slots import LARGEST
from bfenv.knowledge.priorities import ORDERS
from tests.conftest import small_traces
from tests.envs.playing import play, whole

pytestmark = pytest.mark.uncompiled


def mixed(jobs, line, time, window):
    """The jobs in slots by the rule, in plain Python."""
    quarter = window // 4
    chosen = line[: max(quarter, 1)]
    share = min(quarter, (window - len(chosen)) // 3)
    for key in (
        lambda job: jobs.estimate[job],
        lambda job: jobs.size[job],
        lambda job: -(time - jobs.submit[job] + jobs.estimate[job]) / jobs.estimate[job],
    ):
        rest = [job for job in line if job not in chosen]
        chosen = chosen + sorted(rest, key=lambda job, key=key: (key(job), job))[:share]
    rest = [job for job in line if job not in chosen]
    return sorted(chosen + rest[: window - len(chosen)])


@given(
    st.lists(st.integers(-6, 6) | st.integers(-LARGEST, LARGEST - 1), min_size=1, max_size=40),
    st.integers(0, 9),
    st.integers(-6, 6) | st.integers(-LARGEST, LARGEST - 1),
    st.data(),
)
def test_nth(keys, excluded, guess, data):
    """The n-th smallest key is found from any guess, whatever cannot be taken."""
    n = data.draw(st.integers(1, len(keys)))
    mixed_up = data.draw(st.permutations(keys + [LARGEST] * excluded))
    assert slots._nth(np.array(mixed_up), len(mixed_up), n, guess) == sorted(keys)[n - 1]


@given(small_traces(jobs=14), st.integers(1, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_mixed(trace, window, seed):
    """A quarter each are the oldest, the shortest, the smallest and the most expanded."""
    env = whole(trace, window=window, idle="every_pass")
    _, info = env.reset(seed=0)
    generator, done = np.random.default_rng(seed), False
    while not done:
        line = waiting(env.cluster).tolist()
        expected = line
        if len(line) > window:
            expected = mixed(trace.jobs, line, int(now(env.cluster)), window)
        assert env.slots[: len(expected)].tolist() == expected
        assert (env.slots[len(expected) :] == -1).all()
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        _, _, done, _, info = env.step(action)


@pytest.mark.parametrize("name", [n for n, order in ORDERS.items() if not order.stochastic])
def test_order(name):
    """With an order, the oldest job and the first of that order are in slots."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=300,load=1.2,seed=2")
    env = whole(trace, window=4, window_order=name)
    env.reset(seed=0)
    agent = RandomAgent(env)
    observation, seen = env.reset(seed=0)[0], 0
    for _ in range(150):
        line = waiting(env.cluster).tolist()
        if len(line) > 4:
            seen += 1
            assert line[0] in env.slots and (np.diff(env.slots) > 0).all()
            if name == "sjf":
                rest = sorted(line[1:], key=lambda job: (trace.jobs.estimate[job], job))
                assert set(rest[:3]) <= set(env.slots.tolist())
        observation = env.step(agent.predict(observation)[0])[0]
    assert seen > 20


def test_reserved_jobs():
    """Jobs with reservations are in the first slots."""
    trace = bfenv.make_trace([0] * 20, [2] * 20, range(40, 20, -1), 2)
    env = whole(trace, window=6, reservations=4)
    env.reset(seed=0)
    assert env.slots[:4].tolist() == [0, 1, 2, 3]


def test_outside_window():
    """The share of actions at which jobs waited outside the window is in the metrics."""
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [5, 5, 5], 1)
    env = whole(trace, window=2)
    _, info = play(env, PolicyAgent("fcfs", env))
    assert info["metrics"]["outside_window"] == 1 / 3  # at the first of three starts
