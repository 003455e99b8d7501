"""EASY with guard, believed runtimes and trials: against plain Python, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.baselines import run_orders
from bfenv.baselines.age_guard import GUARDS
from bfenv.baselines.easy_orders import easy
from bfenv.baselines.order_runs import METRICS
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Outage
from tests.conftest import COMPILED, small_traces, stretched
from tests.oracles.guarded_easy import HOUR, Simulation

ORDERS = {  # by name: the value of a job's quantities, the smallest first
    "submit": lambda job: job["submit"],
    "sjf": lambda job: job["estimate"],
    "size * estimate": lambda job: job["size"] * job["estimate"],
    "-expansion": lambda job: -job["expansion"],
    "wait / user_runtime": lambda job: job["wait"] / job["user_runtime"],
    "user_runtime * (1 - 2 * tried) - wait": lambda job: (
        job["user_runtime"] * (1 - 2 * job["tried"]) - job["wait"]
    ),
    "estimate * user_queued": lambda job: job["estimate"] * job["user_queued"],
    "(wait - 20000) * (wait - 40000) - user_queued": lambda job: (
        (job["wait"] - 20000) * (job["wait"] - 40000) - job["user_queued"]
    ),
    "estimate * (1 - min(1, wait / age_limit) ** 2)": lambda job: (
        job["estimate"] * (1 - min(1, job["wait"] / job["age_limit"]) ** 2)
    ),
    "size * max(age_limit / 9000, estimate)": lambda job: (
        job["size"] * max(job["age_limit"] / 9000, job["estimate"])
    ),
    "estimate * (2 - fits) - wait * free": lambda job: (
        job["estimate"] * (2 - job["fits"]) - job["wait"] * job["free"]
    ),
    "size - wait / (3600 + backlog)": lambda job: (
        job["size"] - job["wait"] / (3600 + job["backlog"])
    ),
}
BELIEFS = {
    "min(estimate, 0.3 * backlog)": lambda job: min(job["estimate"], 0.3 * job["backlog"]),
    "prediction": lambda job: job["prediction"],
    "0.5 * same_estimate_runtime": lambda job: 0.5 * job["same_estimate_runtime"],
    "7200 * user_running + 1800 * user_queued": lambda job: (
        7200 * job["user_running"] + 1800 * job["user_queued"]
    ),
}


def requests(trace):
    jobs = trace.jobs._asdict() | {"runtime": trace.runtime}
    return [{name: int(values[i]) for name, values in jobs.items()} for i in range(len(trace))]


@given(
    trace=small_traces(jobs=12, processors=4),
    order=st.sampled_from(sorted(ORDERS)),
    guard=st.sampled_from([None, 0.0, 0.2, 0.5, 1.0, 1.5]),
    scale=st.sampled_from(sorted(GUARDS)),
    belief=st.sampled_from([None, *BELIEFS]),
    trial=st.sampled_from([0, HOUR, 2 * HOUR]),
    reservations=st.sampled_from([0, 1]),
    runs_on=st.booleans(),
    sorts=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_all_options(trace, order, guard, scale, belief, trial, reservations, runs_on, sorts):
    """Any options make the schedule of plain Python, whether or not the queue is sorted."""
    trace = stretched(trace, HOUR)
    policy = easy(
        order,
        guard=guard,
        guard_scale=scale,
        backfill_estimate=belief,
        trial=trial,
        trial_above=2 * HOUR,
        trial_runs_on=runs_on,
        reservations=reservations,
        lookahead=10**6 if sorts else None,
    )
    slow = Simulation(
        requests(trace),
        trace.processors,
        ORDERS[order],
        guard=guard,
        scale=scale,
        belief=BELIEFS.get(belief),
        trial=trial,
        above=2 * HOUR,
        reservations=reservations,
        runs_on=runs_on,
    )
    assert bfenv.simulate(trace, policy).check().start.tolist() == slow.run()


@given(
    trace=small_traces(jobs=20, processors=3),
    scale=st.sampled_from(sorted(GUARDS)),
    trial=st.sampled_from([0, HOUR]),
)
@settings(max_examples=150, deadline=None)
def test_limits_of_guard(trace, scale, trial):
    """In each pass, the limit of the guard is that of plain Python."""
    trace, limits = stretched(trace, HOUR), []
    policy = easy("lcfs", guard=1.0, guard_scale=scale, trial=trial, trial_above=HOUR)

    def decide(cluster, jobs, memory):
        policy.decide(cluster, jobs, memory)
        limits.append(memory.easy.queue.age_limit[0])

    bfenv.simulate(trace, replace(policy, decide=decide, run=None))
    slow = Simulation(
        requests(trace),
        trace.processors,
        lambda job: -job["submit"],
        guard=1.0,
        scale=scale,
        trial=trial,
        above=HOUR,
    )
    slow.run()
    assert limits == pytest.approx(slow.limits, abs=1)


@pytest.fixture(scope="module")
def crowd():
    """A crowded machine with users, enough alike jobs, and estimates that are too long."""
    trace = bfenv.load_workload("lublin", procs=32, jobs=900 if COMPILED else 150, load=3.2, seed=5)
    generator = np.random.default_rng(1)
    runtime = trace.runtime // generator.integers(1, 9, len(trace)) + 1
    return bfenv.make_trace(
        trace.jobs.submit,
        trace.jobs.size,
        np.minimum(runtime, trace.jobs.estimate),
        32,
        estimate=trace.jobs.estimate,
        user=generator.integers(-1, 9, len(trace)),
    )


@pytest.mark.parametrize(
    "order",
    [
        "-expansion * (expansion / user_runtime) ** 0.14",
        "log(1 + wait) - wait",
        "-min(wait, 4000) * size",
        "abs(wait - 5000)",
        "exp(-wait / estimate) - user_running",
        "sqrt(wait - 3000)",
        "estimate",
        "wait",
        "-(wait + likely_runtime) / likely_runtime * exp(4 * min(1, wait / age_limit) ** 2)",
        "-wait * log(age_limit) / estimate",
        "-wait * (1.02 - tried) * (1 - accuracy) / estimate",
        "-expansion * (fits + 0.01 * free)",
    ],
)
@pytest.mark.parametrize("options", [{}, {"guard": 1.2, "trial": 600}])
def test_selection_changes_nothing(crowd, order, options):
    """Selecting the best job makes the schedule of a sorted queue, with many jobs waiting."""
    selected = bfenv.simulate(crowd, easy(order, **options)).check()
    queued = bfenv.simulate(crowd, easy(order, lookahead=10**6, **options))
    assert selected.start.tolist() == queued.start.tolist()


def test_guard_and_outages():
    """An outage is no job that ran for its whole estimate: the accuracy of all stays at one half.

    So job 2 is past the limit at 24 h: at twice the estimates' accuracy EASY would wait for longer.
    """
    hours = [0, 20, 20, 20], [1] * 4, [1, 1, 2, 1]
    trace = stretched(bfenv.make_trace(*hours, 1, estimate=[2, 2, 7, 2]), HOUR)
    trace = replace(trace, outages=(Outage(21 * HOUR, 23 * HOUR, 1),))
    schedule = bfenv.simulate(trace, "easy(order=sjf, guard=0.5)")
    assert (schedule.start // HOUR).tolist() == [0, 23, 24, 26]


@pytest.mark.parametrize(("scale", "most"), [("corrected_easy", 12), ("backlog", 45)])
def test_guard_bounds_waits(scale, most):
    """A wide job that later ones overtake forever waits for hours only, with the guard."""
    hours = np.array([0, 0.5, *range(1, 300)])
    size = np.where(hours == 0.5, 2, 1)
    trace = bfenv.make_trace(hours * HOUR, size, np.full(len(hours), 1.9 * HOUR), 2)
    options = {"order": "lcfs", "guard": 1.5, "guard_scale": scale}
    waits = run_orders(trace, ["fcfs", "lcfs", options])[:, METRICS.index("max_wait")] / HOUR
    assert waits[0] < 6 and waits[1] > 250 and waits[2] < most


def test_trial_of_a_second():
    """The shortest trial there is ends a job that runs for longer, which then starts again."""
    trace = bfenv.make_trace([0], [1], [5], 1, estimate=[20])
    schedule = bfenv.simulate(trace, "easy(trial=1, trial_above=10)")
    assert (schedule.trial_end[0], schedule.start[0]) == (1, 1)


def by_hand(policy, *jobs):
    """Starts on 3 processors, of jobs (submit, size, runtime) with exact estimates."""
    submit, size, runtime = zip(*jobs, strict=True)
    trace = bfenv.make_trace(submit, size, runtime, 3, estimate=runtime)
    return bfenv.simulate(trace, policy).check().start.tolist()


def test_many_orders(crowd):
    """`run_orders` measures what `bfenv.metrics` does, for each variant by itself."""
    variants = ["estimate", {"order": "-expansion", "trial": 180}, "sjf"]
    results = run_orders(crowd, variants, guard=1.5)
    for variant, result in zip(variants, results, strict=True):
        options = {"order": variant} if isinstance(variant, str) else variant
        metrics = bfenv.metrics(bfenv.simulate(crowd, easy(**options, guard=1.5)))
        assert result == pytest.approx([metrics[name] for name in METRICS])
    assert results[0].tolist() == results[2].tolist()


def test_part_of_the_jobs(crowd):
    """The metrics can be those of some of the jobs, which all run."""
    wait = bfenv.simulate(crowd, "easy").wait[50:100]
    (result,) = run_orders(crowd, ["fcfs"], first=50, last=100)
    assert result[METRICS.index("mean_wait")] == pytest.approx(wait.mean())
    assert result[METRICS.index("max_wait")] == wait.max()


def test_wrong_calls(crowd):
    """Unknown options and ranges of jobs are errors, and so is what is no variant."""
    with pytest.raises(PolicyError, match="not options of easy"):
        run_orders(crowd, [3])
    with pytest.raises(PolicyError, match="trail"):
        run_orders(crowd, ["sjf"], trail=180)
    with pytest.raises(BfenvError, match="last"):
        run_orders(crowd, ["sjf"], first=3, last=3)


def test_restartable_jobs():
    """Only the jobs that are restartable have trials, in EASY of any order."""
    trace = bfenv.make_trace(
        [0, 0, 0], [4, 4, 4], [10, 2, 1], 4, estimate=[10, 10, 10], restartable=[1, 0, 1]
    )
    for order in ("fcfs", "submit"):
        result = bfenv.simulate(trace, easy(order, trial=3, trial_above=4)).check()
        assert result.trial_start.tolist() == [0, -1, -1]  # the last job ends in its trial
        assert result.start.tolist() == [3, 13, 15]


def test_predictions_that_fail():
    """Jobs pass the head by predictions until it has waited four times as long as promised.

    Two jobs of 10 s have ended when the user's jobs of 900 s come, from 40 s on. At 30 s the head,
    as wide as the machine, is promised a start at 220 s, so predictions count until 790 s. Five
    jobs pass it as they come, five at 220 s, and none at 940 s, when the first of them ends.
    """
    campaign = 40 + 5 * np.arange(20)
    trace = bfenv.make_trace(
        [0, 0, 20, 30, *campaign],
        [1, 1, 5, 10] + [1] * 20,
        [10, 10, 200, 100] + [900] * 20,
        10,
        estimate=[1_000, 1_000, 200, 100] + [1_000] * 20,
        user=[1, 1, 2, 3] + [1] * 20,
    )
    assert bfenv.simulate(trace, "easy").start[3] == 220
    start = bfenv.simulate(trace, easy(backfill_estimate="prediction")).check().start
    assert start[4:14].tolist() == [40, 45, 50, 55, 60] + [220] * 5
    assert start[3] == 220 + 900 and start[14:].min() == 220 + 900 + 100
