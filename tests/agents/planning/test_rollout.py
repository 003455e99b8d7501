"""Rollout: against the slow version, against the optimum, and what it must not know."""

import pickle
from functools import partial

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents.planning import rollout, simulate_with_cost
from bfenv.core.cluster import may_start, start, waiting
from bfenv.core.schedule import bounded_slowdown
from bfenv.testing import check_policy
from tests.conftest import as_naive, small_traces
from tests.oracles import easy as orders
from tests.oracles import machine as naive
from tests.oracles.rollout import Rollout, best_sum

CANDIDATES = ("easy", "easy-sjf", "easy-lqf")
EXACT = {"runtimes": "estimates", "horizon": None, "arrivals": None}


def slow_candidates(trace):
    """Functions that make the candidates, which know of running jobs what they request."""
    estimates = trace.jobs.estimate.tolist()

    def candidate(order):
        made = orders.Easy(orders.Options(order=order), [0.0] * len(estimates), [])
        made.length = dict(enumerate(estimates))
        made.learn = lambda machine: None
        return made

    return [partial(candidate, order) for order in ("fcfs", "sjf", "lqf")]


def crowd(jobs=120, load=1.3):
    return bfenv.load_workload(f"lublin:jobs={jobs}", load=load)


def slowdowns(schedule):
    return bounded_slowdown(schedule.wait, schedule.trace.runtime)


@given(small_traces(jobs=10), st.none() | st.integers(1, 12))
@settings(max_examples=80)
def test_it_is_what_the_slow_version_does(trace, horizon):
    """With runtimes believed to be estimates, every start equals that of the slow version."""
    policy = rollout(CANDIDATES, **(EXACT | {"horizon": horizon}))
    jobs, processors = as_naive(trace)
    slow = Rollout(slow_candidates(trace), horizon)
    slow = naive.simulate(jobs, processors, slow, "standard")
    assert bfenv.simulate(trace, policy).start.tolist() == [start for start, _ in slow]


@given(small_traces(jobs=10), st.integers(0, 9))
@settings(max_examples=40)
def test_exact_estimates_need_no_samples(trace, seed):
    """With all jobs known and exact estimates, no candidate is better than the rollout."""
    size = trace.jobs.size
    exact = bfenv.make_trace([0] * len(trace), size, 7 * trace.runtime, trace.processors)
    schedule = bfenv.simulate(exact, rollout(CANDIDATES, **EXACT), seed)
    rivals = [slowdowns(bfenv.simulate(exact, name)).sum() for name in CANDIDATES]
    assert slowdowns(schedule).sum() <= min(rivals) * (1 + 1e-9)


# Four groups of five jobs on 4 processors: sizes and runtimes in seconds. The first is solved by
# easy-sjf only, the second by easy-lqf only, the third by easy only, the fourth by none of them.
GROUPS = (
    ([4, 3, 3, 4, 3], [50, 60, 20, 10, 20]),
    ([1, 1, 1, 4, 1], [20, 10, 40, 10, 30]),
    ([1, 3, 3, 1, 4], [20, 20, 20, 30, 20]),
    ([1, 1, 3, 3, 2], [30, 60, 20, 60, 60]),
)


def test_a_toy_of_twenty_jobs_is_solved():
    """The groups come one after another; rollout finds the optimum, and no candidate does."""
    submit = [1000 * group for group in range(4) for _ in range(5)]
    size, runtime = ([x for group in GROUPS for x in group[column]] for column in (0, 1))
    trace = bfenv.make_trace(submit, size, runtime, 4)
    best = sum(
        best_sum([naive.Job(0, *each) for each in zip(sizes, lengths, lengths, strict=True)], 4)
        for sizes, lengths in GROUPS
    )
    candidates = (*CANDIDATES, "easy-saf", "easy-sqf")
    found = bfenv.simulate(trace, rollout(candidates, **EXACT)).check()
    assert slowdowns(found).sum() == pytest.approx(float(best), rel=1e-12)
    for name in candidates:
        assert slowdowns(bfenv.simulate(trace, name)).sum() > float(best) + 0.1


