"""The pass of a scorer: by hand, against the naive version, and known orders."""

import numpy as np
import pytest
from hypothesis import given, settings

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.agents.search import dimension, scorer, weights
from bfenv.envs.backfill import BackfillEnv
from tests.agents.search.scoring_traces import (
    HIDDEN,
    both_event_orders,
    hard,
    parameters,
    traces,
)
from tests.baselines.test_easy_variants import crowded_traces
from tests.conftest import as_naive, log
from tests.oracles.machine import simulate as naive_simulate
from tests.oracles.scorer import Scorer


def starts(policy, processors, *jobs):
    """Starts of jobs (submit, size, runtime); estimates are exact."""
    submit, size, runtime = zip(*jobs, strict=True)
    trace = bfenv.make_trace(submit, size, runtime, processors)
    return bfenv.simulate(trace, policy).check().start.tolist()


def test_head():
    """The job with the highest score is the head and has the reservation."""
    #  P                                  P
    #  3 |00003333311111   size: 1        3 |00002222222222   size: -1
    #  2 |0000333332222222222             2 |000033333 ...
    #  1 |    333332222222222             1 |
    #  At 1 jobs 1 (2 processors, 5 s), 2 (2, 10 s) and 3 (3, 5 s) wait, one processor is free.
    jobs = (0, 2, 4), (1, 2, 5), (1, 2, 10), (1, 3, 5)
    assert starts(scorer(weights(size=1)), 3, *jobs) == [0, 9, 14, 4]
    assert starts(scorer(weights(size=-1)), 3, *jobs) == [0, 4, 9, 19]
    assert starts(scorer(weights(size=-1, estimate=1e4)), 3, *jobs) == [0, 14, 4, 19]


def test_ties():
    """Equal scores are ordered by index; jobs are backfilled by score."""
    #  Until 4 the processor beside job 0 has room for one of jobs 2, 3 and 4, of 2 or 3 s; the
    #  head, job 1, needs both.
    jobs = (0, 1, 4), (1, 2, 9), (1, 1, 3), (1, 1, 2), (1, 1, 3)
    assert starts(scorer(weights(size=1)), 2, *jobs) == [0, 4, 1, 13, 13]
    assert starts(scorer(weights(size=1, estimate=-1)), 2, *jobs) == [0, 4, 13, 1, 13]


@both_event_orders
@settings(max_examples=400)
@given(trace=traces(), chosen=parameters())
def test_naive(trace, chosen, event_order):
    """Schedules are those of the naive version."""
    theta, hidden = chosen
    jobs, processors = as_naive(trace)
    oracle = Scorer(theta.tolist(), hidden, trace.jobs.user.tolist())
    expected = naive_simulate(jobs, processors, oracle, event_order)
    schedule = bfenv.simulate(trace, scorer(theta, hidden), event_order=event_order).check()
    assert schedule.start.tolist() == [start for start, _ in expected]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("seed", range(4))
def test_naive_on_hundreds(hidden, seed):
    """So they are on hundreds of jobs."""
    trace = hard()
    theta = np.random.default_rng(seed).normal(size=dimension(hidden))
    oracle = Scorer(theta.tolist(), hidden, trace.jobs.user.tolist())
    expected = naive_simulate(*as_naive(trace), oracle, "standard")
    start = bfenv.simulate(trace, scorer(theta, hidden)).start
    assert start.tolist() == [start for start, _ in expected]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_replay(hidden):
    """Replayed through the environment it makes the same schedule."""
    trace = hard()
    policy = scorer(np.random.default_rng(3).normal(size=dimension(hidden)), hidden)
    env = BackfillEnv(
        trace,
        window=400,
        episode_jobs=None,
        warmup_jobs=0,
        split="all",
        every_pass=True,
        reservation_depth=0,
        idle="always",
    )
    agent = PolicyAgent(policy, env)
    observation, _ = env.reset(seed=0)
    done = False
    while not done:
        observation, _, done, _, info = env.step(agent.predict(observation)[0])
    assert info["illegal_actions"] == info["forced_starts"] == 0
    assert env.cluster.start.tolist() == bfenv.simulate(trace, policy).start.tolist()


@both_event_orders
@settings(max_examples=60)
@given(trace=traces(), chosen=parameters())
def test_no_leak(trace, chosen, event_order):
    """True runtimes of unfinished jobs change no decision."""
    jobs = trace.jobs
    full = bfenv.Trace(jobs, jobs.estimate.copy(), trace.processors)
    one, two = (bfenv.simulate(t, scorer(*chosen), event_order=event_order) for t in (trace, full))
    differ = trace.runtime != full.runtime
    known = min(one.end[differ].min(), two.end[differ].min()) if differ.any() else 10**9
    before = [np.where(s.start < known, s.start, -1).tolist() for s in (one, two)]
    assert before[0] == before[1]


KNOWN = {
    "easy-sjf": {"estimate": -1},
    "easy-lpt": {"estimate": 1},
    "easy-sqf": {"size": -0.5},
    "easy-lqf": {"size": 3},
    "easy": {"wait": 1},
}


@pytest.mark.parametrize("name", KNOWN)
@settings(max_examples=60)
@given(trace=crowded_traces())
def test_known_orders(name, trace):
    """Known orders are special cases."""
    one = bfenv.simulate(trace, name)
    two = bfenv.simulate(trace, scorer(weights(**KNOWN[name])))
    assert one.start.tolist() == two.start.tolist()


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("workload", ["CTC-SP2-1996-3.1-cln", "SDSC-SP2-1998-4.2-cln"])
def test_known_orders_on_logs(name, workload):
    """Estimates of these logs are far below 67 hours, where float32 can tell seconds apart."""
    trace = log(workload)
    assert trace.jobs.estimate.max() < 67 * 3600
    one, two = (bfenv.simulate(trace, p) for p in (name, scorer(weights(**KNOWN[name]))))
    assert np.array_equal(one.start, two.start)


def test_simplest():
    """Without any weight it is EASY; one hidden unit is like its linear scorer."""
    trace = hard()
    flat = bfenv.simulate(trace, scorer(np.zeros(dimension()))).start
    assert np.array_equal(flat, bfenv.simulate(trace, "easy").start)
    theta = weights(size=0.3, estimate=0.1)
    linear = bfenv.simulate(trace, scorer(theta)).start
    network = bfenv.simulate(trace, scorer([*theta, 2.0], hidden=1)).start
    assert np.array_equal(linear, network)


def test_python_loop():
    """Called from Python its kernel makes the schedule of the compiled loop."""
    trace, policy = hard()[:60], scorer(np.random.default_rng(0).normal(size=dimension(2)), 2)
    slow = bfenv.Policy("slow", policy.decide, memory=policy.memory)
    assert np.array_equal(bfenv.simulate(trace, policy).start, bfenv.simulate(trace, slow).start)
