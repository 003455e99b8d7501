"""Snapshots: they hold what is known only, futures are possible ones, and the way back is exact."""

import ast
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import bfenv
from bfenv.core.cluster import running, waiting
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs import snapshot as module
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
    rules = {"reservations": 1, "guard": None, "reward": "bounded_slowdown", "split": "all"}
    options = rules | SHORT | settings
    return gymnasium.make("Backfill-v0", workload=trace, **options).unwrapped


def play(env, steps=10**6, which=0):
    """Take the first legal action for some steps, or another one; list all that is seen."""
    seen = []
    for _ in range(steps):
        action = np.flatnonzero(env.action_masks())[which]
        observation, reward, over, _, info = env.step(int(action))
        parts = [part.tobytes() for part in observation.values()]
        seen.append((*parts, reward, info["now"], str(info["metrics"])))
        if over:
            break
    return seen


def opened(trace, steps=25, which=0, **settings):
    env = env_of(trace, **settings)
    env.reset(seed=3, options={"first_job": 40})
    play(env, steps, which)
    return env


def bytes_of(snapshot):
    """All that a snapshot holds."""
    return pickle.dumps(
        [[part.tolist() for part in each] for each in (snapshot.jobs, snapshot.history.groups)]
        + [[None if part is None else part.tolist() for part in snapshot.state]]
        + [part.tolist() for part in snapshot.history[1:]]
    )


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
def test_nothing_unknown_is_in_a_snapshot(steps):
    """With other runtimes of unfinished jobs and other jobs to come, snapshot and futures agree."""
    env = opened(crowd(), steps)
    twin = opened(with_other_secrets(env), steps)
    assert (env.trace.runtime != twin.trace.runtime).sum() > 50
    snapshots = [each.snapshot() for each in (env, twin)]
    assert bytes_of(snapshots[0]) == bytes_of(snapshots[1])
    for seed in range(3):
        for each, snapshot in zip((env, twin), snapshots, strict=True):
            each.restore(snapshot, seed)
        futures = [play(each) for each in (env, twin)]
        assert futures[0] == futures[1] and len(futures[0]) > 1


def test_elsewhere():
    """A snapshot, also a pickled one, leads to the same future under the same settings."""
    settings = {"window": 4, "window_order": "-wait / likely_runtime"}
    first, second = (env_of(crowd(), **settings) for _ in range(2))
    for seed, env in enumerate((first, second)):
        env.reset(seed=seed)
        play(env, 20 + seed)
    snapshot = pickle.loads(pickle.dumps(first.snapshot()))
    futures = []
    for env in (first, second):
        env.restore(snapshot, seed=3)
        futures.append(play(env))
    assert futures[0] == futures[1] and len(futures[0]) > 1


def test_futures_are_possible():
    """Ended jobs keep their runtimes; others run longer than so far, at most for the estimate."""
    env = opened(crowd())
    cluster, trace = env.cluster, env.trace
    ended, time = cluster.end >= 0, cluster.state[0]
    run, queue = running(cluster).copy(), waiting(cluster).copy()
    snapshot, sampled = env.snapshot(), []
    for seed in range(20):
        env.restore(snapshot, seed)
        runtime = env.trace.runtime
        assert np.array_equal(runtime[ended], trace.runtime[ended])
        assert (runtime[run] > time - cluster.start[run]).all()
        assert (runtime <= trace.jobs.estimate).all()
        sampled.append(runtime[np.concatenate([run, queue])])
    assert len({each.tobytes() for each in sampled}) == 20
    env.restore(snapshot, 7)
    assert np.array_equal(env.trace.runtime[np.concatenate([run, queue])], sampled[7])


def test_with_the_true_runtimes_it_is_the_episode(monkeypatch):
    """After the last arrival, a future with the true runtimes is the rest of the episode."""
    trace = crowd(1, 80)
    crowded = bfenv.make_trace(
        trace.jobs.submit // 50,
        trace.jobs.size,
        trace.runtime,
        8,
        estimate=trace.jobs.estimate,
        user=trace.jobs.user,
    )
    env = env_of(crowded)
    env.reset(seed=1, options={"first_job": 20})
    play(env, 30)
    assert env.cluster.state[8] == 80 and env.unstarted > 10

    def truth(history, jobs, chosen, known, generator, futures=1):
        return crowded.runtime[chosen][None]

    monkeypatch.setattr(module.rs, "sample_runtimes", truth)
    env.restore(env.snapshot(), 0)
    first, future = env.episode_jobs.start, play(env)
    env.resume()
    episode = play(env)
    assert [each[:3] for each in future] == [each[:3] for each in episode]
    if first == 20:
        assert future == episode


