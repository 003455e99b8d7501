"""Trial starts as actions: what is legal, what is counted, and policies that make them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.core.cluster import expected_ends, now, running, waiting
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.features import QUEUE, TRIAL
from tests.conftest import small_traces
from tests.envs.playing import play, whole


def test_by_hand():
    """A trial of 2 s: job 0 is killed and ends later, job 1 ends on trial."""
    trace = bfenv.make_trace([0, 0], [1, 1], [5, 1], 1, estimate=[6, 6])
    env = whole(trace, window=2, trial_limit=2)
    assert env.action_space.n == 5
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 1, 1, 1]
    observation, reward, done, _, info = env.step(3)  # try job 0 from 0 to 2
    assert info["now"] == 2 and not done
    assert waiting(env.cluster).tolist() == [0, 1]
    assert info["action_mask"].tolist() == [1, 1, 1, 0, 1]  # once only
    tried = observation["queue"][:, [len(QUEUE), len(QUEUE) + 1]]
    assert [feature.name for feature in TRIAL] == ["tried", "trial_legal"]
    assert tried.tolist() == [[1, 0], [0, 1]]
    rewards = [reward]
    _, reward, done, _, info = env.step(4)  # try job 1 from 2 to 3, where it ends
    rewards.append(reward)
    assert info["now"] == 3 and env.unstarted == 1 and not done
    _, reward, done, _, info = env.step(0)
    rewards.append(reward)
    assert done and info["metrics"]["mean_wait"] == (3 + 2) / 2
    assert info["metrics"]["longest_wait"] == 3
    assert info["metrics"]["charged_jobs"] == 0
    assert sum(rewards) == pytest.approx(-info["metrics"]["mean_bounded_slowdown"])


@given(
    small_traces(jobs=8, requested_starts=True),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["all", 0, 1, 2, 3]),
    st.sampled_from(["never", "allowed"]),
)
@settings(max_examples=150)
def test_random(trace, seed, depth, idle):
    """With any legal actions, metrics and rewards are those of the final starts."""
    env = whole(trace, reservations=depth, idle=idle, trial_limit=2)
    generator = np.random.default_rng(seed)
    _, info = env.reset(seed=0)
    rewards, done = [], False
    while not done:
        action = generator.choice(np.flatnonzero(info["action_mask"]))
        _, reward, done, _, info = env.step(action)
        rewards.append(reward)
    wait = env.cluster.start - trace.jobs.submit
    assert info["metrics"]["mean_wait"] == pytest.approx(wait.mean())
    assert info["metrics"]["longest_wait"] == wait.max()
    slowdown = bounded_slowdown(wait, trace.runtime).mean()
    assert info["metrics"]["mean_bounded_slowdown"] == pytest.approx(slowdown)
    assert sum(rewards) == pytest.approx(-slowdown)


@given(small_traces(jobs=8, requested_starts=True), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_guard(trace, seed):
    """Behind the head, a trial is legal if it is over by the shadow time or within the extra."""
    env = whole(trace, reservations=1, trial_limit=2)
    generator = np.random.default_rng(seed)
    _, info = env.reset(seed=0)
    done = False
    while not done:
        cluster, line = env.cluster, waiting(env.cluster).tolist()
        trials = info["action_mask"][env.window + 1 :]
        for slot, job in enumerate(line):
            legal = slot > 0 and may_try(trace, cluster, job) and beside(trace, cluster, line, job)
            assert trials[slot] == legal
        assert not trials[len(line) :].any()
        if info["action_mask"][: env.window].any():  # a trial does not make the pass illegal
            assert not (info["action_mask"][0] and info["action_mask"][env.window])
        else:
            assert info["action_mask"][env.window]
        action = generator.choice(np.flatnonzero(info["action_mask"]))
        _, _, done, _, info = env.step(action)


def may_try(trace, cluster, job):
    """Whether a trial of 2 s may begin now, if nothing has a reservation."""
    free = trace.processors - int(trace.jobs.size[running(cluster)].sum())
    untried = cluster.trial_start[job] < 0 and trace.jobs.estimate[job] > 2
    may_start = trace.jobs.requested_start[job] <= now(cluster)
    return bool(untried and may_start and trace.jobs.size[job] <= free)


def beside(trace, cluster, line, job):
    """Whether the head's start, by estimates, stays where it is beside a trial of 2 s."""
    ends = list(zip(expected_ends(cluster), trace.jobs.size[running(cluster)], strict=True))
    trial = (now(cluster) + 2, trace.jobs.size[job])
    return head_start(trace, cluster, line[0], ends) == head_start(
        trace, cluster, line[0], [*ends, trial]
    )


