"""Lower bounds are below every schedule, and the best schedules found are near the optimum."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.analysis import metrics
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Outage
from bfenv_judge.bounds import offline
from bfenv_judge.bounds.certificate import COSTS, Certificate, certify, job_costs
from bfenv_judge.bounds.offline import offline_schedule
from bfenv_judge.bounds.prices import lower_bound, preemptive_prices
from tests.conftest import small_traces
from tests.oracles.optimum import optimum


def trace(submit, size, runtime, processors=1):
    return bfenv.make_trace(submit, size, runtime, processors)


def test_certificate_by_hand():
    """Two jobs of 100 s on one processor at 2**-8 per second for 200 s: 2 x 100 - 200 prices."""
    jobs = trace([0, 0], [1, 1], [100, 100])
    half = Certificate(np.array([0, 100]), np.array([1]), 8)
    # The first job would wait 100 s for a free processor at a cost of 1, or pay 100/256: it pays.
    assert certify(jobs, half) == pytest.approx((2 * (1 + 100 / 256) - 100 / 256) / 2, rel=1e-12)
    # At 4/256 per second both would rather wait until 100 s, at a slowdown of 2 each.
    dear = Certificate(np.array([0, 100]), np.array([4]), 8)
    assert certify(jobs, dear) == pytest.approx((2 * 2 - 400 / 256) / 2, rel=1e-12)


@settings(max_examples=60)
@given(
    small_traces(jobs=5, requested_starts=True),
    st.lists(st.integers(0, 60), min_size=1, max_size=8),
    st.sampled_from(COSTS),
)
def test_any_prices(jobs, prices, metric):
    """Whatever the prices are, they certify no more than the optimum."""
    certificate = Certificate(np.arange(len(prices) + 1) * 3, np.array(prices), 9)
    assert certify(jobs, certificate, metric) <= optimum(jobs, metric)


@settings(max_examples=40)
@given(small_traces(jobs=5, requested_starts=True), st.sampled_from(COSTS))
def test_between(jobs, metric):
    """The bound is at most the optimum, and the schedule found at least the optimum."""
    best = optimum(jobs, metric)
    assert lower_bound(jobs, metric, steps=50)[0] <= best
    assert metrics(offline_schedule(jobs, metric))[metric] >= best - 1e-12


def test_full_machine():
    """Jobs as large as the machine, one after the other: the bound reaches the optimum's half."""
    jobs = trace([0] * 6, [4] * 6, [100] * 6, 4)
    bound, _ = lower_bound(jobs, "mean_wait", intervals=600)
    best = optimum(jobs, "mean_wait")
    assert best == 250
    assert 0.75 * best < bound <= best


@pytest.mark.compiled
@pytest.mark.parametrize("metric", COSTS)
@pytest.mark.parametrize(("count", "runtime"), [(30, 1), (50, 5), (300, 100)])
def test_identical_jobs(count, runtime, metric):
    """Where jobs that are alike come together, the bound is close to the optimum, that of FCFS."""
    jobs = trace([0] * count, [1] * count, [runtime] * count)
    best = metrics(bfenv.simulate(jobs, "fcfs"))[metric]
    assert 0.99 * best < lower_bound(jobs, metric)[0] <= best


def test_preemptive_prices_by_hand():
    """On one processor, a job of 1 s (rate 1) interrupts one of 2 s (rate 1/2) for a second."""
    jobs = trace([10, 11], [1, 1], [2, 1])
    times = np.array([9.5, 10.5, 11.5, 12.5, 13.5])
    prices = preemptive_prices(jobs, job_costs(jobs, "mean_wait"), times)
    # The first job pays 1/2 x 3 at 10 s and nothing at 13 s; at 12 s, 1/2, both pay the same.
    assert prices.tolist() == [0, 1.25, 1.0, 0.25, 0]
    wide = trace([10, 11], [4, 4], [2, 1], 4)
    assert (preemptive_prices(wide, job_costs(wide, "mean_wait"), times) == prices / 4).all()


