"""Conservative backfilling against hand-solved cases, the naive versions, and its own promises.

Joined here: `conservative`, `conservative_replan` and the random orders of `shuffling`, which both
of them use; `reservations` has tests of its own, too.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import bfenv
import bfenv.baselines.conservative as cons
import bfenv.baselines.conservative_replan as replan
from bfenv.core.cluster import PASSES, may_start, now, start, waiting, wake_at
from bfenv.core.events import advance, commit_starts, new_cluster
from tests.baselines.conservative_cases import EVENT_ORDERS, make, numbers, rows, starts
from tests.baselines.machines import many_at_once, overloaded
from tests.conftest import log, small_traces
from tests.oracles import conservative as naive

GUARANTEED = (
    cons.CONSERVATIVE,
    cons.CONSERVATIVE_SJF,
    cons.CONSERVATIVE_RANDOM,
    cons.CONSERVATIVE_RANDOM_SJF,
)
REPLANNED = (
    replan.CONSERVATIVE_REPLAN,
    replan.CONSERVATIVE_REPLAN_SJF,
    replan.CONSERVATIVE_REPLAN_RANDOM,
    replan.CONSERVATIVE_REPLAN_RANDOM_SJF,
    replan.CONSERVATIVE_REPLAN_AGED_SJF,
    replan.CONSERVATIVE_REPLAN_AGED_RANDOM,
)


# Hand-solved ----------------------------------------------------------------------------------


def test_every_reservation():
    """No reservation is delayed, where EASY protects only that of the head."""
    #  P        conservative          EASY
    #  3 |       22            | 3333333322      job 3 has a processor beside the head, job 1,
    #  2 |000011122            |0000111  22      but would put off job 2: conservative
    #  1 |00001112233333333    |0000111  22      backfilling has promised it second 7
    trace = make(3, (0, 2, 4, 4), (1, 2, 3, 3), (1, 3, 2, 2), (1, 1, 8, 8))
    assert starts(cons.CONSERVATIVE, trace) == [0, 4, 7, 9]
    assert starts("easy", trace) == [0, 4, 9, 1]


def early_end():
    """Job 0 should end at 10, and the plan is then 1 and 3 at 10, 2 at 15; but it ends at 4."""
    return make(2, (0, 2, 10, 4), (1, 1, 5, 5), (1, 2, 3, 3), (1, 1, 4, 4))


def test_starvation():
    """A steady stream of short jobs starves a long one, unless delay counts.

    The bound of section 8: (3 - 2) / (0.05 x 2 x 3), 3.3 s; then no new job gets ahead.
    """
    stream = [(second, 1, 2, 2) for second in range(1, 40)]
    trace = make(1, (0, 1, 2, 2), (0, 1, 3, 3), *stream)
    assert starts(replan.CONSERVATIVE_REPLAN_SJF, trace)[1] == 2 * 40
    assert starts(cons.conservative("aged-sjf", guarantees=False, weight=0.05), trace)[1] == 2 * 4


def test_guarantees():
    """The guarantee is the first reservation of a job that must wait, and -1 for others."""
    schedule = bfenv.simulate(early_end(), cons.CONSERVATIVE)
    assert schedule.records["guarantee"].tolist() == [-1, 10, 15, 10]


# Naive versions -------------------------------------------------------------------------------


WEIGHT = 0.0137


def keys(order, jobs, seed):
    """Sort keys by the formulas of the paper."""
    generator = np.random.default_rng(seed)
    generator.random(len(jobs))  # the ranking's own, never used
    drawn = numbers(generator)

    def of_queue(queue, now):
        random = {job: next(drawn) / 2**31 for job in queue} if "random" in order else {}
        delay = {job: now - jobs[job].submit for job in queue}
        return {
            job: {
                "fcfs": lambda job: job,
                "sjf": lambda job: jobs[job].estimate,
                "random": lambda job: random[job],
                "random-sjf": lambda job: -random[job] / jobs[job].estimate,
                "aged-sjf": lambda job: -(1 / jobs[job].estimate + WEIGHT * delay[job]),
                "aged-random": lambda job: -(random[job] + WEIGHT * delay[job]),
            }[order](job)
            for job in queue
        }

    return of_queue


ORDERS = ("fcfs", "sjf", "random", "random-sjf", "aged-sjf", "aged-random")


def policy_of(order, guarantees):
    return cons.conservative(order, guarantees, WEIGHT if order.startswith("aged") else None)


@pytest.mark.parametrize("event_order", EVENT_ORDERS)
@given(st.data(), st.sampled_from(ORDERS), st.integers(0, 99))
@settings(max_examples=200)
def test_naive_with_guarantees(event_order, data, order, seed):
    """With guarantees, starts and guarantees are those of the naive version.

    pyss knows no requested starts, so there is no saying in which order they would come up.
    """
    trace = data.draw(small_traces(requested_starts=event_order == "standard"))
    policy, jobs = policy_of(order, True), rows(trace)
    result = bfenv.simulate(trace, policy, seed, event_order=event_order).check()
    expected = naive.conservative(jobs, trace.processors, keys(order, jobs, seed), event_order)
    assert (result.start.tolist(), result.records["guarantee"].tolist()) == expected


@pytest.mark.parametrize("event_order", EVENT_ORDERS)
@given(st.data(), st.sampled_from(ORDERS), st.integers(0, 99))
@settings(max_examples=250)
def test_naive_replanning(event_order, data, order, seed):
    """Without guarantees, starts are those of the naive version.

    The naive version plans in every second, but for random orders; bfenv at events only.
    """
    idle = "random" not in order
    trace = data.draw(small_traces(requested_starts=idle and event_order == "standard"))
    policy, jobs = policy_of(order, False), rows(trace)
    result = bfenv.simulate(trace, policy, seed, event_order=event_order).check()
    sort_keys = keys(order, jobs, seed)
    expected = naive.replan(jobs, trace.processors, sort_keys, event_order, idle=idle)
    assert result.start.tolist() == expected


def remembering_from(policy, waiting):
    """The policy; it remembers how early jobs may fit if at least so many wait."""

    def memory(*arguments):
        made = policy.memory(*arguments)
        made.openings.long[0] = waiting
        return made

    return replace(policy, memory=memory)


@pytest.mark.parametrize("policy", REPLANNED, ids=lambda policy: policy.name)
@given(overloaded(), st.integers(0, 99))
@example(many_at_once(), 0)
@settings(max_examples=50)
def test_remembered_openings(policy, trace, seed):
    """To remember how early jobs may fit, or never to, gives the same schedule."""
    fast, slow = (remembering_from(policy, waiting) for waiting in (0, len(trace) + 1))
    assert starts(fast, trace, seed=seed) == starts(slow, trace, seed=seed)


# Promises -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", GUARANTEED, ids=lambda policy: policy.name)
@given(trace=small_traces(requested_starts=True), seed=st.integers(0, 3))
@settings(max_examples=50)
def test_promised_starts(policy, trace, seed):
    """A reservation never moves later, and its job starts by it."""
    for event_order in EVENT_ORDERS:
        cluster, jobs, truth = new_cluster(trace, event_order=event_order)
        memory = policy.memory(jobs, trace.processors, np.random.default_rng(seed))
        promised = {}
        while advance(cluster, jobs, truth):
            cons.decide(cluster, jobs, memory)
            planned_start = memory.reservations.planned_start
            for job in waiting(cluster).tolist():
                assert planned_start[job] <= promised.get(job, planned_start[job])
                promised[job] = planned_start[job]
                assert cluster.start[job] in (-1, promised[job])
        assert set(promised) == set(range(len(trace)))


@given(small_traces(requested_starts=True))
def test_plan_steps(trace):
    """The plan begins now, and holds no step at which nothing changes."""
    cluster, jobs, truth = new_cluster(trace)
    memory = cons.CONSERVATIVE.memory(jobs, trace.processors, np.random.default_rng(0))
    profile = memory.reservations.profile
    while advance(cluster, jobs, truth):
        cons.decide(cluster, jobs, memory)
        steps = profile.steps[0]
        assert (np.diff(profile.time[:steps]) > 0).all()
        assert (np.diff(profile.free[:steps]) != 0).all()
        assert profile.time[0] == now(cluster)


def exact(trace):
    jobs = trace.jobs
    return bfenv.make_trace(jobs.submit, jobs.size, trace.runtime, trace.processors)


@given(small_traces(), st.integers(0, 9))
def test_exact_estimates(trace, seed):
    """With exact estimates and guarantees, the order makes no difference.

    The first rows of Zotkin, Keleher and Perkovic 2000, Table 9.
    """
    schedules = [starts(policy, exact(trace), seed=seed) for policy in GUARANTEED]
    assert schedules[1:] == schedules[:1] * 3


@given(small_traces(processors=1), st.integers(0, 9))
def test_aged_orders(trace, seed):
    """An aged order lets no new job ahead after the delay of section 8.

    On one processor there are no holes in the schedule that a new job could be put into.
    """
    weight, submit, estimate = 0.1, trace.jobs.submit, trace.jobs.estimate
    shortest = estimate.min()
    bound = {
        "aged-sjf": (estimate - shortest) / (weight * shortest * estimate),
        "aged-random": np.full(len(trace), 1 / weight),
    }
    for order, delay in bound.items():
        policy = cons.conservative(order, guarantees=False, weight=weight)
        start = bfenv.simulate(trace, policy, seed).start
        new = submit[None, :] > (submit + delay)[:, None]
        assert (start[None, :] > start[:, None])[new].all()


@given(small_traces())
def test_weight(trace):
    """The weight of delay leads from sorting by length, at 0, to the order of arrival."""
    assume(len(set(trace.jobs.submit.tolist())) == len(trace))
    for weight, limit in ((0, replan.CONSERVATIVE_REPLAN_SJF), (10, replan.CONSERVATIVE_REPLAN)):
        policy = cons.conservative("aged-sjf", guarantees=False, weight=weight)
        assert starts(policy, trace) == starts(limit, trace)


# Machines that others have used ---------------------------------------------------------------


@given(small_traces(requested_starts=True), st.integers(1, 9))
def test_takeover(trace, passes):
    """Every version can take over a machine at any moment.

    Up to then, jobs start first come, first served.
    """
    for policy in (*GUARANTEED, *REPLANNED):

        def late(cluster, jobs, memory, policy=policy):
            if cluster.state[PASSES] > passes:
                policy.decide(cluster, jobs, memory)
                return
            for job in waiting(cluster):
                if not may_start(cluster, jobs, job):
                    break
                start(cluster, jobs, job)
            wake_at(cluster, now(cluster) + 1)

        other = bfenv.Policy("late", late, memory=policy.memory, requested_starts=True)
        bfenv.simulate(trace, other).check()


def test_plan_not_followed():
    """A plan that was not followed is made anew, and guarantees once given are kept."""
    #  P
    #  1 |0000   112223      at 4 nobody starts job 1, at 7 it is too late for its reservation
    trace = make(1, (0, 1, 4, 4), (1, 1, 2, 2), (1, 1, 3, 3), (7, 1, 1, 1))
    cluster, jobs, truth = new_cluster(trace)
    memory = cons.CONSERVATIVE.memory(jobs, trace.processors, np.random.default_rng(0))
    while advance(cluster, jobs, truth):
        if now(cluster) != 4:
            cons.decide(cluster, jobs, memory)
    commit_starts(cluster, jobs, truth)
    assert cluster.start.tolist() == [0, 7, 9, 12]
    assert memory.guarantee.tolist() == [-1, 4, 6, 12]


# Real logs ------------------------------------------------------------------------------------


def test_kth():
    """The mean wait and slowdown of the published schedule of KTH are reproduced.

    Gaussier, Glesser, Reis and Trystram, SC'15, whose schedules come from pyss.
    """
    result = bfenv.simulate(log("KTH-SP2-1996-2"), cons.CONSERVATIVE, event_order="pyss").check()
    metrics = bfenv.metrics(result)
    assert round(metrics["mean_wait"], 2) == 7310.55
    assert round(metrics["mean_bounded_slowdown"], 4) == 88.9973


@pytest.mark.parametrize(
    ("policy", "slowdown", "delay"),
    [
        (replan.CONSERVATIVE_REPLAN_SJF, 9.20, 3278),
        (replan.CONSERVATIVE_REPLAN_RANDOM, 5.45, 1664),
        (replan.CONSERVATIVE_REPLAN_RANDOM_SJF, 4.38, 1493),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_ctc(policy, slowdown, delay):
    """Sorted and random plans come within 5 % of the published figures for CTC.

    Zotkin, Keleher and Perkovic 2000, Tables 10 and 11; their log has 2 % more jobs.
    """
    jobs, runtime = (trace := log("CTC-SP2-1996-3.1-cln")).jobs, trace.runtime
    trace = bfenv.make_trace(jobs.submit, jobs.size, runtime, 430, estimate=jobs.estimate)
    wait = bfenv.simulate(trace, policy).check().wait
    assert np.mean(1 + wait / np.maximum(runtime, 10)) == pytest.approx(slowdown, rel=0.05)
    assert np.mean(wait) == pytest.approx(delay, rel=0.05)
