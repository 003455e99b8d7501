"""Expressions as the window's order: which jobs are in slots, against plain Python."""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest

import bfenv
from bfenv.core.cluster import NEXT_JOB, now, running, waiting
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.batch_state import GUARD_LIMIT, KEY, VERSIONS
from tests.envs.playing import FREE
from tests.oracles.user_history import quantities

pytestmark = pytest.mark.uncompiled

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
