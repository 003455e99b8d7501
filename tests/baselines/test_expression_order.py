"""EASY in the order of an expression: the schedules of hand-written orders, and of none."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import bfenv
from bfenv.baselines.conservative import conservative
from bfenv.baselines.easy_orders import easy, queue
from bfenv.core.durations import DAY
from bfenv.core.jobs import Outage
from tests.conftest import COMPILED, small_traces

TWINS = {  # expression: the hand-written order that it must equal
    "submit": "fcfs",
    "estimate": "sjf",
    "-estimate": "lpt",
    "size": "sqf",
    "-size": "lqf",
    "size * estimate": "saf",
    "-expansion": "lxf",
    "-((wait + estimate) / estimate)": "lxf",
    "estimate / size": "srf",
    "size / processors * estimate": "saf",
}


def starts(trace, policy):
    return bfenv.simulate(trace, policy).check().start.tolist()


@pytest.fixture(scope="module")
def crowd():
    """A crowded machine with users."""
    trace = bfenv.load_workload("lublin", procs=32, jobs=600 if COMPILED else 150, load=1.1, seed=5)
    users = np.random.default_rng(1).integers(-1, 9, len(trace))
    jobs = trace.jobs
    return bfenv.make_trace(
        jobs.submit, jobs.size, trace.runtime, 32, estimate=jobs.estimate, user=users
    )


@pytest.mark.parametrize(("expression", "order"), TWINS.items())
def test_written_orders(crowd, expression, order):
    """An expression makes the schedule of the same order, bit by bit, with any other option."""
    options = (
        {},
        {"reservations": 3},
        {"lookahead": 5},
        {"backfill": "sqf"},
        {"shadow_intervals": 2},
    )
    for more in options:
        assert starts(crowd, easy(expression, **more)) == starts(crowd, easy(order, **more))
    assert starts(crowd, queue(expression)) == starts(crowd, queue(order))
    one = easy("fcfs", backfill=expression)
    assert starts(crowd, one) == starts(crowd, easy("fcfs", backfill=order))


RANDOM_TWINS = {
    "0 + random": "random",
    "-random / estimate": "random-sjf",
    f"submit / {DAY} - random": "aged-random",
}


def seeded(trace, *policies):
    """The starts that policies make with one seed, without repetition."""
    return {tuple(bfenv.simulate(trace, policy, 7).check().start.tolist()) for policy in policies}


@pytest.mark.parametrize(("expression", "order"), RANDOM_TWINS.items())
def test_random_numbers(crowd, expression, order):
    """`random` is the number of each job that a random order draws from the same seed."""
    assert len(seeded(crowd, easy(expression), easy(order))) == 1
    assert len(seeded(crowd, easy("fcfs", expression), easy("fcfs", order))) == 1
    assert len(seeded(crowd, easy(order, expression), easy(expression, order), easy(order))) == 1
    for guarantees in (True, False):
        twins = (conservative(text, guarantees) for text in (expression, order))
        assert len(seeded(crowd, *twins)) == 1
    assert easy(expression).stochastic and easy("fcfs", backfill_estimate="4 * random").stochastic
    assert len(seeded(crowd, easy("estimate * random"), easy("estimate"))) == 2


@pytest.mark.parametrize(("expression", "order"), TWINS.items())
@pytest.mark.parametrize("guarantees", [True, False])
def test_conservative(crowd, expression, order, guarantees):
    """So do the orders of conservative backfilling, with and without guarantees."""
    one, two = (conservative(text, guarantees) for text in (expression, order))
    assert starts(crowd, one) == starts(crowd, two)


@given(small_traces(jobs=10))
@settings(max_examples=30)
def test_small_traces(trace):
    """The same on small traces with many ties."""
    for expression, order in (("size * estimate", "saf"), ("-expansion", "lxf")):
        assert starts(trace, easy(expression)) == starts(trace, easy(order))


@pytest.mark.parametrize(
    ("expression", "order"),
    [("estimate", "sjf"), ("-size", "lqf"), ("size / processors * estimate", "saf")],
)
def test_around_outages(crowd, expression, order):
    """The same where outages hide jobs that are older than those with a value."""
    middle = int(crowd.jobs.submit[len(crowd) // 2])
    outages = tuple(Outage(middle + day * DAY, middle + day * DAY + 7200, 16) for day in (0, 1))
    trace = replace(crowd, outages=outages)
    assert starts(trace, easy(expression)) == starts(trace, easy(order))
    assert starts(trace, queue(expression)) == starts(trace, queue(order))


def test_counts_around_outages():
    """Where starts are undone because of an outage, the best job is found by the counts of then."""
    size, estimate = [4, 3, 2, 4, 4, 3, 1, 1], [15, 11, 6, 10, 2, 3, 13, 10]
    trace = bfenv.make_trace(
        [0, 0, 0, 1, 1, 1, 2, 2],
        size,
        [15, 5, 2, 7, 2, 1, 1, 7],
        4,
        estimate=estimate,
        user=[-1, 0, 0, -1, -1, -1, -1, -1],
        outages=(Outage(16, 17, 1), Outage(28, 37, 3)),
    )
    text = "size * user_queued - wait"
    assert starts(trace, easy(text)) == starts(trace, easy(text, lookahead=8))


@pytest.mark.parametrize(
    "text",
    [
        "-(wait + estimate) / user_runtime",  # falls
        "(wait + estimate) / size",  # rises
        "user_runtime * size",  # stays
        "size / max(0, wait - estimate)",  # falls, and is infinite at first
        "abs(wait - 2 * estimate) * size",  # falls, then rises
        "log(wait - estimate) / size",  # is undefined at first
        "-(wait + likely_runtime) / likely_runtime ** 1.5 * user_queued ** 0.5",
        "-wait * (user_queued - user_running) / size",
        "user_queued * estimate - wait / (1 + user_running)",
    ],
)
def test_bounds(crowd, text):
    """However values change while jobs wait, the best job found is that of the sorted queue."""
    assert starts(crowd, easy(text)) == starts(crowd, easy(text, lookahead=len(crowd)))


def test_history_is_used(crowd):
    """A policy that learns from users' ended jobs differs from one by estimates."""
    policy = bfenv.find_policy("easy(order=max(user_runtime, min(estimate, 60)))")
    assert policy.stateful
    assert starts(crowd, policy) != starts(crowd, "easy-sjf")
    assert not bfenv.find_policy("easy(order=-wait / (estimate * size))").stateful