def test_planning_leaves_the_episode_as_it_is():
    """An environment that has planned goes on like its twin that has not."""
    env, twin = opened(crowd()), opened(crowd())
    for seed in range(3):
        env.restore(env.snapshot(), seed)
        assert env.in_future and env.trace.name.endswith("a future")
        play(env, 8 * seed)
    env.resume()
    assert not env.in_future
    assert play(env) == play(twin)


@pytest.mark.parametrize(("trial_limit", "which"), [(None, 0), (200, -1)])
def test_a_future_ends_with_its_metrics(trial_limit, which):
    """The metrics are those of its schedule, and the rewards add up to them; with trials, too."""
    env = opened(crowd(), which=which, trial_limit=trial_limit)
    trials = env.cluster.trial_start[running(env.cluster)] >= 0
    assert trials.any() == (trial_limit is not None)
    oldest = int(waiting(env.cluster)[0])
    env.restore(env.snapshot(), 4)
    before = float(env.batch._state.sums[0, LAST_SLOWDOWN])
    seen = play(env, which=which)
    jobs = np.array(env.episode_jobs)
    assert jobs[0] == min(40, oldest)
    wait = env.cluster.start[jobs] - env.trace.jobs.submit[jobs]
    assert (wait >= 0).all()
    slowdown = bounded_slowdown(wait, env.trace.runtime[jobs])
    metrics = ast.literal_eval(seen[-1][-1])
    assert metrics["mean_bounded_slowdown"] == pytest.approx(slowdown.mean(), rel=1e-12)
    assert metrics["longest_wait"] == wait.max()
    rewards = sum(each[3] for each in seen)
    assert slowdown.sum() == pytest.approx(before - rewards * len(jobs), rel=1e-9)


def test_a_future_has_futures():
    """A snapshot in a future knows what has ended in it; `resume` goes back to the episode."""
    env, twin = opened(crowd()), opened(crowd())
    env.restore(env.snapshot(), 0)
    play(env, 3)
    ended = env.cluster.end >= 0
    runtime = env.trace.runtime
    env.restore(env.snapshot(), 1)
    assert np.array_equal(env.trace.runtime[ended], runtime[ended])
    assert (env.trace.runtime != runtime).any()
    env.resume()
    assert play(env) == play(twin)


def test_reset_leaves_the_future():
    """A reset opens an episode of the workload, not of the future."""
    env, twin = opened(crowd()), opened(crowd())
    env.restore(env.snapshot(), 0)
    first, second = (each.reset(seed=8)[1] for each in (env, twin))
    assert first["now"] == second["now"] and not env.in_future
    assert play(env) == play(twin)


@pytest.mark.parametrize(
    "settings",
    [
        {"reward": "log_ratio"},
        {"reservations": "chosen", "idle": "allowed"},
        {"guard": 0.1, "reservations": 2},
        {"reservations": "all", "window_order": "oldest"},
        {"idle": "every_pass"},
        {"trial_limit": 30},
        {"max_episode_steps": 60},
    ],
)
def test_futures_of_all_settings_end(settings):
    """Under every rule a future ends with metrics, and its rewards are finite."""
    env = opened(crowd(2), 20, **settings)
    observation, info = env.restore(env.snapshot(), 0)
    assert env.observation_space.contains(observation) and info["action_mask"].any()
    seen = play(env, 2000)
    assert "'mean_bounded_slowdown': 0.0" not in seen[-1][-1]
    assert all(np.isfinite(each[3]) for each in seen)


def test_a_copy_has_foresight():
    """A copy goes on with the true runtimes, exactly as the environment will."""
    env = opened(crowd())
    copy = env.copy_with_foresight()
    assert play(copy) == play(env)


def test_wrong_snapshots_are_refused():
    """Without an episode there is no snapshot; one of other jobs or settings is not restored."""
    env = env_of(crowd())
    with pytest.raises(ResetNeeded, match="an episode that is not over"):
        env.snapshot()
    env.reset(seed=0)
    snapshot = env.snapshot()
    play(env)
    with pytest.raises(ResetNeeded, match="an episode that is not over"):
        env.snapshot()
    others = [env_of(crowd(5)), env_of(crowd(), window=17), env_of(crowd(jobs=150))]
    others += [env_of(crowd(), window_order="sjf"), env_of(crowd(), idle="every_pass")]
    others += [env_of(crowd(), idle="allowed")]
    for other in others:
        with pytest.raises(bfenv.BfenvError, match="other workloads or settings"):
            other.restore(snapshot, 0)
    with pytest.raises(bfenv.BfenvError, match="expected a snapshot, got int"):
        env.restore(3, 0)
    with pytest.raises(bfenv.BfenvError, match="seed must be an integer >= 0"):
        env.restore(snapshot, -1)
