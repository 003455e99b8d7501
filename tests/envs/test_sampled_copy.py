"""Sampled copies: they hold what is known only, are possible futures, and change nothing else."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import bfenv
from bfenv.core.cluster import NEXT_JOB, running, waiting
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs import BackfillEnv, BackfillVectorEnv, sampled_copy
from bfenv.envs.batch_state import LAST_SLOWDOWN

SHORT = {"warmup_jobs": 20, "episode_jobs": 60, "window": 16}


def crowd(seed=0, jobs=200):
    rng = np.random.default_rng(seed)
    estimate = rng.choice([60, 300, 3600], jobs)
    return bfenv.make_trace(
        np.cumsum(rng.integers(0, 200, jobs)),
        rng.integers(1, 6, jobs),
        np.maximum(1, estimate * rng.random(jobs) ** 2).astype(int),
        8,
        estimate=estimate,
        user=rng.integers(0, 5, jobs),
    )


def env_of(trace, **settings):
    rules = {"reservations": 1, "reward": "bounded_slowdown", "split": "all"}
    options = rules | SHORT | settings
    return gymnasium.make("Backfill-v0", workload=trace, **options).unwrapped


def play(env, steps=10**6, which=0):
    """Take the first legal action for some steps, or another one; list all that is seen."""
    seen = []
    for _ in range(steps):
        action = np.flatnonzero(env.action_masks())[which]
        observation, reward, over, _, info = env.step(int(action))
        parts = [part.tobytes() for part in observation.values()]
        seen.append((*parts, reward, info["now"], info["metrics"]))
        if over:
            break
    return seen


def opened(trace, steps=25, which=0, **settings):
    env = env_of(trace, **settings)
    env.reset(seed=3, options={"first_job": 40})
    play(env, steps, which)
    return env


def with_other_secrets(env):
    """The trace with other runtimes of unfinished jobs and other jobs to come."""
    trace, cluster = env.trace, env.cluster
    rng = np.random.default_rng(9)
    known, time = int(cluster.state[8]), int(cluster.state[0])
    unfinished = cluster.end < 0
    unfinished[: min(running(cluster).min(), waiting(cluster).min(), 20)] = False
    ran = np.where((cluster.start >= 0) & (cluster.start <= time), time - cluster.start, 0)
    other = rng.integers(np.minimum(ran + 1, trace.jobs.estimate), trace.jobs.estimate + 1)
    size, submit = trace.jobs.size.copy(), trace.jobs.submit.copy()
    size[known:] = rng.integers(1, 8, len(trace) - known)
    submit[known:] += 77
    return bfenv.make_trace(
        submit,
        size,
        np.where(unfinished, other, trace.runtime),
        8,
        estimate=trace.jobs.estimate,
        user=trace.jobs.user,
    )


@pytest.mark.parametrize("steps", [0, 5, 25, 50])
def test_nothing_unknown(steps):
    """With other runtimes of unfinished jobs and other jobs to come, copies are the same bytes."""
    env = opened(crowd(), steps)
    twin = opened(with_other_secrets(env), steps)
    assert (env.trace.runtime != twin.trace.runtime).sum() > 50
    for seed in range(3):
        copies = [sampled_copy(each, seed) for each in (env, twin)]
        known = [
            [each.trace.hash, *(part.tobytes() for part in each.batch._state if part.size)]
            for each in copies
        ]
        assert known[0] == known[1]
        futures = [play(each) for each in copies]
        assert futures[0] == futures[1] and len(futures[0]) > 1


def test_possible():
    """Ended jobs keep their runtimes; others run longer than so far, at most for the estimate."""
    env = opened(crowd())
    cluster, trace = env.cluster, env.trace
    known, time = int(cluster.state[NEXT_JOB]), cluster.state[0]
    ended = cluster.end[:known] >= 0
    run, queue = running(cluster).copy(), waiting(cluster).copy()
    sampled = []
    for seed in range(20):
        runtime = sampled_copy(env, seed).trace.runtime
        assert np.array_equal(runtime[ended], trace.runtime[:known][ended])
        assert (runtime[run] > time - cluster.start[run]).all()
        assert (runtime <= trace.jobs.estimate[:known]).all()
        sampled.append(runtime[np.concatenate([run, queue])])
    assert len({each.tobytes() for each in sampled}) == 20


def test_true_runtimes(monkeypatch):
    """After the last arrival, a copy with the true runtimes is the rest of the episode."""
    trace = crowd(1, 80)
    jobs = trace.jobs
    times = jobs.submit // 50, jobs.size, trace.runtime
    crowded = bfenv.make_trace(*times, 8, estimate=jobs.estimate, user=jobs.user)
    env = env_of(crowded)
    env.reset(seed=1, options={"first_job": 20})
    play(env, 30)
    assert env.cluster.state[NEXT_JOB] == 80 and env.unstarted > 10

    def truth(history, jobs, chosen, known, generator, futures=1):
        return crowded.runtime[chosen][None]

    monkeypatch.setattr("bfenv.knowledge.runtime_sampler.sample_runtimes", truth)
    copied = sampled_copy(env, 0)
    first, future, episode = copied.episode_jobs.start, play(copied), play(env)
    assert [step[:3] for step in future] == [step[:3] for step in episode]
    if first == 20:
        rewards = [[step[3] for step in steps] for steps in (future, episode)]
        assert rewards[0] == pytest.approx(rewards[1], rel=1e-9, abs=1e-12)


def test_original():
    """An environment that has been copied, and its generator, go on like a twin that has not."""
    env, twin = opened(crowd()), opened(crowd())
    for seed in range(3):
        copied = sampled_copy(env, seed)
        assert copied.trace.name.endswith("a future")
        play(copied, 8 * seed)
        copied.reset()
    assert play(env) == play(twin)
    assert env.reset()[1]["now"] == twin.reset()[1]["now"]


def test_metrics():
    """The metrics are those of its schedule, and rewards from the decision on add up to them."""
    env = opened(crowd())
    oldest = int(waiting(env.cluster)[0])
    copied = sampled_copy(env, 4)
    before = float(copied.batch._state.sums[0, LAST_SLOWDOWN])
    seen = play(copied)
    jobs = np.array(copied.episode_jobs)
    assert jobs[0] == min(40, oldest)
    wait = copied.cluster.start[jobs] - copied.trace.jobs.submit[jobs]
    assert (wait >= 0).all()
    slowdown = bounded_slowdown(wait, copied.trace.runtime[jobs])
    metrics = seen[-1][-1]
    assert metrics["mean_bounded_slowdown"] == pytest.approx(slowdown.mean(), rel=1e-12)
    assert metrics["longest_wait"] == wait.max()
    rewards = sum(step[3] for step in seen)
    assert slowdown.sum() == pytest.approx(before - rewards * len(jobs), rel=1e-9)


def test_overdue():
    """A copy begins with the charges of the jobs that wait, and gives them back as they start."""
    totals = {}
    for reward in ("penalized_shaped", "penalized_product"):
        copied = sampled_copy(opened(crowd(), 40, reward=reward), 4)
        jobs, usual = copied.trace.jobs, max(3_600, copied.batch._reference_totals[0, 1])
        overdue = [
            max(0, (int(copied.cluster.state[0]) - jobs.submit[job]) / usual - 0.5) ** 2
            for job in waiting(copied.cluster).tolist()
            if job in copied.episode_jobs
        ]
        totals[reward] = sum(step[3] for step in play(copied))
    assert sum(overdue) > 0
    charges = totals["penalized_shaped"] - totals["penalized_product"]
    assert charges == pytest.approx(0.1 * sum(overdue), rel=1e-9)


def test_longest_wait_of_the_reference():
    """No total of the last decision rests on EASY's longest wait with the true runtimes."""
    totals = []
    for late in (300, 600):
        runtime = np.repeat([300, late], [200, 100])
        trace = bfenv.make_trace(np.arange(300) * 140, [4] * 300, runtime, 8, estimate=[600] * 300)
        env = BackfillEnv(trace, split="all", warmup_jobs=0, episode_jobs=290, window=64)
        _, info = env.reset(options={"first_job": 0})
        while info["now"] < 20_000:
            _, _, _, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
        totals.append(sampled_copy(env, 0).batch.totals.before_overdue)
    assert totals[0] == totals[1]


