"""Agents that run jobs to completion lose nothing where EASY starts every job at once."""

import numpy as np
import pytest
from hypothesis import given, settings

import bfenv
from bfenv.agents.card import shipped_agents
from bfenv.core.policy import COMPLETION
from tests.conftest import small_traces, stretched

AGENTS = [f"agent:{card['name']}" for card in shipped_agents() if card["division"] == COMPLETION]


def with_least_machine(trace):
    """The same jobs on the least machine that can start each of them when it is submitted."""
    submit, end = trace.jobs.submit, trace.jobs.submit + trace.runtime
    used = [trace.jobs.size[(submit <= time) & (end > time)].sum() for time in submit]
    return bfenv.make_trace(
        submit,
        trace.jobs.size,
        trace.runtime,
        int(max(used)),
        estimate=trace.jobs.estimate,
        user=trace.jobs.user,
    )


@pytest.mark.parametrize("agent", AGENTS)
@given(trace=small_traces(jobs=16))
@settings(max_examples=40, deadline=None)
def test_no_waits(agent, trace):
    """Where EASY starts all jobs when they are submitted, so does every agent in "completion"."""
    for scale in (1, 3600):
        roomy = with_least_machine(stretched(trace, scale))
        assert np.array_equal(bfenv.simulate(roomy, "easy").start, roomy.jobs.submit)
        assert np.array_equal(bfenv.simulate(roomy, agent).start, roomy.jobs.submit)
