"""What every policy has to keep, whatever it does otherwise: tests for a module that imports them.

The module has two fixtures: `policy`, for each of its policies, and `folder`, that of their golden
schedules. These are start times on one small workload. A change in one of them is a change in
behaviour; `write_golden` writes them again.
"""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.baselines import find_competitor
from bfenv.core.cluster import NEXT_JOB
from bfenv.core.events import unknown_jobs
from bfenv.envs.backfill import BackfillEnv
from tests.conftest import small_traces

SEED = 7


@cache
def workload():
    """120 jobs on 16 processors, crowded, of four users, with priorities."""
    generator = np.random.default_rng(2026)
    trace = bfenv.load_workload("lublin", procs=16, jobs=400, load=1.1, seed=3)[100:220]
    users = generator.integers(0, 4, len(trace))
    jobs = trace.jobs
    return bfenv.make_trace(
        jobs.submit,
        jobs.size,
        trace.runtime,
        trace.processors,
        estimate=jobs.estimate,
        user=users,
        priority=generator.integers(0, 2, len(trace)),
        name="golden",
    )


def text(schedule):
    """The start times of a schedule, a line each."""
    return "".join(f"{start}\n" for start in schedule.start)


def golden(policy, folder):
    """The golden schedule of a policy."""
    return (folder / f"{policy.name}.txt").read_text()


def write_golden(policies, folder):
    """Write the golden schedules of policies, and remove all others from the folder."""
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    for policy in policies:
        schedule = bfenv.simulate(workload(), policy, SEED)
        (folder / f"{policy.name}.txt").write_text(text(schedule))


def test_golden_schedule(policy, folder):
    """The golden schedule of the policy is possible and unchanged.

    The pickled policy makes the same one; with another seed, only a stochastic one differs.
    """
    one = bfenv.simulate(workload(), policy, SEED).check()
    two = bfenv.simulate(workload(), pickle.loads(pickle.dumps(policy)), SEED)
    assert text(one) == text(two) == golden(policy, folder)
    for name, values in one.records.items():
        assert len(values) == len(workload()) and np.array_equal(values, two.records[name])
    other = bfenv.simulate(workload(), policy, SEED + 1)
    assert (text(other) != text(one)) == policy.stochastic


def test_found_by_name(policy):
    """The policy is described, and found by its name."""
    assert bfenv.policies()[policy.name] is policy
    assert policy.summary and policy.source
    found = find_competitor(policy.name)
    assert getattr(found, "policy", found) is policy


@given(trace=small_traces(), seed=st.integers(0, 3))
@settings(max_examples=25)
def test_true_runtimes(policy, trace, seed):
    """True runtimes of unfinished jobs change no decision.

    A trace whose jobs run for their whole estimates is scheduled alike until one should end.
    """
    jobs = trace.jobs
    full = bfenv.make_trace(
        jobs.submit,
        jobs.size,
        jobs.estimate,
        trace.processors,
        estimate=jobs.estimate,
        user=jobs.user,
    )
    one, two = (bfenv.simulate(t, policy, seed).check() for t in (trace, full))
    differ = trace.runtime != full.runtime
    known = min(one.end[differ].min(), two.end[differ].min()) if differ.any() else 10**9
    before = [np.where(s.start < known, s.start, -1).tolist() for s in (one, two)]
    assert before[0] == before[1]


def acts(policy):
    """Skip the test of a policy that starts jobs for trials, which the environment does not."""
    if policy.trials:
        pytest.skip("it starts jobs for trials")


# Without more columns, environments of all traces are stepped by the same machine code.
PLAIN = {"split": "all", "idle": "every_pass", "reservations": 0, "job_features": []}


def replay(policy, trace):
    """The start times of a policy that acts in an environment which is all of the trace."""
    env = BackfillEnv(trace, window=len(trace), episode_jobs=None, warmup_jobs=0, **PLAIN)
    agent = PolicyAgent(policy, env, SEED)
    observation, info = env.reset(seed=0)
    done = False
    while not done:
        observation, _, done, _, info = env.step(agent.predict(observation)[0])
    assert info["illegal_actions"] == info["forced_starts"] == 0
    return env.cluster.start


def test_replay(policy):
    """Replayed through the environment, the policy makes the same schedule."""
    acts(policy)
    trace = workload()[:60]
    assert np.array_equal(replay(policy, trace), bfenv.simulate(trace, policy, SEED).start)


def test_busy_machine(policy):
    """The policy copes with a machine that is already busy."""
    acts(policy)
    env = BackfillEnv(workload(), window=200, episode_jobs=30, warmup_jobs=60, **PLAIN)
    agent = PolicyAgent(policy, env, SEED)
    observation, _ = env.reset(options={"first_job": 70})
    done = False
    while not done:
        observation, _, done, _, info = env.step(agent.predict(observation)[0])
    assert info["illegal_actions"] == info["forced_starts"] == 0


def test_unknown_jobs(policy, folder):
    """Jobs to come are unknown to memory and passes; from Python, the schedule is the same."""
    trace = workload()
    nothing = unknown_jobs(trace.requests, trace.processors)[:, -1]

    def memory(jobs, processors, generator):
        assert (np.stack(jobs).T == nothing).all()
        return policy.memory(jobs, processors, generator)

    def decide(cluster, jobs, memory):
        known = np.stack(jobs)
        submitted = cluster.state[NEXT_JOB]
        assert np.array_equal(known[:, :submitted], trace.requests[:, :submitted])
        assert (known[:, submitted:].T == nothing).all()
        policy.decide(cluster, jobs, memory)

    watched = replace(policy, decide=decide, run=None, memory=memory)
    assert text(bfenv.simulate(trace, watched, SEED)) == golden(policy, folder)


def test_own_memory(policy):
    """Two memories of a policy share no array, and making them leaves the trace unchanged."""
    trace = workload()
    before = trace.hash
    one, two = (
        policy.memory(trace.jobs, trace.processors, np.random.default_rng(0)) for _ in range(2)
    )
    for a, b in zip(one, two, strict=True):
        assert not (isinstance(a, np.ndarray) and a.size and np.shares_memory(a, b))
    assert trace.hash == before
