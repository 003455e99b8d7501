"""Warm machines: EASY's schedule of the jobs before an episode; and references on them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bfenv
from bfenv import baselines
from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import may_start, now, running, start, try_start, waiting, wake_at
from bfenv.core.errors import IllegalStartError, StarvationError
from bfenv.core.policy import Policy
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs import warm_up
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.episode_source import EpisodeWindow
from bfenv.envs.warm_up import ReferenceTotals, start_times
from tests.conftest import small_traces

SHORT = {"warmup_jobs": 60, "episode_jobs": 30}


@pytest.mark.parametrize(
    ("workload", "policy"),
    [("lublin:jobs=400", "easy"), ("lublin:jobs=400,requested_start_share=0.2", "conservative")],
)
def test_jobs_before(workload, policy):
    """The jobs before the episode started when the policy starts them on an empty machine."""
    env = BackfillEnv(workload, split="all", **SHORT)
    env.reset(seed=3)
    first = env.episode_jobs.start
    before = slice(first - 60, first)
    schedule = bfenv.simulate(env.trace[before], policy)
    wait = env.cluster.start[before] - env.trace.jobs.submit[before]
    begun = schedule.wait + env.trace.jobs.submit[before] < env.trace.jobs.submit[first]
    assert begun.sum() > 40
    assert wait[begun].tolist() == schedule.wait[begun].tolist()


@given(small_traces(jobs=10), st.integers(1, 4))
@settings(max_examples=80)
def test_any_trace(trace, warm):
    """So it is on any trace, up to the arrival of the episode's first job."""
    assume(warm < len(trace))
    env = BackfillEnv(trace, split="all", warmup_jobs=warm, episode_jobs=None, idle="every_pass")
    env.reset(seed=0)
    schedule = bfenv.simulate(trace[:warm], "easy")
    start = schedule.wait + trace.jobs.submit[:warm]
    begun = start < trace.jobs.submit[warm]
    assert env.cluster.start[:warm][begun].tolist() == start[begun].tolist()


def test_empty():
    """Without a warm-up the machine is empty until the first job of the episode."""
    env = BackfillEnv(split="test", warmup_jobs=0, episode_jobs=20)
    env.reset(seed=0)
    assert len(running(env.cluster)) == 0
    assert waiting(env.cluster).tolist() == [env.episode_jobs.start]


def test_anew():
    """A window that comes again is warmed up again: nothing of the last episode is left."""
    env = BackfillEnv("lublin:jobs=400", split="all", **SHORT)
    first, _ = env.reset(seed=0, options={"first_job": 200})
    env.reset(options={"first_job": 100})
    for _ in range(20):
        env.step(int(env.action_masks().argmax()))
    again, _ = env.reset(options={"first_job": 200})
    assert all(np.array_equal(first[key], again[key]) for key in first)


def test_reference():
    """Without a warm-up, the reference is EASY's schedule, scored on the jobs of the window."""
    for jobs in (100, 300, None):  # EASY is not simulated much beyond the window
        env = BackfillEnv("lublin:jobs=300", split="all", warmup_jobs=0, episode_jobs=jobs)
        env.reset(seed=0, options={"first_job": 0})
        totals = ReferenceTotals(*env.batch._reference_totals[0])
        schedule, own = bfenv.simulate(env.trace, "easy"), slice(0, jobs)
        assert totals.longest_wait == schedule.wait[own].max()
        slowdown = bounded_slowdown(schedule.wait[own], env.trace.runtime[own]).sum()
        assert totals.slowdown == pytest.approx(slowdown)


def try_first(cluster, jobs, memory):
    """Start the oldest job that fits: first for a trial of five seconds, which is not declared."""
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            if cluster.trial_end[job] < 0:
                try_start(cluster, jobs, job, 5)
            else:
                start(cluster, jobs, job)


def start_at_minutes(cluster, jobs, memory):
    """Start what fits, but only at full minutes."""
    if now(cluster) % 60 == 0:
        for job in waiting(cluster):
            if may_start(cluster, jobs, job):
                start(cluster, jobs, job)
    if len(waiting(cluster)) > 0:
        wake_at(cluster, int(now(cluster)) // 60 * 60 + 60)


OWN = [
    Policy("trying", try_first),
    Policy("waiting", start_at_minutes),
    replace(find_policy("slack"), name="slack, called from Python", run=None),
]


@pytest.mark.parametrize(
    "policy",
    [*baselines.ALL.values(), find_policy("easy(order=sjf, trial=60)"), *OWN],
    ids=lambda policy: policy.name,
)
def test_start_times(policy, monkeypatch):
    """A policy that is stopped again and again makes the starts that it makes in `simulate`."""
    monkeypatch.setattr(warm_up, "BEYOND", 60)
    trace = bfenv.load_workload("lublin:jobs=120,procs=16,seed=4")
    window = EpisodeWindow(0, 0, 0, 40, len(trace))
    schedule = bfenv.simulate(trace, replace(policy, trials=True))
    assert start_times(policy, trace, window).tolist() == schedule.start[:40].tolist()


@pytest.mark.parametrize(
    ("decide", "error", "message"),
    [
        (lambda cluster, jobs, memory: None, StarvationError, "own leaves 2 jobs waiting"),
        (lambda cluster, jobs, memory: start(cluster, jobs, 2), IllegalStartError, "own: .* job 2"),
    ],
)
def test_policy_that_fails(decide, error, message):
    """A policy that starves a job or starts one illegally fails as in `simulate`."""
    trace = bfenv.make_trace([0, 1, 2], [1, 1, 1], [5, 5, 5], 1)
    policy = Policy("own", decide)
    with pytest.raises(error, match=message):
        start_times(policy, trace, EpisodeWindow(0, 0, 1, 3, 3))


def test_requested_starts_warm():
    """An episode opens where jobs request starts, also if no job before it has ended."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=200,seed=3,requested_start_share=0.3")
    for warmup_jobs in (0, 1, 5):
        env = bfenv.BackfillEnv(trace, episode_jobs=20, warmup_jobs=warmup_jobs, split="all")
        for seed in range(20):
            _, info = env.reset(seed=seed)
            assert info["action_mask"].any()