@settings(max_examples=40)
@given(small_traces(jobs=5, requested_starts=True), st.sampled_from(COSTS))
def test_preemptive_prices(jobs, metric):
    """No price is negative, and nothing costs anything once all work could be done."""
    costs = job_costs(jobs, metric)
    end = int(costs.release.max() + np.dot(jobs.runtime, jobs.jobs.size) / jobs.processors) + 1
    prices = preemptive_prices(jobs, costs, np.arange(end + 1))
    assert (prices >= 0).all()
    assert prices[-1] == 0


@pytest.mark.compiled
@pytest.mark.parametrize("metric", COSTS)
def test_optimum_found(metric):
    """With many moves the search finds the optimum of six jobs that compete for 3 processors."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        jobs = trace(
            np.sort(rng.integers(0, 60, 6)), rng.integers(1, 4, 6), rng.integers(1, 90, 6), 3
        )
        found = metrics(offline_schedule(jobs, metric, moves=5000))[metric]
        assert found == pytest.approx(optimum(jobs, metric), rel=1e-12)


def test_longest_wait():
    """No job waits longer than the limit, and an impossible limit is an error."""
    jobs = trace([0, 0, 0], [2, 1, 1], [100, 20, 20], 2)
    assert offline_schedule(jobs).start.tolist() == [20, 0, 0]
    assert offline_schedule(jobs, longest_wait=100).start.tolist() == [20, 0, 0]
    jobs = trace([0, 0, 0], [1, 1, 1], [100, 20, 20])
    assert offline_schedule(jobs, longest_wait=40).wait.max() == 40
    with pytest.raises(BfenvError, match="no job waits over 10 s"):
        offline_schedule(jobs, longest_wait=10)


@settings(max_examples=30)
@given(small_traces(jobs=5), st.integers(0, 30))
def test_limit_is_kept(jobs, limit):
    """Within a limit the schedule is at least the optimum of that limit."""
    try:
        found = offline_schedule(jobs, "mean_wait", longest_wait=limit)
    except BfenvError:
        return  # the list may miss what exists, and says so
    assert found.wait.max() <= limit
    assert metrics(found)["mean_wait"] >= optimum(jobs, "mean_wait", limit) - 1e-12


def test_same_seed():
    """The same seed gives the same schedule and the same prices."""
    jobs = bfenv.load_workload("lublin:jobs=200,load=0.9")
    first, second = (offline_schedule(jobs, moves=20, seed=3) for _ in range(2))
    assert first.start.tolist() == second.start.tolist()
    (bound, prices), (again, other) = (lower_bound(jobs, steps=30) for _ in range(2))
    assert bound == again
    assert prices.price.tolist() == other.price.tolist()


def test_below_policies():
    """On a generated trace: least cost < bound <= best found < every policy."""
    jobs = bfenv.load_workload("lublin:jobs=300,load=0.9")
    bound, _ = lower_bound(jobs)
    found = metrics(offline_schedule(jobs))["mean_bounded_slowdown"]
    policies = [
        metrics(bfenv.simulate(jobs, name))["mean_bounded_slowdown"]
        for name in ("easy", "easy-saf", "conservative")
    ]
    assert 1 < bound <= found < min(policies)


def test_no_moves():
    """No move is needed to be as good as EASY with exact runtimes, with or without a limit."""
    jobs = bfenv.load_workload("lublin:jobs=600,load=0.9,seed=1")
    known = replace(jobs, jobs=jobs.jobs._replace(estimate=jobs.runtime))
    easy = bfenv.simulate(known, "easy(order='estimate')")
    limit = int(0.9 * easy.wait.max())
    old = f"(wait >= {int(0.8 * limit)})"
    aged = bfenv.simulate(known, f"easy(order='estimate * (1 - {old}) - 1e15 * {old}')")
    assert aged.wait.max() <= limit < easy.wait.max()
    for schedule, longest_wait in ((easy, None), (aged, limit)):
        found = offline_schedule(jobs, longest_wait=longest_wait, moves=0)
        assert metrics(found)["mean_bounded_slowdown"] <= metrics(schedule)["mean_bounded_slowdown"]


def test_outages_by_hand():
    """A job that would meet an outage runs behind it; one that ends in time runs before it."""
    jobs = replace(trace([0, 0], [1, 1], [15, 10], 2), outages=(Outage(10, 30, 2),))
    assert offline_schedule(jobs).start.tolist() == [30, 0]
    half = replace(jobs, outages=(Outage(10, 30, 1),))
    assert offline_schedule(half).start.tolist() == [0, 0]


def test_outages_in_search(monkeypatch):
    """No block of the search uses processors that are out of service."""
    monkeypatch.setattr("bfenv_judge.bounds.offline.BLOCK", 60)
    jobs = bfenv.load_workload("lublin:procs=64,jobs=300,load=0.9")
    third = int(jobs.jobs.submit[100])
    outages = Outage(third, third + 30_000, 64), Outage(2 * third, 2 * third + 90_000, 40)
    broken = replace(jobs, outages=outages)
    bound, _ = lower_bound(broken)
    for longest_wait in (None, 10**6):
        found = offline_schedule(broken, longest_wait=longest_wait, moves=20).check()
        assert bound <= metrics(found)["mean_bounded_slowdown"]


def test_blocks(monkeypatch):
    """A search in overlapping blocks gives a schedule that the machine can run."""
    monkeypatch.setattr("bfenv_judge.bounds.offline.BLOCK", 60)
    jobs = bfenv.load_workload("lublin:jobs=300,load=0.9")
    listed = offline_schedule(jobs, moves=0)
    found = offline_schedule(jobs, moves=20).check()
    assert metrics(found)["mean_bounded_slowdown"] < metrics(listed)["mean_bounded_slowdown"]


def test_interrupted_search(monkeypatch):
    """Ctrl-C is heard between two calls of the kernel, and a call makes few of the moves."""
    search, moves = offline._search, []

    def interrupted(*arguments):
        first, last, most = arguments[7:10]
        moves.append((last - first, most))
        search(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(offline, "_search", interrupted)
    with pytest.raises(KeyboardInterrupt):
        offline_schedule(bfenv.load_workload("lublin:jobs=200,load=0.9"), moves=50)
    assert moves == [(1_000, 10_000)]


@pytest.mark.parametrize(
    ("edges", "price", "message"),
    [
        ([0, 10, 10], [1, 1], "ascending"),
        ([0, 10], [1, 1], "ascending"),
        ([0, 10, 20], [1, -1], "price 1 of the certificate is negative"),
        ([0, 2**40], [2**40], "summed exactly"),
        ([-1, 10], [1], "out of range"),
        ([0, 2**62], [0], "out of range"),
        ([2**62, -(2**62) - 1, -(2**62)], [0, 0], "out of range"),  # sums that have overflowed
    ],
)
def test_bad_certificate(edges, price, message):
    """A certificate that proves nothing is refused."""
    with pytest.raises(BfenvError, match=message):
        certify(trace([0], [1], [5]), Certificate(np.array(edges), np.array(price), 0))


@pytest.mark.parametrize("exponent", [901, -901, -5000, 10**30])
def test_bad_exponent(exponent):
    """Prices in units that are no floats are refused; all others have charges that are."""
    jobs, edges, price = trace([0], [1], [5]), np.array([0, 2**31]), np.array([2**30])
    with pytest.raises(BfenvError, match="exponent of the certificate is out of range"):
        certify(jobs, Certificate(edges, price, exponent))
    for largest in (900, -900):
        assert certify(jobs, Certificate(edges, price, largest)) == 1


def test_unknown_metric():
    """Metrics without a cost per job are refused by name."""
    with pytest.raises(BfenvError, match="max_wait"):
        lower_bound(trace([0], [1], [5]), "max_wait")
