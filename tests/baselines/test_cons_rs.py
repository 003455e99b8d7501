"""CONS+RS against a hand-solved case, its naive version, and plain conservative backfilling."""

import sys
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.cons_rs import CHOICES, CONS_RS, cons_rs, expect, finish, prepare, search
from bfenv.baselines.conservative import CONSERVATIVE
from bfenv.core.cluster import waiting
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance, new_cluster
from tests.baselines.conservative_cases import EVENT_ORDERS, make, numbers, rows, starts
from tests.baselines.machines import many_at_once, overloaded
from tests.conftest import log, small_traces
from tests.oracles import conservative as naive


def blocked():
    """Job 0 should end at 10, and the plan is then 1 at 10, the others at 16; it ends at 4."""
    return make(2, (0, 2, 10, 4), (1, 2, 6, 6), (1, 1, 2, 2), (1, 2, 1, 1))


def test_no_early_completions():
    """Without early completions there is no search, and starts are conservative."""
    trace = make(2, (0, 2, 4, 4), (1, 2, 6, 6), (1, 1, 2, 2), (1, 2, 1, 1))
    assert starts(CONS_RS, trace) == starts(CONSERVATIVE, trace) == [0, 4, 10, 12]


def test_broken_promise():
    """A job that starts later than promised shows in the records."""
    #  P
    #  1 |00223111111      job 1 was promised second 3
    trace = make(1, (0, 1, 3, 2), (1, 1, 6, 6), (1, 1, 2, 2), (1, 1, 1, 1))
    schedule = bfenv.simulate(trace, CONS_RS)
    assert schedule.records["guarantee"].tolist() == [-1, 3, 9, 11]
    assert schedule.start[1] > 3


@pytest.mark.parametrize("event_order", EVENT_ORDERS)
@given(st.data(), st.sampled_from((1, 3, 10)), st.integers(0, 99))
@settings(max_examples=200)
def test_naive_version(event_order, data, iterations, seed):
    """In both event orders, starts are those of the independent slow version."""
    trace = data.draw(small_traces(jobs=10, requested_starts=event_order == "standard"))
    policy, jobs = cons_rs(iterations), rows(trace)
    result = bfenv.simulate(trace, policy, seed, event_order=event_order).check()
    generator = np.random.default_rng(seed)
    draw = numbers(generator).__next__
    expected = naive.random_search(jobs, trace.processors, draw, iterations, event_order)
    assert result.start.tolist() == expected


def shortest_first(jobs):
    """Sort keys of the naive version by estimates."""
    return lambda queue, now: {job: jobs[job].estimate for job in queue}


@given(
    trace=small_traces(jobs=10, requested_starts=True),
    seed=st.integers(0, 99),
    choice=st.sampled_from(CHOICES),
    weights=st.sampled_from([(1, 1), (1, 0), (0, 1), (3, 1)]),
    order=st.sampled_from(["fcfs", "sjf", "estimate + 0 * wait"]),
)
@settings(max_examples=200)
def test_options(trace, seed, choice, weights, order):
    """Weights of the criteria, the choice of the job and the order are as in the naive version."""
    policy = cons_rs(5, None, *weights, choice, order)
    jobs, draw = rows(trace), numbers(np.random.default_rng(seed)).__next__
    keys = naive.by_arrival if order == "fcfs" else shortest_first(jobs)
    expected = naive.random_search(
        jobs, trace.processors, draw, 5, keys=keys, weights=weights, choice=choice
    )
    assert bfenv.simulate(trace, policy, seed).check().start.tolist() == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": None}, "needs iterations or limit_ms"),
        ({"iterations": -1}, "iterations"),
        ({"limit_ms": 0}, "limit_ms"),
        ({"wait_weight": -1}, "wait_weight"),
        ({"wait_weight": 0, "slowdown_weight": 0}, "must not both be 0"),
        ({"choice": "longest"}, "choice"),
        ({"order": "nearest"}, "order: unknown order 'nearest'; known are"),
        ({"order": "sfj"}, "order: unknown order 'sfj'; did you mean sjf"),
    ],
)
def test_options_out_of_range(options, message):
    """An option out of its range is refused, and the message names the option."""
    with pytest.raises(PolicyError, match=message):
        cons_rs(**options)


@given(small_traces(jobs=10, requested_starts=True), st.integers(0, 9))
@settings(max_examples=50)
def test_search_result(trace, seed):
    """No search leaves a plan worse than it found it."""
    cluster, jobs, truth = new_cluster(trace)
    memory = CONS_RS.memory(jobs, trace.processors, np.random.default_rng(seed))
    while advance(cluster, jobs, truth):
        if prepare(cluster, jobs, memory):
            reservations, queue = memory.reservations, waiting(cluster)
            planned = queue[reservations.planned_start[queue] >= 0]
            before = expect(reservations, jobs, planned)
            if search(cluster, jobs, memory, 10):
                after = expect(reservations, jobs, planned)
                assert sum(np.divide(after, before)) <= 2
        finish(cluster, jobs, memory)


@pytest.mark.compiled
@given(overloaded(), st.integers(0, 99))
@example(many_at_once(), 0)
def test_noted_openings(trace, seed):
    """To note openings from the first waiting job on, or never, gives the same schedule."""

    def starts_noting_from(waiting):
        def memory(*arguments):
            made = CONS_RS.memory(*arguments)
            made.reservations.openings.long[0] = waiting
            return made

        return bfenv.simulate(trace, replace(CONS_RS, memory=memory), seed).start.tolist()

    assert starts_noting_from(0) == starts_noting_from(len(trace) + 1)


@given(small_traces(requested_starts=True))
def test_no_iterations(trace):
    """Without iterations the policy is conservative backfilling."""
    assert starts(cons_rs(0), trace) == starts(CONSERVATIVE, trace)


def test_end_of_a_search(monkeypatch):
    """A search ends with its moves or its time, whichever comes first.

    Each reading of the clock, one for five moves, takes a millisecond.
    """

    def readings(iterations, limit):
        clock = SimpleNamespace(perf_counter=(second / 1000 for second in count()).__next__)
        monkeypatch.setattr(sys.modules[cons_rs.__module__], "time", clock)
        assert starts(cons_rs(iterations, limit_ms=limit), blocked()) == [0, 7, 5, 4]
        return round(1000 * clock.perf_counter())

    assert readings(20, 1000) == readings(20, 20) < 20 < readings(None, 20) < 100
    assert readings(20, 2) < readings(20, 20)
    assert readings(1000, 20) == readings(None, 20)


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln"])
def test_logs(name):
    """On logs, jobs wait less than under conservative backfilling and EASY, as published.

    Klusacek and Rudova 2011 find so on six other logs.
    """
    trace = log(name)
    wait = bfenv.simulate(trace, CONS_RS).check().wait.mean()
    assert wait < 0.95 * bfenv.simulate(trace, CONSERVATIVE).wait.mean()
    assert wait < 0.95 * bfenv.simulate(trace, "easy").wait.mean()
