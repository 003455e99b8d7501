"""Which jobs are in slots when more wait than there are slots, against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.core.cluster import now, waiting
from bfenv.envs import slots
from tests.conftest import small_traces
from tests.envs.playing import play, whole


def first_of(jobs, line, order, time, count):
    """The first `count` jobs of an order, by its formula; of two equal ones the older."""
    key = {
        "sjf": lambda job: jobs.estimate[job],
        "sqf": lambda job: jobs.size[job],
        "lxf": lambda job: -(time - jobs.submit[job] + jobs.estimate[job]) / jobs.estimate[job],
        "saf": lambda job: float(jobs.size[job]) * jobs.estimate[job],
    }[order]
    return sorted(line, key=lambda job: (key(job), job))[:count]


def expected_slots(jobs, line, order, time, window):
    """The jobs in slots by the rule of a window order."""
    if len(line) <= window:
        return line
    quarter = window // 4
    oldest = {"mixed": max(quarter, 1), "oldest": window, "saf": 1}[order]
    orders = {"mixed": ("sjf", "sqf", "lxf"), "oldest": (), "saf": ("saf",)}[order]
    share = min(quarter, (window - oldest) // 3) if order == "mixed" else window - oldest
    chosen = line[:oldest]
    for name in orders:
        chosen = chosen + first_of(
            jobs, [job for job in line if job not in chosen], name, time, share
        )
    rest = [job for job in line if job not in chosen]
    return sorted(chosen + rest[: window - len(chosen)])


@given(
    small_traces(jobs=14),
    st.integers(1, 9),
    st.sampled_from(list(slots.WINDOW_ORDERS)),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=200)
def test_rule(trace, window, order, seed):
    """The jobs in slots are those of the rule, in queue order."""
    env = whole(trace, window=window, window_order=order, idle="every_pass")
    _, info = env.reset(seed=0)
    generator, done = np.random.default_rng(seed), False
    while not done:
        line = waiting(env.cluster).tolist()
        expected = expected_slots(trace.jobs, line, order, int(now(env.cluster)), window)
        assert env.slots[: len(expected)].tolist() == expected
        assert (env.slots[len(expected) :] == -1).all()
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        _, _, done, _, info = env.step(action)


def test_long_queue():
    """With hundreds of waiting jobs, too."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=600,load=2,seed=2")
    for order in slots.WINDOW_ORDERS:
        env = whole(trace, window=24, window_order=order)
        env.reset(seed=0)
        for _ in range(400):
            env.step(int(env.action_masks().argmax()))
            line, time = waiting(env.cluster).tolist(), int(now(env.cluster))
            assert env.slots[: len(line)].tolist() == expected_slots(
                trace.jobs, line, order, time, 24
            )
        assert len(line) > 48


@pytest.mark.parametrize("order", ["sjf", "-wait / likely_runtime", "", None, 3])
def test_no_such_order(order):
    """Another order, or an expression, is refused by one error that lists the orders."""
    with pytest.raises(bfenv.BfenvError, match="window_order must be one of 'mixed', 'oldest'"):
        bfenv.BackfillEnv(window_order=order)


def test_outside_window():
    """The share of actions at which jobs waited outside the window is in the metrics."""
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [5, 5, 5], 1)
    env = whole(trace, window=2)
    _, info = play(env, PolicyAgent("fcfs", env))
    assert info["metrics"]["outside_window"] == 1 / 3  # at the first of three starts