def head_start(trace, cluster, head, ends):
    earliest = max(now(cluster), trace.jobs.requested_start[head])
    for time in sorted({earliest, *(end for end, _ in ends if end > earliest)}):
        busy = sum(size for end, size in ends if end > time)
        if trace.processors - busy >= trace.jobs.size[head]:
            return time
    raise AssertionError("the machine is too small")


def test_truncation():
    """A job on trial is charged as one that has not started."""
    trace = bfenv.make_trace([0, 0], [1, 1], [5, 5], 1, estimate=[6, 6])
    env = whole(trace, window=2, trial_limit=2, max_episode_steps=1, idle="every_pass")
    env.reset(seed=0)
    _, _, done, truncated, info = env.step(3)
    assert truncated and not done
    assert info["metrics"]["charged_jobs"] == 2
    # At 2 s both wait: 2 x (6 + 6) / 1 + 6 s later they would have started.
    assert info["now"] == 2
    assert info["metrics"]["mean_wait"] == 2 + 24 + 6


def test_policy_without_actions():
    """A policy that tries jobs needs an environment with trials of its length."""
    trace = bfenv.make_trace([0], [1], [9], 1, estimate=[99])
    policy = "easy-speculative(speculation=5, tried_above=5)"
    with pytest.raises(bfenv.PolicyError, match="trial_limit"):
        PolicyAgent(policy, whole(trace, idle="every_pass"))
    env = whole(trace, idle="every_pass", trial_limit=7)
    with pytest.raises(bfenv.PolicyError, match="for a trial of 5 s"):
        play(env, PolicyAgent(policy, env))


TRIALS = {"trial_limit": "2s above 2s"}


def test_first_trials_by_hand():
    """Job 0 starts for 2 s and waits again; job 1 ends on trial, job 2 has no trial."""
    trace = bfenv.make_trace([0, 0, 0], [1, 1, 1], [5, 1, 2], 1, estimate=[6, 6, 2])
    env = whole(trace, window=3, **TRIALS)
    assert env.action_space.n == 4 and env.batch.queue_features == (*QUEUE, TRIAL[0])
    env.reset(seed=0)
    observation, *_, info = env.step(0)
    assert info["now"] == 2 and info["action_mask"].tolist() == [1, 1, 1, 1]
    assert observation["queue"][:, len(QUEUE)].tolist() == [1, 0, 0]
    *_, info = env.step(1)
    assert info["now"] == 3 and env.unstarted == 2
    *_, info = env.step(1)
    assert info["now"] == 5 and env.cluster.trial_start[2] == -1
    *_, done, _, info = env.step(0)
    assert done and env.cluster.start.tolist() == [5, 2, 3]
    assert info["metrics"]["mean_wait"] == (5 + 2 + 3) / 3


def test_beside_reservation():
    """A long job may start beside a reservation if its trial is over in time, but once only."""
    trace = bfenv.make_trace([0, 1, 1], [1, 2, 1], [4, 9, 9], 2, estimate=[5, 9, 9])
    env = whole(trace, window=3, reservations=1, idle="never", trial_limit="2s above 5s")
    env.reset(seed=0)
    *_, info = env.step(0)
    assert info["now"] == 1 and info["action_mask"].tolist() == [0, 1, 0, 0]
    *_, info = env.step(1)
    assert info["now"] == 4 and env.cluster.trial_end[2] == 3


@given(small_traces(jobs=10), st.sampled_from(["size", "-expansion"]), st.integers(2, 5))
@settings(max_examples=60)
def test_first_trials_policy(trace, order, above):
    """A policy with such trials replays to the schedule of `simulate`, trials included."""
    policy = f"easy(order='{order}', trial=2, trial_above={above})"
    schedule = bfenv.simulate(trace, policy)
    trials = f"2s above {above}s"
    env = whole(trace, window=10, idle="every_pass", reservations="chosen", trial_limit=trials)
    play(env, PolicyAgent(policy, env))
    cluster, killed = env.cluster, schedule.trial_end >= 0
    assert cluster.start.tolist() == schedule.start.tolist()
    assert cluster.trial_end.tolist() == schedule.trial_end.tolist()
    assert cluster.trial_start[killed].tolist() == schedule.trial_start[killed].tolist()


def test_other_trials():
    """A policy with other trials than those of the environment is refused."""
    trace = bfenv.make_trace([0], [1], [9], 1, estimate=[99])
    env = whole(trace, idle="every_pass", **TRIALS)
    with pytest.raises(bfenv.PolicyError, match="for a trial of 3 s"):
        play(env, PolicyAgent("easy(trial=3, trial_above=3)", env))
    with pytest.raises(bfenv.PolicyError, match="starts job 0"):
        play(env, PolicyAgent("easy", env))