@pytest.mark.parametrize(
    "name", ["easy", "easy-wfp3", "easy(order='size * user_runtime / accuracy')"]
)
def test_a_single_candidate_is_followed(name):
    """With one candidate, whose memory is at most the history of users, rollout is that policy."""
    trace = crowd()
    assert np.array_equal(
        bfenv.simulate(trace, rollout((name,))).start, bfenv.simulate(trace, name).start
    )


def test_the_seed_decides():
    """One seed, one schedule; in a crowd, another seed makes another."""
    trace, policy = crowd(), rollout(CANDIDATES, futures=2)
    one, same, other = (bfenv.simulate(trace, policy, seed).start for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        "policies=(easy, easy-sjf), futures=3, arrivals=none, horizon=none",
        "policies=(easy, easy-sjf), futures=2",
        "policies=(easy, easy-aged-random, conservative), futures=2, interval=1h",
        "policies=(easy, easy-speculative), futures=2",
    ],
)
def test_it_does_not_peek(options):
    """The checker of policies finds no fault, peeking and looking ahead among them."""
    check_policy(f"rollout({options})")


def test_stretched_secrets_change_nothing():
    """Up to a moment, other runtimes of the jobs that end later leave every start as it is."""
    trace, policy = crowd(), rollout(CANDIDATES, futures=3)
    schedule = bfenv.simulate(trace, policy)
    moment = int(np.median(schedule.start))
    late = schedule.end > moment
    columns = trace.jobs._asdict()
    submit, size = columns.pop("submit"), columns.pop("size")
    runtime = np.where(late, trace.jobs.estimate, trace.runtime)
    assert (runtime != trace.runtime).any()
    twin = bfenv.make_trace(submit, size, runtime, trace.processors, **columns)
    starts = [
        np.where(each.start <= moment, each.start, -1)
        for each in (schedule, bfenv.simulate(twin, policy))
    ]
    assert np.array_equal(*starts)


def test_futures_are_cut_to_the_budget():
    """With a budget of 1 there is one future for each candidate; the cost says so."""
    trace = crowd()
    _, cost = simulate_with_cost(trace, rollout(CANDIDATES, futures=6, budget=1))
    assert cost.futures == 3 * cost.planned > 0
    _, ample = simulate_with_cost(trace, rollout(CANDIDATES, futures=6))
    assert ample.futures == 18 * ample.planned > 0
    assert ample.decisions > ample.planned and ample.seconds > 0
    assert ample.decisions_per_second > 0 and 0 < ample.share_of_time < 1
    assert str(ample).startswith(f"{ample.decisions:,} decisions, {ample.planned:,} of them")


def test_a_choice_lasts_for_the_interval():
    """Jobs that start within the interval of a choice are started by the same candidate."""
    trace = crowd()
    forever, cost = simulate_with_cost(trace, rollout(CANDIDATES, interval="1000d"))
    assert cost.planned == 1
    followed = forever.records["candidate"][np.argsort(forever.start, kind="stable")]
    assert np.count_nonzero(np.diff(followed)) <= 1
    _, often = simulate_with_cost(trace, rollout(CANDIDATES, interval="1h"))
    _, always = simulate_with_cost(trace, rollout(CANDIDATES))
    assert cost.planned < often.planned < always.planned


def test_a_candidate_that_starves_is_not_followed():
    """A policy that leaves a job waiting forever loses against one that does not."""

    def lazy(cluster, jobs):
        for job in waiting(cluster):
            if jobs.size[job] < 2 and may_start(cluster, jobs, job):
                start(cluster, jobs, job)

    trace = bfenv.make_trace([0, 0, 0], [2, 1, 1], [900, 10, 10], 2)
    with pytest.raises(bfenv.PolicyError):
        bfenv.simulate(trace, lazy)
    schedule = bfenv.simulate(trace, rollout((lazy, "easy"), **EXACT))
    assert np.array_equal(schedule.start, bfenv.simulate(trace, "easy").start)


