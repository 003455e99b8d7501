"""Scorers: the naive version, the observation, known orders, files, and a search that works."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.agents.search.scorer import (
    METRICS,
    NAMES,
    dimension,
    evaluate_many,
    load_scorer,
    save_scorer,
    scorer,
    scores,
    weights,
)
from bfenv.agents.search.scoring import curve, write_scores
from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import waiting
from bfenv.envs.backfill import BackfillEnv
from bfenv.workloads.transform import split_range
from tests.baselines.test_easy_variants import crowded_traces, stretched
from tests.conftest import as_naive, log
from tests.oracles.machine import simulate as naive_simulate
from tests.oracles.scorer import Scorer
from tests.oracles.scorer import tanh as naive_tanh

HIDDEN = (0, 1, 3)
both_event_orders = pytest.mark.parametrize("event_order", ["standard", "pyss"])


@st.composite
def parameters(draw):
    """(theta, hidden), with some weights at 0 and some alike, so that ties are not rare."""
    hidden = draw(st.sampled_from(HIDDEN))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    theta = generator.normal(size=dimension(hidden))
    if draw(st.booleans()):
        theta = np.rint(theta)
    return theta * (generator.random(len(theta)) < draw(st.sampled_from([0.3, 1.0]))), hidden


@st.composite
def traces(draw):
    """Crowded traces of seconds or of minutes, with priorities."""
    trace = draw(crowded_traces())
    if draw(st.booleans()):
        trace = stretched(trace, 97)
    priority = np.random.default_rng(len(trace)).integers(-2, 3, len(trace))
    return bfenv.Trace(trace.jobs._replace(priority=priority), trace.runtime, trace.processors)


def hard():
    """400 crowded jobs on 33 processors, of five users and nobody, with priorities."""
    generator = np.random.default_rng(11)
    trace = bfenv.load_workload("lublin", procs=32, jobs=600, load=1.0, seed=5)[100:500]
    jobs = trace.jobs._replace(
        user=generator.integers(-1, 5, len(trace)), priority=generator.integers(-1, 2, len(trace))
    )
    return bfenv.Trace(jobs, trace.runtime, 33, name="hard")  # a size's share of it is no float32


# By hand ------------------------------------------------------------------------------------


def starts(policy, processors, *jobs):
    """Starts of jobs (submit, size, runtime); estimates are exact."""
    submit, size, runtime = zip(*jobs, strict=True)
    trace = bfenv.make_trace(submit, size, runtime, processors)
    return bfenv.simulate(trace, policy).check().start.tolist()


def test_the_highest_score_is_the_head_and_the_reservation_is_its():
    #  P                                  P
    #  3 |00003333311111   size: 1        3 |00002222222222   size: -1
    #  2 |0000333332222222222             2 |000033333 ...
    #  1 |    333332222222222             1 |
    #  At 1 jobs 1 (2 processors, 5 s), 2 (2, 10 s) and 3 (3, 5 s) wait, one processor is free.
    jobs = (0, 2, 4), (1, 2, 5), (1, 2, 10), (1, 3, 5)
    assert starts(scorer(weights(size=1)), 3, *jobs) == [0, 9, 14, 4]
    assert starts(scorer(weights(size=-1)), 3, *jobs) == [0, 4, 9, 19]
    assert starts(scorer(weights(size=-1, estimate=1e4)), 3, *jobs) == [0, 14, 4, 19]


def test_equal_scores_come_by_index_and_the_backfill_by_score():
    #  Until 4 the processor beside job 0 has room for one of jobs 2, 3 and 4, of 2 or 3 s; the
    #  head, job 1, needs both.
    jobs = (0, 1, 4), (1, 2, 9), (1, 1, 3), (1, 1, 2), (1, 1, 3)
    assert starts(scorer(weights(size=1)), 2, *jobs) == [0, 4, 1, 13, 13]
    assert starts(scorer(weights(size=1, estimate=-1)), 2, *jobs) == [0, 4, 13, 1, 13]


# Equality with the naive version and with the observation ------------------------------------


@both_event_orders
@settings(max_examples=400)
@given(trace=traces(), chosen=parameters())
def test_its_schedules_are_those_of_the_naive_version(trace, chosen, event_order):
    theta, hidden = chosen
    jobs, processors = as_naive(trace)
    oracle = Scorer(theta.tolist(), hidden, trace.jobs.user.tolist())
    expected = naive_simulate(jobs, processors, oracle, event_order)
    schedule = bfenv.simulate(trace, scorer(theta, hidden), event_order=event_order).check()
    assert schedule.start.tolist() == [start for start, _ in expected]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("seed", range(4))
def test_on_hundreds_of_jobs_as_well_it_equals_the_naive_version(hidden, seed):
    trace = hard()
    theta = np.random.default_rng(seed).normal(size=dimension(hidden))
    oracle = Scorer(theta.tolist(), hidden, trace.jobs.user.tolist())
    expected = naive_simulate(*as_naive(trace), oracle, "standard")
    start = bfenv.simulate(trace, scorer(theta, hidden)).start
    assert start.tolist() == [start for start, _ in expected]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_it_scores_exactly_the_rows_that_an_agent_sees(hidden):
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
            env.plan(policy.decide, memory)  # learns from the jobs that have ended
            count = len(waiting(env.cluster))
            if count:
                write_scores(env.cluster, trace.jobs, memory)
                expected = scores(theta, observation["queue"][:count], hidden)
                assert memory.score[:count].tolist() == expected.tolist()
                compared += count
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        observation, _, done, _, info = env.step(action)
    assert compared > 1000


@pytest.mark.parametrize("hidden", HIDDEN)
def test_replayed_through_the_environment_it_makes_the_same_schedule(hidden):
    trace = hard()
    policy = scorer(np.random.default_rng(3).normal(size=dimension(hidden)), hidden)
    env = BackfillEnv(
        trace, window=400, episode_jobs=None, warmup_jobs=0, split="all", every_pass=True
    )
    agent = PolicyAgent(policy, env)
    observation, _ = env.reset(seed=0)
    done = False
    while not done:
        observation, _, done, _, info = env.step(agent.predict(observation)[0])
    assert info["illegal_actions"] == info["forced_starts"] == 0
    assert env.cluster.start.tolist() == bfenv.simulate(trace, policy).start.tolist()


def test_the_curve_of_hidden_units_is_the_hyperbolic_tangent():
    numbers = np.concatenate([np.linspace(-30, 30, 60_001), [1e-300, 1e17, -1e17]])
    values = np.array([curve(number) for number in numbers])
    assert np.abs(values - np.tanh(numbers)).max() < 4e-8
    assert (np.diff(values[:60_001]) >= 0).all() and values[-2:].tolist() == [1.0, -1.0]
    assert values[::97].tolist() == [naive_tanh(number) for number in numbers[::97].tolist()]


@both_event_orders
@settings(max_examples=60)
@given(trace=traces(), chosen=parameters())
def test_true_runtimes_of_unfinished_jobs_change_no_decision(trace, chosen, event_order):
    jobs = trace.jobs
    full = bfenv.Trace(jobs, jobs.estimate.copy(), trace.processors)
    one, two = (bfenv.simulate(t, scorer(*chosen), event_order=event_order) for t in (trace, full))
    differ = trace.runtime != full.runtime
    known = min(one.end[differ].min(), two.end[differ].min()) if differ.any() else 10**9
    before = [np.where(s.start < known, s.start, -1).tolist() for s in (one, two)]
    assert before[0] == before[1]


# Known orders -------------------------------------------------------------------------------


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
def test_known_orders_are_special_cases(name, trace):
    one = bfenv.simulate(trace, name)
    two = bfenv.simulate(trace, scorer(weights(**KNOWN[name])))
    assert one.start.tolist() == two.start.tolist()


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("workload", ["CTC-SP2-1996-3.1-cln", "SDSC-SP2-1998-4.2-cln"])
def test_on_real_logs_as_well_they_are_to_the_second(name, workload):
    """Estimates of these logs are far below 67 hours, where float32 can tell seconds apart."""
    trace = log(workload)
    assert trace.jobs.estimate.max() < 67 * 3600
    one, two = (bfenv.simulate(trace, p) for p in (name, scorer(weights(**KNOWN[name]))))
    assert np.array_equal(one.start, two.start)


def test_without_any_weight_it_is_easy_and_one_hidden_unit_is_as_its_linear_scorer():
    trace = hard()
    flat = bfenv.simulate(trace, scorer(np.zeros(dimension()))).start
    assert np.array_equal(flat, bfenv.simulate(trace, "easy").start)
    theta = weights(size=0.3, estimate=0.1)
    linear = bfenv.simulate(trace, scorer(theta)).start
    network = bfenv.simulate(trace, scorer([*theta, 2.0], hidden=1)).start
    assert np.array_equal(linear, network)


# Many at once -------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", HIDDEN)
def test_many_at_once_have_the_metrics_of_each_alone(hidden):
    trace = hard()
    thetas = np.random.default_rng(1).normal(size=(6, dimension(hidden)))
    results = evaluate_many(trace, thetas, hidden)
    assert results.shape == (6, len(METRICS))
    for theta, result in zip(thetas, results, strict=True):
        expected = bfenv.metrics(bfenv.simulate(trace, scorer(theta, hidden)).check())
        assert result == pytest.approx([expected[name] for name in METRICS], rel=1e-12)
        assert result[METRICS.index("max_wait")] == expected["max_wait"]
    assert len(set(results[:, 0])) > 3


def test_no_evaluation_knows_of_the_one_before(monkeypatch):
    trace = hard()
    thetas = np.random.default_rng(2).normal(size=(5, dimension()))
    together = evaluate_many(trace, thetas)
    backwards = evaluate_many(trace, thetas[::-1])[::-1]
    monkeypatch.setattr("bfenv.agents.search.scorer.JOBS_PER_CALL", 2 * len(trace))
    assert np.array_equal(together, backwards)
    assert np.array_equal(together, evaluate_many(trace, thetas))
    assert np.array_equal(together[2], evaluate_many(trace, thetas[2])[0])
    assert evaluate_many(trace, np.empty((0, dimension()))).shape == (0, len(METRICS))


def test_a_short_search_finds_weights_that_beat_easy_on_the_jobs_it_is_trained_on():
    """An evolution strategy of ten generations of eight; what it costs others is not claimed."""
    whole = bfenv.load_workload("lublin", procs=64, jobs=3000, load=0.9, seed=4)
    trace = whole[slice(*split_range(whole, "train"))]
    generator = np.random.default_rng(0)
    mean, best = np.zeros(dimension()), math.inf
    for _ in range(10):
        thetas = mean + generator.normal(size=(8, dimension()))
        slowdown = evaluate_many(trace, thetas)[:, 0]
        mean = thetas[np.argsort(slowdown)[:2]].mean(axis=0)
        if slowdown.min() < best:
            best, theta = slowdown.min(), thetas[slowdown.argmin()]
    easy = bfenv.metrics(bfenv.simulate(trace, "easy"))["mean_bounded_slowdown"]
    found = bfenv.metrics(bfenv.simulate(trace, scorer(theta)))["mean_bounded_slowdown"]
    assert found == pytest.approx(best) and found < 0.7 * easy


# Names, files, and what is refused ----------------------------------------------------------


@pytest.mark.parametrize("hidden", HIDDEN)
def test_its_name_is_the_expression_that_makes_it_and_it_survives_pickling(hidden):
    trace = hard()
    policy = scorer(np.random.default_rng(0).normal(size=dimension(hidden)), hidden)
    start = bfenv.simulate(trace, policy).start
    for twin in (find_policy(policy.name), pickle.loads(pickle.dumps(policy))):
        assert twin.name == policy.name
        assert np.array_equal(bfenv.simulate(trace, twin).start, start)
    assert scorer(weights(size=1), name="mine").name == "mine"


def test_it_must_see_every_pass_only_if_it_looks_at_users():
    assert not scorer(weights(wait=1)).stateful
    assert scorer(weights(accuracy=1e-9)).stateful
    assert scorer([*np.zeros(11), *weights(accuracy=1), 1, 1], hidden=2).stateful


def test_python_calling_its_kernel_makes_the_schedule_of_its_compiled_loop():
    trace, policy = hard()[:60], scorer(np.random.default_rng(0).normal(size=dimension(2)), 2)
    slow = bfenv.Policy("slow", policy.decide, memory=policy.memory)
    assert np.array_equal(bfenv.simulate(trace, policy).start, bfenv.simulate(trace, slow).start)


@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_saved_scorer_comes_back_to_the_last_bit_with_its_provenance(tmp_path, hidden):
    trace, file = hard(), tmp_path / "best.json"
    theta = np.random.default_rng(8).normal(size=dimension(hidden)) / 3
    save_scorer(file, theta, hidden, name="best", trained_on=trace, notes={"seed": 8})
    policy = find_policy(f"load-scorer(path={file})")
    assert policy.name == "best"
    assert policy.memory.keywords["theta"].tobytes() == theta.tobytes()
    content = json.loads(file.read_text())
    assert content["trained_on"] == {"name": "hard", "hash": trace.hash, "jobs": 400}
    assert content["notes"] == {"seed": 8} and content["bfenv"] == bfenv.__version__


def changed(**what):
    """A saved scorer with something changed."""

    def change(content):
        return json.dumps({**json.loads(content), **what})

    return change


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda content: content[:40], "is no file of"),
        (lambda content: "[1, 2]", "is no file of"),
        (lambda content: "[" * 100_000, "is no file of"),
        (changed(format="bfenv scorer 0"), "is no file of"),
        (changed(features=[*NAMES[:-1], "colour"]), "other features"),
        (changed(theta=[0.0] * 10), r"theta is 11 numbers for hidden=0, not \(10,\)"),
        (changed(theta="all"), "theta is 11 numbers"),
        (changed(theta=[*[0.0] * 10, math.inf]), r"theta\[10\] is inf"),
        (changed(hidden=-1), "hidden is a whole number"),
    ],
)
def test_a_file_that_is_no_scorer_is_refused(tmp_path, change, message):
    file = tmp_path / "best.json"
    save_scorer(file, weights(size=1), name="best")
    file.write_text(change(file.read_text()))
    with pytest.raises(bfenv.PolicyError, match=message):
        load_scorer(file)


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path):
    with pytest.raises(bfenv.PolicyError, match="none.json: cannot be read"):
        load_scorer(tmp_path / "none.json")
    with pytest.raises(bfenv.BfenvError, match="cannot be written"):
        save_scorer(tmp_path / "none" / "a.json", weights(), name="best")
    with pytest.raises(bfenv.BfenvError, match="notes are no JSON"):
        save_scorer(tmp_path / "a.json", weights(), name="best", notes={"x": math.nan})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "theta, hidden, message",
    [
        ([0.0] * 10, 0, "theta is 11 numbers for hidden=0"),
        ([0.0] * 11, 1, "theta is 12 numbers for hidden=1"),
        ([math.nan] * 11, 0, r"theta\[0\] is nan"),
        ([0.0] * 10 + [2.0**53], 0, r"theta\[10\] is 9007199254740992"),
        ("sjf", 0, "theta is 11 numbers, not 'sjf'"),
        ([0.0] * 11, True, "hidden is a whole number"),
        ([0.0] * 11, 0.5, "hidden is a whole number"),
    ],
)
def test_parameters_that_are_none_are_refused(theta, hidden, message):
    with pytest.raises(bfenv.PolicyError, match=message):
        scorer(theta, hidden)
    if not isinstance(theta, str):
        with pytest.raises(bfenv.PolicyError, match=message):
            evaluate_many(hard(), [theta], hidden)


def test_a_weight_on_no_feature_and_requested_starts_are_refused():
    with pytest.raises(bfenv.UnknownNameError, match="did you mean estimate"):
        weights(estimates=1)
    trace = bfenv.make_trace([0], [1], [1], 1, requested_start=[5])
    with pytest.raises(bfenv.PolicyError, match="requested start times"):
        evaluate_many(trace, [weights()])
