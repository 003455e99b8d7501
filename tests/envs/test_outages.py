"""Environments around outages: the schedules of the simulator, masks, and what is seen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents import PolicyAgent
from bfenv.core.cluster import expected_ends, now, running, waiting
from bfenv.core.durations import DAY
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Outage
from bfenv.core.schedule import Schedule
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.batch_state import COMING
from bfenv.envs.features import AHEAD, CLUSTER_FREE, CLUSTER_NEXT_END, JOB_FITS, JOB_HEAD
from tests.conftest import small_traces
from tests.core.test_outages import with_trials
from tests.envs.playing import play, whole
from tests.envs.test_snapshot import crowd as busy
from tests.oracles import outages as naive

TRACES = small_traces(jobs=10, outages=True)
SKIPPED = bfenv.make_trace(  # behind job 3, job 4 is skipped first and does not fit later
    [0] * 8, [1, 1, 1, 2, 4, 1, 1, 1], [1, 1, 1, 2, 2, 1, 1, 1], 6,
    outages=(Outage(0, 3, 5), Outage(4, 5, 1)),
)  # fmt: skip
GUARDS = [
    {},
    {"reservations": 1},
    {"reservations": 1, "idle": "never"},
    {"reservations": 1, "idle": "allowed"},
]
OF_ORDERS = {"reservations": "chosen", "idle": "every_pass"}


def scaled(trace, factor):
    """The trace with all times multiplied."""
    jobs = trace.jobs
    return replace(
        trace,
        jobs=jobs._replace(submit=jobs.submit * factor, estimate=jobs.estimate * factor),
        runtime=trace.runtime * factor,
        outages=tuple(Outage(a * factor, b * factor, size) for a, b, size in trace.outages),
    )


def schedule_of(env):
    """The schedule of the episode, if all jobs of the trace have ended by their runtimes."""
    trace, cluster = env.trace, env.cluster
    start, trial_start, trial_end = (
        times[: len(trace)].copy()
        for times in (cluster.start, cluster.trial_start, cluster.trial_end)
    )
    trial_start[trial_end < 0] = -1  # the job ended on trial
    return Schedule(trace, "agent", 0, start, start + trace.runtime, trial_start, trial_end)


def play_at_random(env, seed):
    """Take random legal actions up to the end; yield the info at each decision."""
    generator = np.random.default_rng(seed)
    observation, info = env.reset(seed=0)
    done = False
    while not done:
        yield observation, info
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        observation, reward, done, _, info = env.step(action)
        info["reward"] = reward
    yield observation, info


@given(TRACES, st.sampled_from(["fcfs", "easy"]), st.sampled_from(GUARDS))
@settings(max_examples=150)
def test_replay(trace, policy, guard):
    """A policy driven through `step` makes the schedule of `simulate`."""
    assume(policy == "easy" or guard.get("idle") != "never")
    env = whole(trace, window=10, **guard)
    _, info = play(env, PolicyAgent(policy, env))
    schedule = bfenv.simulate(trace, policy)
    assert schedule_of(env).check().start.tolist() == schedule.start.tolist()
    assert info["illegal_actions"] == info["forced_starts"] == 0
    assert info["metrics"]["mean_wait"] == pytest.approx(schedule.wait.mean())


@given(TRACES, st.sampled_from(["easy-sjf", "easy-wfp3", "easy-lxf", "easy-saf"]))
@settings(max_examples=50)
def test_replay_chosen_head(trace, policy):
    """So do policies with other heads than the oldest job."""
    env = whole(trace, window=10, **OF_ORDERS)
    play(env, PolicyAgent(policy, env))
    assert schedule_of(env).start.tolist() == bfenv.simulate(trace, policy).start.tolist()


@given(TRACES, st.sampled_from(sorted(n for n, p in bfenv.policies().items() if not p.trials)))
@settings(max_examples=150)
def test_replay_every_policy(trace, policy):
    """So does every policy without trials, also one with a memory or random numbers."""
    env = whole(trace, window=10, idle="every_pass")
    play(env, PolicyAgent(policy, env))
    assert schedule_of(env).start.tolist() == bfenv.simulate(trace, policy).start.tolist()


@given(with_trials(), st.sampled_from(["easy-speculative", "multiqueue", "easy(trial=180)"]))
@settings(max_examples=60)
def test_replay_trials(trace, policy):
    """So do policies with trials, which may end before an outage where the job would not."""
    env = whole(trace, window=10, idle="every_pass", trial_limit=180)
    play(env, PolicyAgent(policy, env))
    schedule = bfenv.simulate(trace, policy)
    assert schedule_of(env).check().start.tolist() == schedule.start.tolist()
    assert schedule_of(env).trial_end.tolist() == schedule.trial_end.tolist()


@given(small_traces(jobs=10, outages=True), st.integers(0, 4))
@settings(max_examples=150)
def test_warm_up(trace, warm):
    """Before an episode EASY schedules around outages, and so it does as the reference."""
    assume(warm < len(trace))
    options = {"warmup_jobs": warm, "episode_jobs": None, "split": "all", "window": 10}
    env = BackfillEnv(trace, reservations=1, guard=None, **options)
    _, info = play(env, PolicyAgent("easy", env))
    schedule = bfenv.simulate(trace, "easy")
    start = env.cluster.start[: len(trace)]
    begun = start >= 0  # a job of the warm-up may still wait at the end of the episode
    assert begun[warm:].all()
    assert start[begun].tolist() == schedule.start[begun].tolist()
    assert info["metrics"]["longest_wait"] == info["metrics"]["reference_longest_wait"]
    assert info["metrics"]["reference_longest_wait"] == schedule.wait[warm:].max()


@given(
    small_traces(jobs=8, requested_starts=True, outages=True),
    st.sampled_from(["all", 0, 1, 2, 3]),
    st.integers(0, 2**32 - 1),
)
@example(SKIPPED, 1, 255)
@settings(max_examples=200)
def test_mask(trace, depth, seed):
    """Legal is what the slow version finds, from what has started in the pass."""
    env = whole(trace, window=8, reservations=depth)
    this, generator = None, np.random.default_rng(seed)
    _, info = env.reset(seed=0)
    done = False
    while not done:
        cluster, jobs = env.cluster, env.jobs
        if env.pass_id != this:
            this, queue, chosen = env.pass_id, waiting(cluster).tolist(), []
            sizes = jobs.size[running(cluster)].tolist()
            held = list(zip(expected_ends(cluster).tolist(), sizes, strict=True))
        time = int(now(cluster))
        chosen += [j for j in queue if cluster.start[j] == time and j not in chosen]
        legal, reserved = naive.legal(
            trace, trace.outages, held, queue, chosen, time, -1 if depth == "all" else depth
        )
        *starts, may_pass = info["action_mask"].tolist()
        assert {int(env.slots[k]) for k in np.flatnonzero(starts)} == legal
        assert may_pass == (not reserved)
        action = int(generator.choice(np.flatnonzero(info["action_mask"])))
        _, _, done, _, info = env.step(action)


@given(
    TRACES,
    st.integers(0, 2**32 - 1),
    st.sampled_from(
        [
            {},
            {"window": 2},
            {"window": 3, "reservations": 1, "idle": "never"},
            {"window": 2, "reservations": "all", "window_order": "sjf"},
            {"window": 4, "reservations": 2, "idle": "every_pass"},
            {"window": 4, "reservations": "chosen", "idle": "never", "guard": 6e-5},
            {"window": 3, "trial_limit": 2, "guard": 4e-5, "reservations": 1},
        ]
    ),
)
@settings(max_examples=200)
def test_random_actions(trace, seed, options):
    """Whatever is done, all jobs run, and never on processors out of service."""
    env = whole(trace, **options)
    for observation, info in play_at_random(env, seed):
        assert env.observation_space.contains(observation)
        assert info["action_mask"].any()
        assert (waiting(env.cluster) < len(trace)).all() and (env.slots < len(trace)).all()
        assert env.head in [-1, *env.slots]
    schedule_of(env).check()


def test_passing_forever():
    """The pass ends with an outage, too, and jobs are only started by force when none is left."""
    trace = bfenv.make_trace([0], [1], [3], 2, outages=(Outage(5, 9, 2), Outage(20, 22, 1)))
    env = whole(trace)
    env.reset(seed=0)
    seen, done = [], False
    while not done:
        _, _, done, _, info = env.step(env.window)
        seen.append(info["now"])
    assert seen == [9, 20, 22, 22]  # at 5 no processor is free
    assert info["forced_starts"] == 1


def test_drained():
    """Before an outage, only what ends in time may start; the rest waits and is no head."""
    # Of 4 processors all go at 100. Job 0 (90 s) ends in time, job 1 (200 s) does not, job 2
    # (50 s) does.
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 2], [90, 200, 50], 4, outages=(Outage(100, 160, 4),))
    env = whole(trace, window=3, reservations=1, idle="never")
    observation, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 0, 1, 0]
    assert observation["queue"][:, JOB_FITS].tolist() == [1, 0, 1]
    assert observation["queue"][:, JOB_HEAD].tolist() == [1, 0, 0]
    observation, _, _, _, info = env.step(0)
    assert info["action_mask"].tolist() == [0, 1, 0, 0]
    assert observation["queue"][:, JOB_HEAD].tolist() == [0, 1, 0]  # job 1 is in slot 0
    _, _, done, _, info = env.step(1)
    assert info["now"] == 160 and not done
    assert env.cluster.start[:3].tolist() == [0, -1, 0]


def test_next_in_line():
    """A job that leaves too little beside what has started is passed over in search of the head."""
    # Of 4 processors 2 go at 10. Beside job 0, job 1 leaves too little, and job 2 does not fit.
    trace = bfenv.make_trace(
        [0, 0, 0, 0], [2, 1, 4, 1], [20, 20, 5, 5], 4, outages=(Outage(10, 15, 2),)
    )
    env = whole(trace, window=3, reservations=1)
    env.reset(seed=0)
    observation, _, _, _, info = env.step(0)
    assert info["now"] == 0
    assert observation["queue"][:, JOB_HEAD].tolist() == [0, 1, 0]
    assert info["action_mask"].tolist() == [0, 0, 1, 1]
    assert env.head == 2


LAST_STEP = bfenv.make_trace([0, 0], [1, 1], [1, 1], 2, outages=(Outage(720, 721, 1),))


@given(
    small_traces(jobs=12, outages=True),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 600, 50_000]),
)
@settings(max_examples=150)
@example(LAST_STEP, 0, 600)  # the outage begins at the last step, seen from time 0
def test_profile(trace, seed, second):
    """The profile is what neither running jobs nor outages hold, as far as is known."""
    trace = scaled(trace, second)
    env = whole(trace, idle="every_pass")
    for observation, info in play_at_random(env, seed):
        runs, time = running(env.cluster), info["now"]
        ends = expected_ends(env.cluster)
        for ahead, share in zip(AHEAD.tolist(), observation["profile"].tolist(), strict=True):
            used = env.jobs.size[runs][ends > time + ahead].sum()
            out = sum(
                size for begin, end, size in trace.outages if time < begin <= time + ahead < end
            )
            assert share == np.float32((trace.processors - used - out) / trace.processors)
        assert observation["cluster"][CLUSTER_FREE] == observation["profile"][0]


@given(
    small_traces(jobs=8, outages=True),
    st.integers(0, 2**32 - 1),
    st.integers(0, 3),
    st.sampled_from(["mixed", "oldest", "sjf", "lxf", "-wait * user_running / likely_runtime"]),
)
@settings(max_examples=140)
def test_no_leak(trace, seed, depth, order):
    """Runtimes change nothing before the first of the jobs in which they differ has ended."""
    other = replace(trace, runtime=trace.jobs.estimate.copy())
    options = {
        "window": 4,
        "reservations": depth,
        "idle": "every_pass",
        "job_features": ["users"],
        "guard": 1e-4,
        "window_order": order,
    }
    twins = [whole(one, **options) for one in (trace, other)]
    differ = trace.runtime != other.runtime
    seen = zip(*(play_at_random(twin, seed) for twin in twins), strict=False)
    for (one, info), (two, other_info) in seen:
        ended = any((twin.cluster.end[: len(trace)][differ] >= 0).any() for twin in twins)
        if ended or twins[0].unstarted == 0:
            return
        assert twins[0].slots.tolist() == twins[1].slots.tolist()
        assert info["action_mask"].tolist() == other_info["action_mask"].tolist()
        assert info.get("reward") == other_info.get("reward")
        assert all(np.array_equal(one[key], two[key]) for key in one)


def crowd(seed=0, jobs=200):
    """A busy machine of 8 processors, part or all of which is out of service now and then."""
    times = [(4000 * k, 4000 * k + 700, 2 + 3 * (k % 3)) for k in range(1, 6)]
    return replace(busy(seed, jobs), outages=tuple(Outage(*one) for one in times))


OPTIONS = {"workload": [crowd(), busy(1, 250), crowd(2)], "split": "all", "window": 8}
SHORT = {"warmup_jobs": 20, "episode_jobs": 40}


@given(st.integers(20, 160), st.integers(0, 3))
@settings(max_examples=25)
def test_window(first, seed):
    """An episode is a simulation that begins with its warm-up, whatever outages came before."""
    trace = crowd(seed)
    env = BackfillEnv(trace, split="all", **(SHORT | {"window": 200}))
    play(env, PolicyAgent("easy", env), options={"first_job": first})
    opening = first - SHORT["warmup_jobs"]
    schedule = bfenv.simulate(trace[opening:], "easy")
    expected = schedule.start + trace.jobs.submit[opening]
    start = env.cluster.start[opening : len(trace)]
    begun = (start >= 0) & (start < np.iinfo(np.int64).max)
    assert begun[: SHORT["warmup_jobs"] + SHORT["episode_jobs"]].sum() >= SHORT["episode_jobs"]
    assert start[begun].tolist() == expected[begun].tolist()


def test_future():
    """A future of a snapshot has the announced outages, and the way back is exact."""
    env = BackfillEnv(crowd(), split="all", window=30, **SHORT)
    env.reset(seed=1, options={"first_job": 30})
    for _ in range(15):
        env.step(int(env.action_masks().argmax()))
    coming = env.batch._state.counters[0, COMING]
    snapshot = env.snapshot()
    assert snapshot.outages == env.trace.outages
    _, info = env.restore(snapshot, seed=4)
    done = False
    while not done:
        _, _, done, _, info = env.step(int(info["action_mask"].argmax()))
    assert env.batch._state.counters[0, COMING] > coming
    started = env.cluster.start[:200]
    known = np.flatnonzero((started >= 0) & (started < np.iinfo(np.int64).max))
    ends = started + env.trace.runtime
    for begin, end, size in env.trace.outages:
        if end < info["now"]:
            at = known[(started[known] < end) & (ends[known] > begin)]
            used = max(
                env.jobs.size[at][(started[at] <= time) & (ends[at] > time)].sum()
                for time in [begin, *started[at].tolist()]
                if begin <= time < end
            )
            assert used <= 8 - size
    env.resume()
    assert env.batch._state.counters[0, COMING] == coming
    elsewhere = BackfillEnv(busy(), split="all", window=30, **SHORT)
    elsewhere.reset(seed=1)
    with pytest.raises(BfenvError, match="other workloads"):
        elsewhere.restore(snapshot, seed=0)


def test_far_away():
    """Outages after everything has ended change no reward and no metric."""
    trace = busy()
    later = replace(trace, outages=(Outage(10**7, 10**7 + 5, 8),))
    seen = []
    for one in (trace, later):
        env = BackfillEnv(one, split="all", window=8, **SHORT)
        seen.append(play(env, seed=2))
    assert seen[0][0] == seen[1][0]
    assert seen[0][1]["metrics"] == seen[1][1]["metrics"]


def test_profile_of_a_later_day():
    """An outage is in the profile once it is five days away, whenever that is."""
    trace = bfenv.make_trace(
        [0, 2 * DAY], [1, 1], [9, 9], 2, outages=(Outage(6 * DAY, 8 * DAY, 1),)
    )
    env = whole(trace)
    first = env.reset(seed=0)[0]["profile"]
    observation, *_, info = env.step(0)
    assert info["now"] == 2 * DAY
    assert [first[-1], observation["profile"][0], observation["profile"][-1]] == [1, 1, 0.5]


def test_outage_in_force():
    """The next expected end counts that of an outage in force: it is when processors come back."""
    trace = bfenv.make_trace([10], [1], [5], 4, outages=(Outage(0, 60, 3),))
    env = whole(trace, window=1)
    observation, info = env.reset(seed=0)
    assert info["now"] == 10
    assert observation["cluster"][CLUSTER_FREE] == 0.25
    assert observation["cluster"][CLUSTER_NEXT_END] == np.float32(
        np.log(51) / np.log(1 + 100 * 86400)
    )