def test_records_name_the_candidate():
    """Every job is started by one of the candidates, and in a crowd by several."""
    followed = bfenv.simulate(crowd(), rollout(CANDIDATES)).records["candidate"]
    assert set(followed.tolist()) <= {0, 1, 2} and len(set(followed.tolist())) > 1


@pytest.mark.parametrize(
    "text",
    [
        "rollout(policies=(easy, easy-sjf), futures=4)",
        "rollout(policies='easy; easy-sjf', futures=4)",
        "rollout:policies=(easy,easy-sjf),futures=4",
    ],
)
def test_names_are_read_by_the_one_grammar(text):
    """All ways to write a rollout make the same policy, whose name makes it again."""
    policy = bfenv.find_policy(text)
    assert policy.name == "rollout(policies=(easy, easy-sjf), futures=4)"
    assert bfenv.find_policy(policy.name).name == policy.name


def test_candidates_with_options_keep_them():
    """The name of a rollout over policies with options makes the same rollout."""
    name = "easy(order=sjf, lookahead=3)"
    policy = rollout((name, "easy"), horizon="2h", interval=60)
    again = bfenv.find_policy(policy.name)
    trace = crowd(60)
    assert again.name == policy.name
    assert np.array_equal(bfenv.simulate(trace, policy).start, bfenv.simulate(trace, again).start)


def test_it_can_be_pickled():
    """Other processes run the same rollout."""
    policy, trace = rollout(CANDIDATES, futures=2), crowd(60)
    again = pickle.loads(pickle.dumps(policy))
    assert again.name == policy.name
    assert np.array_equal(bfenv.simulate(trace, policy).start, bfenv.simulate(trace, again).start)


def test_it_acts_in_the_environment():
    """As an agent that sees every pass, it makes the schedule of `simulate`."""
    trace, policy = crowd(80), rollout(CANDIDATES, futures=2)
    env = gymnasium.make(
        "Backfill-v0",
        workload=trace,
        split="all",
        warmup_jobs=0,
        episode_jobs=None,
        window=80,
        every_pass=True,
        reservation_depth=0,
        idle="always",
    ).unwrapped
    observation, _ = env.reset(seed=0)
    agent, over = bfenv.PolicyAgent(policy, env), False
    while not over:
        action, _ = agent.predict(observation)
        observation, _, over, _, _ = env.step(action)
    assert np.array_equal(env.cluster.start, bfenv.simulate(trace, policy).start)


def test_flags_follow_the_candidates():
    """A rollout makes trials if one candidate does, and plans for requested starts if all do."""
    assert rollout(("easy", "easy-speculative")).trials
    assert not rollout(("easy", "easy-sjf")).trials
    assert rollout(("conservative",)).requested_starts
    assert not rollout(("conservative", "easy")).requested_starts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("policies=(easy, esy)", "'esy'"),
        ("policies=easy, futures=0", "futures must be an integer >= 1, got 0"),
        ("policies=easy, horizon=0", "horizon must be an integer >= 1, got 0"),
        ("policies=easy, horizon=soon", "'soon' is not a duration"),
        ("policies=easy, interval=-5", "interval must be an integer >= 0, got -5"),
        ("policies=easy, budget=none", "budget must be an integer >= 1, got None"),
        ("policies=easy, arrivals=true", "arrivals must be one of 'past', None; got True"),
        ("policies=easy, runtimes=true", "runtimes must be one of"),
        ("policies=5", "policies must be names"),
        ("policies=(easy, 5)", "expected a policy's name"),
        ("depth=3", "rollout has no option 'depth'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    """A wrong option is named."""
    with pytest.raises(bfenv.BfenvError, match=message):
        bfenv.find_policy(f"rollout({options})")


def test_no_candidate_is_refused():
    """There must be a policy to follow."""
    with pytest.raises(bfenv.PolicyError, match="at least one policy"):
        rollout(())


def test_one_event_at_a_time():
    """In the event order of pyss, a single candidate is followed as well."""
    trace = crowd()
    starts = [
        bfenv.simulate(trace, policy, event_order="pyss").start
        for policy in ("easy", rollout(("easy",)))
    ]
    assert np.array_equal(*starts)