def test_copies_of_copies():
    """A copy of a copy knows what has ended in that, and a reset plays the same jobs again."""
    copied = sampled_copy(opened(crowd()), 0)
    play(copied, 3)
    ended, runtime = copied.cluster.end[: len(copied.trace)] >= 0, copied.trace.runtime
    again = sampled_copy(copied, 1)
    assert np.array_equal(again.trace.runtime[ended], runtime[ended])
    assert (again.trace.runtime != runtime).any()
    again.reset(seed=0)
    assert again.episode_jobs.stop == len(again.trace) and play(again)


@pytest.mark.parametrize(
    "settings",
    [
        {"reward": "log_ratio"},
        {"reservations": "chosen", "idle": "allowed"},
        {"reservations": 0, "window_order": "saf", "window": 3},
        {"idle": "every_pass", "job_features": ["users"]},
        {"max_episode_steps": 60},
    ],
)
def test_settings(settings):
    """Under every rule it shows what the environment shows, and ends with metrics."""
    env = opened(crowd(2), 20, **settings)
    copied = sampled_copy(env, 0)
    assert np.array_equal(copied.action_masks(), env.action_masks())
    assert np.array_equal(copied.slots, env.slots)
    assert copied.observation_space == env.observation_space
    seen = play(copied, 2000)
    assert seen[-1][-1]["mean_bounded_slowdown"] > 0
    assert all(np.isfinite(step[3]) for step in seen)


