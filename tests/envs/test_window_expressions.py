"""Expressions as the window's order: which jobs are in slots, against plain Python."""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.agents.random import RandomAgent
from bfenv.core.cluster import NEXT_JOB, now, running, waiting
from bfenv.envs import slots
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.batch_state import GUARD_LIMIT, KEY, VERSIONS
from bfenv.envs.slots import LARGEST
from bfenv.knowledge.priorities import ORDERS
from tests.conftest import small_traces
from tests.envs.playing import FREE, play, whole
from tests.oracles.user_history import quantities

FUNCTIONS = {
    "log": np.log,
    "exp": np.exp,
    "max": lambda *values: functools.reduce(np.maximum, values),
}
WINDOW = 5


@pytest.fixture(scope="module")
def crowd():
    """A crowded machine with users, some of them unknown."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=300,load=1.3,seed=5")
    user = np.random.default_rng(1).integers(-1, 5, len(trace))
    return replace(trace, jobs=trace.jobs._replace(user=user))


def env_of(trace, order, **options):
    options = {"window": WINDOW, "episode_jobs": 60, "warmup_jobs": 40, "split": "all"} | options
    return BackfillEnv(trace, window_order=order, **FREE | options)


def decisions(env, first, seed=0, **reset):
    """Play an episode at random; stop at each decision, before the action."""
    generator = np.random.default_rng(seed)
    _, info = env.reset(seed=0, options={"first_job": first} | reset)
    done = False
    while not done:
        yield env
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        _, _, done, _, info = env.step(action)


def values(env, text):
    """The values of an expression by waiting job, recomputed from the list of ended jobs."""
    trace, cluster = env.trace, env.cluster
    first, end = env.batch.windows[0].opening, cluster.end
    known = range(first, int(cluster.state[NEXT_JOB]))
    names = trace.jobs._fields
    jobs = {
        job: dict(zip(names, (int(column[job]) for column in trace.jobs), strict=True))
        for job in known
    }
    ended = sorted((int(end[job]), job) for job in known if end[job] >= 0)
    queue = waiting(cluster).tolist()
    arguments = (
        int(now(cluster)),
        jobs,
        trace.processors,
        [(job, int(trace.runtime[job])) for _, job in ended],
        queue,
        running(cluster).tolist(),
        [job for job in queue if cluster.trial_start[job] >= 0],
        env.batch._state.sums[0, GUARD_LIMIT],
    )
    result, code = {}, compile(text, "", "eval")
    for job in queue:
        each = {name: np.float64(v) for name, v in quantities(job, *arguments).items()}
        with np.errstate(all="ignore"):
            value = float(eval(code, {"__builtins__": {}}, FUNCTIONS | each))
        result[job] = math.inf if math.isnan(value) else value
    return result


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("estimate", "sjf"),
        ("size * estimate", "saf"),
        ("size / processors * estimate", "saf"),
        ("-size", "lqf"),
        ("-expansion", "lxf"),
        ("-(wait / estimate) ** 3 * size", "wfp3"),
        ("0 * size", "fcfs"),  # equal values: the older comes first
        ("log(-size)", "fcfs"),  # undefined for all
    ],
)
def test_it_equals_the_named_order(crowd, text, name):
    """The slots are those of the order that the expression writes out, at every decision."""
    crowded = 0
    pair = [decisions(env_of(crowd, order), 100) for order in (text, name)]
    for one, two in zip(*pair, strict=True):
        assert one.slots.tolist() == two.slots.tolist()
        crowded += len(waiting(one.cluster)) > WINDOW
    assert crowded > 40


@pytest.mark.parametrize(
    "text",
    [
        "-(wait + likely_runtime) / likely_runtime",
        "last_runtime * user_queued - wait * accuracy / (1 + user_running)",
        "log(prediction - 2000) + tried",  # undefined for jobs expected to be short
        "max(same_estimate_runtime, same_size_runtime) * size",
        "(user_ended < 3) / (size > 4) - previous_runtime / user_runtime",  # infinite, too
        "estimate * max(0, 1 - wait / age_limit)",
    ],
)
def test_quantities_of_users(crowd, text):
    """The oldest job and those with the smallest values are in slots, in several episodes."""
    env = env_of(crowd, text, trial_limit=600, guard=0.5)
    crowded, unlike_age = 0, 0
    for first in (120, 100):  # many jobs are in both episodes
        for _ in decisions(env, first, seed=first):
            queue = waiting(env.cluster).tolist()
            if len(queue) > WINDOW:
                value = values(env, text)
                best = _best(queue, value)
                assert env.slots.tolist() == sorted([queue[0], *best])
                crowded += 1
                unlike_age += env.slots.tolist() != queue[:WINDOW]
    assert crowded > 80 and unlike_age > 40


def test_machines_of_several_sizes(crowd):
    """In each episode, the size of the machine is that of the episode's own workload."""
    large = bfenv.load_workload("lublin:procs=96,jobs=300,load=1.6,seed=6")
    order = "(size > processors / 9) + estimate / 1e6"
    env = env_of([crowd, large], order)
    for k, (trace, other) in enumerate([(crowd, large), (large, crowd)]):
        threshold = f"(size > {trace.processors} / 9) + estimate / 1e6"
        wrong = f"(size > {other.processors} / 9) + estimate / 1e6"
        crowded = differs = 0
        for _ in decisions(env, 100, trace=k):
            queue = waiting(env.cluster).tolist()
            if len(queue) > WINDOW:
                best, worse = (_best(queue, values(env, each)) for each in (threshold, wrong))
                assert env.slots.tolist() == sorted([queue[0], *best])
                crowded += 1
                differs += best != worse
        assert crowded > 40 and differs > 20


def _best(queue, value):
    """The jobs with the smallest values, beside the oldest."""
    return sorted(queue[1:], key=lambda job: (value[job], job))[: WINDOW - 1]


def test_snapshots(crowd):
    """A snapshot holds no values; in its futures the slots are the same, then follow the rule."""
    text = "-(wait + likely_runtime) * user_queued / likely_runtime"
    env = env_of(crowd, text)
    play = decisions(env, 100)
    for _ in range(40):
        next(play)
    assert len(waiting(env.cluster)) > WINDOW
    before, snapshot = env.slots.tolist(), env.snapshot()
    assert (snapshot.state.per_job[:, VERSIONS:] == -1).all()
    assert not snapshot.state.per_job[:, KEY].any()
    env.restore(snapshot, 3)
    assert env.slots.tolist() == before
    for _ in range(10):
        env.step(int(env.action_masks().argmax()))
        queue, value = waiting(env.cluster).tolist(), values(env, text)
        best = _best(queue, value)
        assert env.slots[env.slots >= 0].tolist() == sorted([queue[0], *best])
    env.resume()
    assert env.slots.tolist() == before


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
