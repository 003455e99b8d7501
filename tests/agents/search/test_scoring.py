"""The scores of waiting jobs: exactly those of their features."""

import numpy as np
import pytest

from bfenv.agents.search import dimension, scorer, scores
from bfenv.agents.search.features import NAMES
from bfenv.agents.search.scoring import tanh_rational, write_scores
from bfenv.core.cluster import free, now, waiting
from bfenv.core.profile import shadow
from bfenv.envs.backfill import BackfillEnv
from tests.agents.search.scoring_traces import HIDDEN, hard
from tests.oracles.scorer import tanh as naive_tanh


@pytest.mark.parametrize("hidden", HIDDEN)
def test_rows(hidden):
    """On a warm machine, in a process of decisions that are not the scorer's own."""
    trace = hard()
    env = BackfillEnv(
        trace,
        window=400,
        episode_jobs=150,
        warmup_jobs=100,
        split="all",
        every_pass=True,
        reservation_depth=0,
        idle="always",
    )
    generator = np.random.default_rng(hidden)
    theta = generator.normal(size=dimension(hidden))
    policy = scorer(theta, hidden)
    memory = policy.memory(trace.jobs, trace.processors, generator)
    _, info = env.reset(options={"first_job": 120})
    seen, done, compared = None, False, 0
    while not done:
        if env.pass_id != seen:
            env.starts_of(policy, memory)  # learns from the jobs that have ended
            seen = env.pass_id
            count = len(waiting(env.cluster))
            if count:
                write_scores(env.cluster, trace.jobs, memory)
                expected = scores(theta, rows_of(env), hidden)
                assert memory.score[:count].tolist() == expected.tolist()
                compared += count
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        _, _, done, _, info = env.step(action)
    assert compared > 1000


def rows_of(env):
    """The features of the waiting jobs, by the formulas of their table."""
    cluster, jobs = env.cluster, env.trace.jobs
    line = waiting(cluster)
    shadow_time, extra_nodes = shadow(cluster, jobs, line[0])
    ended = np.flatnonzero(cluster.end >= 0)
    ratio = (cluster.end - cluster.start)[ended] / jobs.estimate[ended]
    rows = np.zeros((len(line), len(NAMES)), dtype=np.float32)
    for row, job in zip(rows, line.tolist(), strict=True):
        waited, estimate = int(now(cluster) - jobs.submit[job]), int(jobs.estimate[job])
        size, priority = int(jobs.size[job]), int(jobs.priority[job])
        known = ratio[jobs.user[ended] == jobs.user[job]] if jobs.user[job] >= 0 else []
        values = {
            "present": 1,
            "size": size / env.trace.processors,
            "estimate": estimate / (estimate + 3600),
            "wait": waited / (waited + 3600),
            "slowdown": waited / (waited + estimate),
            "fits": size <= free(cluster),
            "before_shadow": now(cluster) + estimate <= shadow_time,
            "within_extra": size <= extra_nodes,
            "accuracy": np.mean(known) if len(known) else -1,
            "priority": priority / (1 + abs(priority)),
            "start_in": 0,
        }
        row[:] = [values[name] for name in NAMES]
    return rows


def test_tanh():
    """`tanh_rational` is the hyperbolic tangent, monotonic and the same everywhere."""
    numbers = np.concatenate([np.linspace(-30, 30, 60_001), [1e-300, 1e17, -1e17]])
    values = np.array([tanh_rational(number) for number in numbers])
    assert np.abs(values - np.tanh(numbers)).max() < 4e-8
    assert (np.diff(values[:60_001]) >= 0).all() and values[-2:].tolist() == [1.0, -1.0]
    assert values[::97].tolist() == [naive_tanh(number) for number in numbers[::97].tolist()]
