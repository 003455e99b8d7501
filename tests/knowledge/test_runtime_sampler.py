"""Sampled runtimes: their distribution against the slow versions, and what they must not know."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
import bfenv.knowledge.runtime_sampler as rs
from bfenv.core.cluster import finished, may_start, now, running, start, try_start, waiting
from bfenv.core.errors import BfenvError
from bfenv.core.policy import Policy
from bfenv.knowledge import groups as gr
from tests.conftest import small_traces
from tests.oracles import runtime_sampler as oracle


def first_that_fit(cluster, jobs):
    for job in waiting(cluster):
        if may_start(cluster, jobs, job):
            start(cluster, jobs, job)


def watch(trace, look):
    """Run the trace by starting whatever fits; call look(cluster, jobs, history) at every pass."""
    history = rs.new_runtime_history(trace.jobs)

    def decide(cluster, jobs, memory):
        rs.learn_runtimes_of(history, cluster, jobs, finished(cluster))
        look(cluster, jobs, history)
        first_that_fit(cluster, jobs)

    return bfenv.simulate(trace, Policy("watching", decide))


def mixed_trace(seed, jobs=60):
    """Jobs of four users and unknown ones, with few different estimates."""
    rng = np.random.default_rng(seed)
    estimate = rng.choice([6, 9, 20], jobs)
    return bfenv.make_trace(
        np.sort(rng.integers(0, 200, jobs)),
        rng.integers(1, 4, jobs),
        rng.integers(1, estimate + 1),
        5,
        estimate=estimate,
        user=rng.integers(-1, 4, jobs),
    )


def unfinished(cluster):
    return np.sort(np.concatenate([running(cluster), waiting(cluster)]))


def exact(ended, jobs, job, known):
    return oracle.distribution(ended, int(jobs.user[job]), int(jobs.estimate[job]), int(known))


@pytest.mark.parametrize("seed", [1, 2])
def test_frequencies(seed):
    """The strata of many futures hit every runtime as often as the slow version says."""
    futures, ended, checked = 4_000, [], []
    generator = np.random.default_rng(seed)

    def look(cluster, jobs, history):
        for job in finished(cluster).tolist():
            runtime = int(cluster.end[job] - cluster.start[job])
            ended.append((int(jobs.user[job]), int(jobs.estimate[job]), runtime))
        if now(cluster) % 7:
            return
        chosen = unfinished(cluster)
        known = rs.known_runtimes(cluster, jobs, chosen)
        samples = rs.sample_runtimes(history, jobs, chosen, known, generator, futures)
        for k, job in enumerate(chosen.tolist()):
            chances = exact(ended, jobs, job, known[k])
            runtimes, counts = np.unique(samples[:, k], return_counts=True)
            counted = dict(zip(runtimes.tolist(), counts.tolist(), strict=True))
            assert set(counted) <= set(chances)
            for runtime, chance in chances.items():
                expected = float(chance) * futures
                assert abs(counted.get(runtime, 0) - expected) <= 3 + 6 * expected**0.5
            checked.append(known[k])

    watch(mixed_trace(seed), look)
    assert len(checked) > 50 and max(checked) > 3


def test_rejection_and_inversion_agree():
    """Single samples are distributed as those of the sampler that rejects; a chi-square test."""
    ended = [(0, 10, 3), (0, 10, 10), (1, 20, 2), (0, 20, 14), (1, 10, 9), (0, 10, 7)]
    count = len(ended) + 1
    trace = bfenv.make_trace(
        [*range(0, 100 * count, 100)],
        [1] * count,
        [*(runtime for _, _, runtime in ended), 10],
        1,
        estimate=[*(estimate for _, estimate, _ in ended), 10],
        user=[*(user for user, _, _ in ended), 0],
    )
    draws, generator = 6_000, np.random.default_rng(3)
    samples = []

    def look(cluster, jobs, history):
        if now(cluster) == 600:
            samples.extend(
                int(
                    rs.sample_runtimes(history, jobs, np.array([6]), np.array([2]), generator)[0, 0]
                )
                for _ in range(draws)
            )

    watch(trace, look)
    random.seed(4)
    slow = [oracle.sample(ended, 0, 10, 2) for _ in range(draws)]
    one, two = (np.bincount(each, minlength=11)[3:] for each in (samples, slow))
    statistic = np.sum((one - two) ** 2 / np.maximum(one + two, 1))
    assert statistic < 27.9  # the 0.9995 quantile with 8 degrees of freedom


@given(small_traces(jobs=12), st.integers(0, 2**16), st.integers(1, 5))
@settings(max_examples=30)
def test_samples_are_possible(trace, seed, futures):
    """Every sample is longer than the job has run, and at most its estimate."""
    generator = np.random.default_rng(seed)

    def look(cluster, jobs, history):
        chosen = unfinished(cluster)
        known = rs.known_runtimes(cluster, jobs, chosen)
        samples = rs.sample_runtimes(history, jobs, chosen, known, generator, futures)
        assert samples.shape == (futures, len(chosen))
        ran = np.where(cluster.start[chosen] >= 0, now(cluster) - cluster.start[chosen], 0)
        assert (samples > ran).all() and (samples <= jobs.estimate[chosen]).all()

    watch(trace, look)


def test_the_seed_decides():
    """The same seed gives the same samples, another seed others."""
    trace = mixed_trace(5)
    chosen, known = np.arange(20), np.zeros(20, dtype=np.int64)
    history = rs.new_runtime_history(trace.jobs)
    one, same, other = (
        rs.sample_runtimes(history, trace.jobs, chosen, known, np.random.default_rng(seed), 4)
        for seed in (7, 7, 8)
    )
    assert np.array_equal(one, same) and not np.array_equal(one, other)


def test_late_history():
    """The history of all ended jobs equals the one that learned pass by pass."""

    def look(cluster, jobs, history):
        late = rs.history_of_ended(cluster, jobs)
        one, other = ((*each.groups, *each[1:]) for each in (history, late))
        assert all(np.array_equal(*pair) for pair in zip(one, other, strict=True))

    watch(mixed_trace(6), look)


def test_killed_trial():
    """A job that outlived a trial of 4 s is sampled beyond 4 s while it waits again."""
    trace = bfenv.make_trace([0], [1], [9], 1, estimate=[12])
    known = []

    def decide(cluster, jobs, memory):
        known.append((int(now(cluster)), int(rs.known_runtimes(cluster, jobs, np.array([0]))[0])))
        if now(cluster) == 0:
            try_start(cluster, jobs, 0, 4)
        elif may_start(cluster, jobs, 0):
            start(cluster, jobs, 0)

    bfenv.simulate(trace, Policy("trying", decide, trials=True))
    assert known[:2] == [(0, 0), (4, 4)]


@pytest.mark.parametrize("futures", [0, 1.5, "many"])
def test_number_of_futures(futures):
    """The number of futures must be a positive integer."""
    trace = mixed_trace(0, 3)
    history = rs.new_runtime_history(trace.jobs)
    none = np.zeros(0, dtype=np.int64)
    with pytest.raises(bfenv.BfenvError, match="futures must be an integer >= 1"):
        rs.sample_runtimes(history, trace.jobs, none, none, np.random.default_rng(0), futures)


def test_questions_fill_no_table():
    """Samples of a job with ever new estimates leave the history as it was."""
    trace = bfenv.make_trace([0, 0], [1, 1], [3, 3], 2, estimate=[4, 4], user=[0, 0])
    history = rs.new_runtime_history(trace.jobs)
    before = history.groups.rows.copy()
    for estimate in range(10, 20):
        jobs = trace.jobs._replace(estimate=np.full(2, estimate))
        samples = rs.sample_runtimes(history, jobs, [0], [0], np.random.default_rng(0), 3)
        assert ((samples > 0) & (samples <= estimate)).all()
    assert np.array_equal(history.groups.rows, before)


def test_a_full_table():
    """A table of groups refuses a group for which it has no room, and keeps those it has."""
    groups = gr.new_groups(2)
    assert [gr.group_of(groups, 0, 5, 6), gr.group_of(groups, 1, 5, 6)] == [1, 1]
    with pytest.raises(ValueError, match="more groups"):
        gr.group_of(groups, 0, 7, 7)
    assert [gr.group_of(groups, 0, 5, 6), gr.find_group(groups, 0, 7, 7)] == [1, 0]


def test_unknown_jobs():
    """Jobs, users and times that do not belong to the history are refused."""
    trace = bfenv.make_trace([0, 0], [1, 1], [3, 3], 2, user=[0, 1])
    history, generator = rs.new_runtime_history(trace.jobs), np.random.default_rng(0)
    others = trace.jobs._replace(user=np.array([0, 2]))
    for jobs, chosen, known, message in (
        (trace.jobs, [2], [0], "jobs from 0 to 1"),
        (trace.jobs, [-1], [0], "jobs from 0 to 1"),
        (trace.jobs, [0, 1], [0], "known must be 2 times"),
        (others, [1], [0], "users up to 1"),
    ):
        with pytest.raises(BfenvError, match=message):
            rs.sample_runtimes(history, jobs, chosen, known, generator)
