"""The scores of waiting jobs: exactly those of the observation's rows."""

import numpy as np
import pytest

from bfenv.agents.search import dimension, scorer, scores
from bfenv.agents.search.scoring import tanh_rational, write_scores
from bfenv.core.cluster import waiting
from bfenv.envs.backfill import BackfillEnv
from tests.agents.search.scoring_traces import HIDDEN, hard
from tests.oracles.scorer import tanh as naive_tanh


@pytest.mark.parametrize("hidden", HIDDEN)
def test_rows(hidden):
    """On a warm machine, in a process of decisions that are not the scorer's own."""
    trace = hard()
    env = BackfillEnv(
        trace, window=400, episode_jobs=150, warmup_jobs=100, split="all", every_pass=True
    )
    generator = np.random.default_rng(hidden)
    theta = generator.normal(size=dimension(hidden))
    policy = scorer(theta, hidden)
    memory = policy.memory(trace.jobs, trace.processors, generator)
    observation, info = env.reset(options={"first_job": 120})
    seen, done, compared = None, False, 0
    while not done:
        if env.pass_id != seen:
            seen = env.pass_id
            env.actions_for(policy.decide, memory)  # learns from the jobs that have ended
            count = len(waiting(env.cluster))
            if count:
                write_scores(env.cluster, trace.jobs, memory)
                expected = scores(theta, observation["queue"][:count], hidden)
                assert memory.score[:count].tolist() == expected.tolist()
                compared += count
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        observation, _, done, _, info = env.step(action)
    assert compared > 1000


def test_tanh():
    """`tanh_rational` is the hyperbolic tangent, monotonic and the same everywhere."""
    numbers = np.concatenate([np.linspace(-30, 30, 60_001), [1e-300, 1e17, -1e17]])
    values = np.array([tanh_rational(number) for number in numbers])
    assert np.abs(values - np.tanh(numbers)).max() < 4e-8
    assert (np.diff(values[:60_001]) >= 0).all() and values[-2:].tolist() == [1.0, -1.0]
    assert values[::97].tolist() == [naive_tanh(number) for number in numbers[::97].tolist()]