def test_users():
    """It knows of each user what the environment knows."""
    env = opened(crowd(2), 20, job_features=["users"])
    copied = sampled_copy(env, 0)
    for name in ("user_ended", "user_sums", "user_recent"):
        before, after = (getattr(each.batch._state, name) for each in (env, copied))
        assert np.array_equal(before, after)
    assert (copied.batch._state.user_ended > 0).any()


def test_several_traces():
    """A copy has the one trace that its environment is in, whichever of several that is."""
    env = BackfillEnv(**SHORT)
    for k in (0, 4):
        env.reset(seed=0, options={"trace": k})
        play(env, 5)
        copied = sampled_copy(env, 0)
        assert copied.trace.name == f"{env.trace.name}, a future"
        assert np.array_equal(copied.action_masks(), env.action_masks())
        assert play(copied)[-1][-1]["mean_bounded_slowdown"] >= 1


def test_pickle():
    """A copy can be pickled, and goes on as it was."""
    copied = sampled_copy(opened(crowd()), 0)
    again = pickle.loads(pickle.dumps(copied))
    assert play(again) == play(copied)


def test_foresight():
    """A copy with foresight goes on with the true runtimes, exactly as the environment will."""
    env = opened(crowd())
    copied = env.copy_with_foresight()
    assert play(copied) == play(env)


def test_refused():
    """Without an episode that goes on there is no copy, nor of anything else."""
    env = env_of(crowd())
    with pytest.raises(ResetNeeded, match="an episode that is not over"):
        sampled_copy(env, 0)
    env.reset(seed=0)
    with pytest.raises(bfenv.BfenvError, match="seed must be an integer >= 0"):
        sampled_copy(env, -1)
    play(env)
    with pytest.raises(ResetNeeded, match="an episode that is not over"):
        sampled_copy(env, 0)
    for other in (3, BackfillVectorEnv(2, crowd(), split="all", **SHORT)):
        with pytest.raises(bfenv.BfenvError, match="expected a BackfillEnv"):
            sampled_copy(other, 0)
