"""Multiple-queue backfilling against hand-solved cases, its naive version and its promises.

Joined here: all files of `bfenv.baselines.multiqueue`, because only together do they schedule.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.baselines.multiqueue import figure2, multiqueue
from bfenv.baselines.multiqueue.changes import remember, skip_unchanged, update
from bfenv.baselines.multiqueue.memory import LEFT_WAITING, NEXT_PROMISE, SETTLED
from bfenv.baselines.speculative import easy_speculative
from bfenv.core.cluster import WAKE, may_start, now, retract, running, start, started, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance, new_cluster
from tests.baselines.trial_cases import assert_equals_naive, schedule, workloads
from tests.conftest import COMPILED

SMALL = {"bounds": (4, 8), "speculation": 3, "tried_above": 4}  # options for small traces

# Few small traces have promises that get in each other's way; uncompiled, all is slow.
MANY = 400 if COMPILED else 60


def starts(policy, processors, *jobs, **columns):
    return schedule(policy, processors, *jobs, **columns).start.tolist()


def passes(trace, policy, event_order="standard", decide=None):
    """Run a policy, or `decide` in its place, and stop after each pass: cluster and memory."""
    cluster, jobs, truth = new_cluster(trace, event_order=event_order)
    memory = policy.memory(jobs, trace.processors, np.random.default_rng(0))
    while advance(cluster, jobs, truth):
        (decide or policy.decide)(cluster, jobs, memory)
        yield cluster, memory


def assert_promises_move_earlier_only(trace, policy):
    """Promises of the highest priority; others may be delayed by these.

    A pivot may have to make room, too, for a job that comes back from its trial.
    """
    highest = trace.jobs.priority.max()
    promised = {}
    for cluster, memory in passes(trace, policy):
        queue = [job for job in waiting(cluster).tolist() if trace.jobs.priority[job] == highest]
        promised_start = memory.promises.planned_start
        promises = {job: promised_start[job] for job in queue if promised_start[job] >= 0}
        come_back = any(cluster.trial_end[job] == now(cluster) for job in queue)
        for job in promises.keys() & promised.keys():
            if not (come_back and job in memory.pivot):
                assert promises[job] <= promised[job]
        promised = promises


def start_over(cluster, jobs, memory):
    """A pass that finds that the profile does not agree with the machine."""
    memory.promises.profile.free[0] = -1000
    figure2.decide(cluster, jobs, memory)


def consider_all(cluster, jobs, memory):
    """A pass without the shortcut: every job is considered, every promise may move up."""
    update(cluster, jobs, memory)
    memory.state[SETTLED] = 0
    figure2.consider_from(cluster, jobs, memory, 0, 0)
    remember(cluster, memory)


def assert_same_promises(memory, other):
    assert memory.promises.planned_start.tolist() == other.promises.planned_start.tolist()
    assert memory.pivot.tolist() == other.pivot.tolist()


def assert_same_passes(passes, others):
    """Two runs start the same jobs in each pass, and keep the same promises and pivots."""
    for (cluster, memory), (other_cluster, other) in zip(passes, others, strict=True):
        assert started(cluster).tolist() == started(other_cluster).tolist()
        assert_same_promises(memory, other)


# Scenarios; in most of them the queues are for estimates below 5 s, below 10 s, and above

QUEUES = multiqueue(bounds=(5, 10), speculation=0)


def test_moved_processors():
    """Idle processors move to the partition that lacks them."""
    #  P                            partitions own
    #  6 |1111111144      0 s: 2 2 2; job 1 (queue 2) needs 3, one comes from the third
    #  5 |1111111144      4 s: 2 3 1; job 3 (queue 3) needs 2, both from the first, now idle
    #  4 |1111111144      8 s: 0 3 3; job 4 (queue 1) needs 3, all from the second
    #  3 |2222222222...   9 s: 3 0 3
    #  2 |000033333333
    #  1 |000033333333
    jobs = (0, 2, 4, 4), (0, 3, 8, 8), (0, 1, 20, 20), (4, 2, 20, 20), (8, 3, 4, 4)
    result = schedule(QUEUES, 6, *jobs)
    assert result.start.tolist() == [0, 0, 0, 4, 8]
    assert result.records["reassigned"].tolist() == [0, 1, 0, 2, 3]


def test_pivots():
    """Each queue has a pivot with a promise; a single queue has one in all."""
    #  P
    #  3 |..........                    222233333...   job 2 (queue 1) is promised 30; job 3
    #  2 |000000000011111111111111111111222...         (queue 3) would delay it, and not job 1
    #  1 |000000000011111111111111111111222...
    jobs = (0, 2, 10, 10), (0, 2, 20, 20), (1, 3, 4, 4), (2, 1, 40, 40)
    assert starts(QUEUES, 3, *jobs) == [0, 10, 30, 34]
    assert starts(easy_speculative(speculation=0), 3, *jobs) == [0, 10, 42, 2]


def test_killed_trial():
    """A trial that is too short is killed, and its job waits in its queue."""
    #  P
    #  2 |tttttt1111100000   job 0 is tried for 180 s; job 1 (queue 1) is promised 180 and starts
    #  1 |tttttt1111100000   before job 0, now the pivot of its own queue
    result = schedule(multiqueue(), 2, (0, 2, 7200, 4000), (5, 2, 500, 500))
    assert result.start.tolist() == [680, 180]
    assert (result.trial_start.tolist(), result.trial_end.tolist()) == ([0, -1], [180, -1])


def test_tried_estimates():
    """By default, only jobs with estimates above 1,000 seconds are tried."""
    result = schedule(multiqueue(), 2, (0, 1, 1000, 999), (0, 1, 1001, 999))
    assert result.trial_end.tolist() == [-1, 180]
    assert result.start.tolist() == [0, 180]


# Against the naive version


@pytest.mark.parametrize("speculation", [0, 3])
@given(trace=workloads())
def test_naive_version(speculation, trace):
    """With trials and without, schedules are those of the independent slow version."""
    options = {**SMALL, "speculation": speculation}
    assert_equals_naive(trace, multiqueue(**options), **options)


def sizes_of(processors, shares):
    """How many processors each share is; what is left over goes to the first ones."""
    sizes = [processors * share // sum(shares) for share in shares]
    return [size + (i < processors - sum(sizes)) for i, size in enumerate(sizes)]


ORDERS = {  # the sort keys of the naive version
    "fcfs": lambda job: 0,
    "sjf": lambda job: job.estimate,
    "-size * estimate": lambda job: -job.size * job.estimate,
}


@settings(max_examples=MANY)
@given(
    trace=workloads(),
    speculation=st.sampled_from([0, 3]),
    partitions=st.sampled_from([None, 1, 2, 3, 5, (1, 0, 2), (3, 1), (1, 1, 1, 5)]),
    order=st.sampled_from(sorted(ORDERS)),
)
def test_partitions_and_orders(trace, speculation, partitions, order):
    """Any partitions and any order of the queues give the schedule of the naive version."""
    options = {**SMALL, "speculation": speculation}
    policy = multiqueue(**options, partitions=partitions, order=order)
    shares = (1,) * partitions if isinstance(partitions, int) else partitions
    sizes = shares and sizes_of(trace.processors, shares)
    assert_equals_naive(trace, policy, **options, sizes=sizes, key=ORDERS[order])


FLAGS = {"priority > 0": lambda job: job.priority > 0, "estimate - 7": lambda job: job.estimate > 7}


@settings(max_examples=MANY)
@given(trace=workloads(), flag=st.sampled_from(sorted(FLAGS)), queues=st.booleans())
def test_restartable(trace, flag, queues):
    """Only jobs whose flag is above 0 are tried, as in the naive version."""
    options = SMALL if queues else {**SMALL, "bounds": ()}
    trials = {"speculation": 3, "tried_above": 4, "restartable": flag}
    policy = multiqueue((4, 8), **trials) if queues else easy_speculative(**trials)
    assert_equals_naive(trace, policy, **options, flag=FLAGS[flag])


@pytest.mark.parametrize(
    ("restartable", "starts", "tried"),
    [
        ((1, 1), [5, 3], [0, 3]),  # a trial each; the second job ends in its own
        ((1, 0), [3, 13], [0, -1]),
        ((0, 1), [2, 0], [-1, 0]),  # trials come before queued jobs
        ((0, 0), [0, 10], [-1, -1]),
    ],
)
def test_restartable_jobs_by_hand(restartable, starts, tried):
    """Of two jobs as large as the machine, only those that may be restarted have a trial."""
    trace = bfenv.make_trace([0, 0], [4, 4], [10, 2], 4, estimate=[10, 10], restartable=restartable)
    for policy in (easy_speculative(3, 4), multiqueue(**SMALL)):
        result = bfenv.simulate(trace, policy).check()
        assert result.start.tolist() == starts
        # a trial in which a job ends is its run
        killed = [trial if job == 0 else -1 for job, trial in enumerate(tried)]
        assert result.trial_start.tolist() == killed


@settings(max_examples=MANY)
@given(trace=workloads(), queues=st.booleans())
def test_a_column_of_flags(trace, queues):
    """Flags in the workload have the effect of an expression that is above 0 for these jobs."""
    make = partial(multiqueue, (4, 8)) if queues else easy_speculative
    trials = {"speculation": 3, "tried_above": 4}
    flags = (trace.jobs.size > 1).astype(np.int64)
    flagged = replace(trace, jobs=trace.jobs._replace(restartable=flags))
    result = bfenv.simulate(flagged, make(**trials)).check()
    expected = bfenv.simulate(trace, make(**trials, restartable="size - 1"))
    for column in ("start", "end", "trial_start", "trial_end"):
        assert np.array_equal(getattr(result, column), getattr(expected, column))


def test_restartable_at_random():
    """A share of the jobs is drawn by the seed; those with flags keep them."""
    policy = easy_speculative(3, 4, restartable="random < 0.5")
    result = schedule(policy, 100, *[(0, 1, 9, 9)] * 100, seed=1)
    assert policy.stochastic
    assert 35 <= np.count_nonzero(result.trial_start >= 0) <= 65


def test_initial_partitions_by_hand():
    """A partition that owns half the machine needs no processors of another one."""
    jobs = (0, 3, 4, 4), (0, 3, 8, 8)
    halves = multiqueue((5, 10), 0, partitions=(1, 1, 0))
    assert schedule(halves, 6, *jobs).records["reassigned"].tolist() == [0, 0]
    assert schedule(QUEUES, 6, *jobs).records["reassigned"].tolist() == [1, 2]


def test_more_than_two_priorities():
    """Jobs of equal estimates start by priority, whatever the number of levels."""
    jobs = [(0, 1, 4, 4)] * 6
    levels = [-3, 0, 7, 2, 7, 100]
    assert starts(QUEUES, 1, *jobs, priority=levels) == [20, 16, 4, 12, 8, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitions": 0}, "partitions must be an integer from 1 to 1,000, got 0"),
        ({"partitions": ()}, "partitions must be an integer"),
        ({"partitions": (1, -1)}, "partitions must be a finite number >= 0, got -1"),
        ({"partitions": (0, 0)}, "partitions must not all be empty"),
        ({"order": "longest"}, "order: unknown order 'longest'"),
        ({"restartable": "fast"}, "restartable: unknown name 'fast'"),
        ({"restartable": True}, "restartable must be an expression, got True"),
    ],
)
def test_options_out_of_range(options, message):
    """An option out of its range is refused, and the message names the option."""
    with pytest.raises(PolicyError, match=message):
        multiqueue(**options)


# Invariants


BOTH = [multiqueue(**SMALL), easy_speculative(3, 4)]
of_both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)


@of_both
@pytest.mark.parametrize("order", ["standard", "pyss"])
@given(trace=workloads())
def test_accepted_reservations(order, policy, trace):
    """A reservation once accepted is honoured, and jobs that ask for none have none."""
    result = bfenv.simulate(trace, policy, event_order=order).check()
    asked = trace.jobs.requested_start > 0
    reserved_start = result.records["reserved_start"]
    assert np.array_equal(result.start[asked], reserved_start[asked])
    assert (reserved_start[~asked] == -1).all()


@of_both
@given(trace=workloads(priorities=2, requests=False))
def test_highest_priority(policy, trace):
    """A promise of the highest priority moves later only for a job back from its trial."""
    assert_promises_move_earlier_only(trace, policy)


@of_both
@pytest.mark.parametrize("order", ["standard", pytest.param("pyss", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("other", [start_over, consider_all])
@settings(max_examples=MANY)
@given(trace=workloads(priorities=1, requests=False))
def test_shortcuts(other, order, policy, trace):
    """A pass with a new profile, or without `skip_unchanged`, starts and promises the same."""
    assert_same_passes(passes(trace, policy, order), passes(trace, policy, order, other))


def test_skipped_jobs():
    """A pass in which nothing has changed considers new jobs only.

    The shortcut is taken: of the jobs that wait for job 0, only the last is considered at 3.
    """
    rows = (0, 1, 9), (1, 2, 4), (2, 2, 4), (3, 2, 4)
    submit, size, estimate = zip(*rows, strict=True)
    trace = bfenv.make_trace(submit, size, estimate, 2)
    first = []
    for cluster, memory in passes(trace, easy_speculative(speculation=0)):
        state = memory.state.copy()
        first.append(int(skip_unchanged(cluster, memory, memory.state[LEFT_WAITING], 0, 0)[0]))
        memory.state[:] = state
    assert first[:4] == [0, 1, 2, 3]


@pytest.mark.parametrize("queues", [QUEUES, easy_speculative(speculation=0)], ids=lambda p: p.name)
@settings(max_examples=MANY // 2)
@given(trace=workloads(priorities=2), whims=st.randoms(use_true_random=False))
def test_promises_not_followed(queues, trace, whims):
    """Where others do not follow the promises, they are made again as if from scratch."""
    cluster, jobs, truth = new_cluster(trace)
    jobs = jobs
    kept, other = (queues.memory(jobs, trace.processors, None) for _ in range(2))
    while advance(cluster, jobs, truth):
        chosen = []
        for memory, decide in ((kept, queues.decide), (other, start_over)):
            decide(cluster, jobs, memory)
            chosen.append(started(cluster).tolist())
            wake = cluster.state[WAKE]
            retract(cluster, jobs)
            cluster.state[WAKE] = wake
        assert chosen[0] == chosen[1]
        assert_same_promises(kept, other)
        others = whims.random() < 0.3
        for job in waiting(cluster).tolist() if others else chosen[0]:
            if not others or (may_start(cluster, jobs, job) and whims.random() < 0.5):
                start(cluster, jobs, job)


def test_start_taken_back():
    """A start that was taken back is made in the next pass.

    The policy finds that a job it started does not run, and promises starts from scratch.
    """
    trace = bfenv.make_trace([0, 1, 2], [2, 1, 1], [3, 3, 3], 2)
    cluster, jobs, truth = new_cluster(trace)
    memory = QUEUES.memory(jobs, trace.processors, None)
    while advance(cluster, jobs, truth):
        QUEUES.decide(cluster, jobs, memory)
        if now(cluster) == 0:
            assert started(cluster).tolist() == [0]
            retract(cluster, jobs)
    assert cluster.start.tolist() == [1, 4, 4]


def test_missed_promise():
    """If the clock has passed a promised start, the job is promised a time that is to come."""
    trace = bfenv.make_trace([0, 1, 2], [2, 1, 1], [9, 3, 3], 2)
    cluster, jobs, truth = new_cluster(trace)
    memory = QUEUES.memory(jobs, trace.processors, None)
    for _ in range(2):
        advance(cluster, jobs, truth)
        QUEUES.decide(cluster, jobs, memory)
    promised_start = memory.promises.planned_start
    assert promised_start[1] == 9
    promised_start[1], memory.state[NEXT_PROMISE] = 1, 1
    advance(cluster, jobs, truth)
    QUEUES.decide(cluster, jobs, memory)
    assert promised_start[1] == 9


@given(trace=workloads())
def test_sizes_of_partitions(trace):
    """Partitions always make up the machine, and hold what runs in them."""
    for cluster, memory in passes(trace, multiqueue(**SMALL)):
        assert memory.partitions.owned.sum() == trace.processors
        queue = np.searchsorted(SMALL["bounds"], trace.jobs.estimate, side="right")
        for p in range(3):
            runs = running(cluster)
            assert trace.jobs.size[runs[queue[runs] == p]].sum() <= memory.partitions.owned[p]


# Real logs
