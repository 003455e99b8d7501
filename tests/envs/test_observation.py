"""What is seen: within its box, right by hand, and nothing that is hidden."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.core.cluster import now, running, start, waiting
from bfenv.core.durations import DAY
from bfenv.core.events import advance, new_cluster
from bfenv.core.kernel import kernel
from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.features import (
    AHEAD,
    CLUSTER,
    CLUSTER_DAY_COS,
    CLUSTER_DAY_SIN,
    CLUSTER_NEXT_END,
    JOB_FITS,
    JOB_HEAD,
    PASS,
    PRIORITY,
    QUEUE,
    USERS,
    job_columns,
)
from bfenv.envs.observation import sine_and_cosine, write_profile
from bfenv.knowledge.user_history import NAMES
from tests.conftest import small_traces
from tests.envs.playing import whole
from tests.oracles.user_history import quantities


def named(features, values):
    return {f.name: float(v) for f, v in zip(features, values, strict=True)}


@kernel
def whole_day(found):
    for second in range(len(found)):
        found[second, 0], found[second, 1] = sine_and_cosine(second)


def test_sine_and_cosine():
    """Each second of a day has the sine and cosine of its angle.

    Adding two angles of a table gives the float32 that numpy's functions give.
    """
    found, angle = np.empty((DAY, 2), np.float32), np.arange(DAY) * (2 * np.pi / DAY)
    whole_day(found)
    exact = np.stack([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)
    np.testing.assert_array_equal(found, exact)


def test_steps_ahead():
    """The profile rises at the step that a search finds, also beside the second of each step."""
    trace = bfenv.make_trace([0], [1], [1], 1)
    cluster, jobs, truth = new_cluster(trace)
    advance(cluster, jobs, truth)
    start(cluster, jobs, 0)
    profile = np.empty(len(AHEAD), np.float32)
    for ahead in [*range(3000), *(AHEAD[1:, None] + [-1, 0, 1]).ravel().tolist()]:
        cluster.expected_end[0] = ahead
        write_profile(cluster, jobs, profile)
        assert np.flatnonzero(profile).min(initial=len(AHEAD)) == np.searchsorted(AHEAD, ahead)


def test_by_hand():
    """A machine worked out by hand."""
    #  machine 10 at t = 25: job 0 (size 5) is expected to end at 28; jobs 1, 2 wait (Shmueli 2003,
    #  Figure 3.4: the head needs 7, so its shadow time is 28 and its extra nodes are 3)
    trace = bfenv.make_trace(
        [0, 25, 25],
        [5, 7, 2],
        [26, 4, 2],
        10,
        estimate=[28, 4, 2],
        user=[0, -1, 1],
        priority=[0, 0, -3],
        time_of_day=6 * 3600 - 25,
    )
    env = whole(trace, window=4)
    env.reset(seed=0)
    observation, _, _, _, info = env.step(0)
    assert info["now"] == 25
    columns = (*QUEUE, *USERS, *PRIORITY)
    history = {"accuracy": 1, "user_ended": 0, "predicted_expansion": 0, "user_running": 0}
    runtimes = [f.name for f in USERS if f.name.endswith("_runtime")]
    assert named(columns, observation["queue"][0]) == pytest.approx(
        {
            "present": 1,
            "legal": 0,
            "size": 0.7,
            "estimate": log_time(4),
            "wait": 0,
            "expansion": 0,
            "fits": 0,
            "head": 1,
            "before_shadow": 0,
            "within_extra": 0,
            "user_queued": log_count(1),  # the user is unknown
            "priority": 0,
            **dict.fromkeys(runtimes, log_time(4)),
            **history,
        }
    )
    assert named(columns, observation["queue"][1]) == pytest.approx(
        {
            "present": 1,
            "legal": 1,
            "size": 0.2,
            "estimate": log_time(2),
            "wait": 0,
            "expansion": 0,
            "fits": 1,
            "head": 0,
            "before_shadow": 1,
            "within_extra": 1,
            "user_queued": log_count(1),
            "priority": -0.75,
            **dict.fromkeys(runtimes, log_time(2)),
            **history,
        }
    )
    assert not observation["queue"][2:].any()
    assert named((*CLUSTER, *PASS), observation["cluster"]) == pytest.approx(
        {
            "pass_legal": 1,
            "free": 0.5,
            "queue": log_count(2),
            "outside": 0,
            "backlog": log_time((7 * 4 + 2 * 2) / 10),
            "shadow": log_time(3),
            "extra": 0.3,
            "next_end": log_time(3),
            "day_sin": 1,
            "day_cos": 0,
        },
        abs=1e-6,
    )
    assert AHEAD[:2].tolist() == [0, 60] and AHEAD[-1] == 5 * 86_400
    assert observation["profile"].tolist() == [0.5] + [1.0] * 31


def log_time(seconds):
    return math.log(1 + seconds) / math.log(1 + 100 * 86_400)


def log_count(number):
    return math.log(1 + number) / math.log(10_001)


def log_expansion(ratio):
    return min(1, math.log10(ratio) / 4)


def scaled(name, value):
    """A quantity of the oracle, as the observation shows it."""
    if name in ("accuracy", "fits"):
        return value
    if name.endswith("expansion"):
        return log_expansion(value)
    if name in ("user_queued", "user_running", "user_ended"):
        return log_count(value)
    return log_time(value)


@given(small_traces(jobs=10), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_users_by_oracle(trace, seed):
    """Wherever a column is known of a job and its user, it is what the slow version says."""
    rows = [
        {k: int(v) for k, v in zip(trace.jobs._fields, r, strict=True)}
        for r in zip(*trace.jobs, strict=True)
    ]
    env = whole(trace, window=5, job_features=["users"], idle="every_pass")
    names = [feature.name for feature in env.batch.queue_features]
    shared = [name for name in names if name in NAMES and name not in ("size", "priority")]
    generator = np.random.default_rng(seed)
    (observation, info), over = env.reset(seed=0), False
    while not over:
        cluster = env.cluster
        ended = np.flatnonzero(cluster.end >= 0)
        ended = ended[np.lexsort((ended, cluster.end[ended]))]
        runtimes = [(job, int(cluster.end[job] - cluster.start[job])) for job in ended.tolist()]
        line, runs = waiting(cluster).tolist(), running(cluster).tolist()
        for slot, job in enumerate(env.slots[env.slots >= 0].tolist()):
            expected = quantities(
                job, info["now"], rows, trace.processors, runtimes, line, runs, set()
            )
            row = dict(zip(names, observation["queue"][slot].tolist(), strict=True))
            for name in shared:
                assert row[name] == pytest.approx(scaled(name, expected[name]), abs=1e-6)
        action = generator.choice(np.flatnonzero(info["action_mask"]))
        observation, _, over, _, info = env.step(action)


@pytest.mark.compiled
def test_nothing_constant():
    """In the default workload only free processors beyond the longest estimate are constant.

    Long waits can be told from longer ones.
    """
    env = BackfillEnv()
    assert env.batch.queue_features == QUEUE
    generator, rows, clusters, profiles = np.random.default_rng(0), [], [], []
    for seed in range(4):
        observation, info = env.reset(seed=seed)
        done = False
        while not done:
            rows.append(observation["queue"][observation["queue"][:, 0] > 0])
            clusters.append(observation["cluster"])
            profiles.append(observation["profile"])
            action = generator.choice(np.flatnonzero(info["action_mask"]))
            observation, _, done, _, info = env.step(action)
    spread = np.ptp(np.concatenate(rows), axis=0)
    assert [f.name for f, width in zip(QUEUE, spread, strict=True) if width == 0] == ["present"]
    spread = np.ptp(np.array(clusters), axis=0)
    assert not [f.name for f, width in zip(CLUSTER, spread, strict=True) if width == 0]
    longest = max(trace.jobs.estimate.max() for trace in env.batch.source.traces)
    is_constant = np.ptp(np.array(profiles), axis=0) == 0
    assert is_constant.tolist() == (AHEAD > longest).tolist() and is_constant.sum() == 7
    assert log_time(360_000) - log_time(36_000) > 0.1


def test_job_features():
    """Groups of columns are there for workloads that have them, or as named."""
    trace = bfenv.make_trace([0, 1], [1, 1], [3, 3], 1, requested_start=[0, 9])
    assert whole(trace).observation_space["queue"].shape == (8, len(QUEUE) + 1)
    env = whole(trace, job_features=["priority", "users"])
    expected = job_columns(["users", "priority"])
    assert env.batch.queue_features == expected
    assert env.observation_space["queue"].shape == (8, len(expected))


def test_priority_levels():
    """Each of more than two priorities is another value of the column."""
    trace = bfenv.make_trace([0] * 4, [1] * 4, [3] * 4, 1, priority=[-1, 0, 1, 3])
    env = whole(trace, idle="every_pass", window=4)
    queue = env.reset(seed=0)[0]["queue"]
    place = [feature.name for feature in env.batch.queue_features].index("priority")
    assert queue[:, place].tolist() == [-0.5, 0, 0.5, 0.75]


def test_fresh():
    """Observations and masks once returned do not change."""
    env = BackfillEnv()
    first, info = env.reset(seed=0)
    kept = {key: value.copy() for key, value in first.items()}
    mask = info["action_mask"].copy()
    second, _, _, _, other = env.step(env.window)
    assert all(np.array_equal(first[key], kept[key]) for key in first)
    assert not any(np.shares_memory(first[key], second[key]) for key in first)
    assert info["action_mask"].tolist() == mask.tolist()
    assert not np.shares_memory(info["action_mask"], other["action_mask"])


def test_one_waiting_job():
    """A job that waits alone is the head, with its reservation."""
    trace = bfenv.make_trace([0, 1], [2, 1], [9, 5], 2, estimate=[10, 6])
    env = whole(trace, idle="every_pass", window=2)
    first = named((*CLUSTER, *PASS), env.reset(seed=0)[0]["cluster"])
    assert first["shadow"] == first["extra"] == 0  # job 0 could start and take all
    observation = env.step(0)[0]
    assert observation["queue"][:, 0].tolist() == [1, 0]
    assert named(QUEUE, observation["queue"][0])["head"] == 1
    cluster = named((*CLUSTER, *PASS), observation["cluster"])
    assert cluster["shadow"] == pytest.approx(log_time(9))
    assert cluster["extra"] == 0.5
    assert cluster["queue"] == pytest.approx(log_count(1))
    assert cluster["backlog"] == pytest.approx(log_time(6 / 2))


def test_chosen_head():
    """The head is the chosen job, with its own extra nodes, although an older one waits."""
    #  At 1 one of 3 processors is free. At 10 job 1 (2) would leave one, and job 2 (3) none.
    trace = bfenv.make_trace([0, 1, 1, 1], [2, 2, 3, 1], [10, 9, 9, 5], 3)
    env = whole(trace, window=3, reservations="chosen", idle="never")
    env.reset(seed=0)
    observations = env.step(0)[0], env.step(1)[0]
    assert [o["queue"][:, JOB_HEAD].tolist() for o in observations] == [[1, 0, 0], [0, 1, 0]]
    extra = [
        named((*CLUSTER, *PASS)[: len(o["cluster"])], o["cluster"])["extra"] for o in observations
    ]
    assert extra == pytest.approx([1 / 3, 0])


def test_none_waits():
    """Without a waiting job nothing is reserved, and the rows are empty."""
    trace = bfenv.make_trace([0, 5], [1, 1], [3, 3], 2)
    env = whole(trace, idle="every_pass", window=2)
    env.reset(seed=0)
    observation, *_, info = env.step(0)  # at 3 the job ends, and nothing waits
    assert info["now"] == 3 and not observation["queue"].any()
    cluster = named((*CLUSTER, *PASS), observation["cluster"])
    assert cluster["shadow"] == 0 and cluster["extra"] == 1 and cluster["next_end"] == 1
    assert cluster["queue"] == cluster["outside"] == cluster["backlog"] == 0


def test_next_end():
    """The next expected end is one that lies ahead as long as a job runs, and then is none."""
    trace = bfenv.make_trace([0, 1, 9], [2, 1, 1], [3, 2, 1], 2)
    env = whole(trace, idle="every_pass", window=2)
    seen = [env.reset(seed=0)[0]["cluster"][CLUSTER_NEXT_END]]
    for time in (1, 3):
        seen.append(env.step(0)[0]["cluster"][CLUSTER_NEXT_END])
        assert now(env.cluster) == time
    assert seen == pytest.approx([1, log_time(2), 1])


def test_time_of_day():
    """The time of day is that of the clock: at 6 h and, 12 h later, at 18 h."""
    trace = bfenv.make_trace([0, 43_200], [1, 1], [1, 1], 1, time_of_day=6 * 3600)
    env, columns = whole(trace), [CLUSTER_DAY_SIN, CLUSTER_DAY_COS]
    seen = [env.reset(seed=0)[0]["cluster"][columns]]
    seen.append(env.step(0)[0]["cluster"][columns])
    assert np.allclose(seen, [[1, 0], [-1, 0]], atol=1e-6)


def test_requested_start():
    """A job does not fit before its requested start time, and at that instant it does."""
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [9, 9, 9], 3, requested_start=[0, 5, 6])
    env = whole(trace, idle="every_pass")
    env.reset(seed=0)
    observation, *_, info = env.step(0)
    while info["now"] < 5:
        observation, *_, info = env.step(env.window)
    fits, start_in = JOB_FITS, len(QUEUE)
    assert info["now"] == 5
    assert observation["queue"][:2, fits].tolist() == [1, 0]
    assert observation["queue"][:2, start_in].tolist() == pytest.approx([0, log_time(1)])
    observation, *_, info = env.step(env.window)
    assert info["now"] == 6
    assert observation["queue"][:2, fits].tolist() == [1, 1]
    assert observation["queue"][:2, start_in].tolist() == [0, 0]


def test_small_window():
    """Only the jobs in the window have their columns written, of every group."""
    trace = bfenv.make_trace([0] * 3, [1] * 3, [3] * 3, 1, priority=[1, 3, 0])
    env = whole(trace, window=2)
    observation = env.reset(seed=0)[0]
    assert observation["queue"][:, len(QUEUE)].tolist() == [0.5, 0.75]
    cluster = named((*CLUSTER, *PASS), observation["cluster"])
    assert cluster["outside"] == pytest.approx(1 / 3)
