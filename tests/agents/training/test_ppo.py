"""The learner: it finds a known optimum, and its estimates equal a slow version."""

import math

import numpy as np
import pytest
import torch

import bfenv
from bfenv.agents.training import TrainSettings, change, find_settings, ppo
from bfenv.agents.training.actor import Actor
from bfenv.agents.training.episodes import Episodes, make_envs
from bfenv.agents.training.networks import MASKED, best_actions
from bfenv.envs import BackfillVectorEnv

pytestmark = pytest.mark.torch

PROCESSORS = 4
# Five batches of four jobs; each is done before the next arrives, in any order. (size, runtime)
BATCHES = (
    ((4, 90), (1, 20), (1, 30), (2, 10)),
    ((3, 80), (2, 40), (2, 15), (4, 5)),
    ((4, 60), (3, 60), (1, 10), (1, 70)),
    ((2, 100), (3, 20), (2, 30), (4, 40)),
    ((4, 25), (4, 50), (2, 5), (3, 10)),
)
GAP = 1_000


def toy():
    """The 20 jobs as a trace with exact estimates."""
    jobs = [(k * GAP, *job) for k, batch in enumerate(BATCHES) for job in batch]
    submit, size, runtime = zip(*jobs, strict=True)
    return bfenv.make_trace(submit, size, runtime, PROCESSORS, estimate=runtime)


def least_wait(jobs, running=(), now=0):
    """The least total wait of jobs that have all arrived at 0, over every order of starts."""
    if not jobs:
        return 0
    free = PROCESSORS - sum(size for size, _ in running)
    fitting = [job for job in range(len(jobs)) if jobs[job][0] <= free]
    if not fitting:
        now = min(end for _, end in running)
        return least_wait(jobs, tuple(run for run in running if run[1] > now), now)
    return min(
        now + least_wait(jobs[:k] + jobs[k + 1 :], (*running, (jobs[k][0], now + jobs[k][1])), now)
        for k in fitting
    )


def test_optimum():
    """Twenty jobs are scheduled with the least wait, found by trying everything; EASY's is more."""
    trace = toy()
    best = sum(map(least_wait, BATCHES))
    easy = bfenv.simulate(trace, "easy")
    assert (easy.start - trace.jobs.submit).sum() > 1.2 * best
    settings = TrainSettings(
        num_envs=32,
        num_steps=64,
        minibatches=4,
        learning_rate=1e-2,
        entropy=0.03,
        gae_lambda=0.9,
        horizon=300.0,
        reward_scale=0.1,
    )
    env = {"window": 4, "reservations": 0, "split": "all", "warmup_jobs": 0}
    env |= {"episode_jobs": None, "reward": "wait"}
    envs = BackfillVectorEnv(settings.num_envs, trace, **env)
    episodes = Episodes(envs)
    episodes.reset(0)
    torch.set_num_threads(1)
    learner = ppo.new_learner(settings, envs.batch)
    network = learner.network
    rollout = ppo.new_rollout(settings, episodes)
    judge = BackfillVectorEnv(1, trace, **env)
    for _ in range(100):
        ppo.collect(learner, episodes, rollout)
        ppo.update(learner, rollout, *ppo.advantages(rollout, settings))
        if total_wait(judge, network) == best:
            return
    pytest.fail(f"total wait {total_wait(judge, network)}, the best is {best}")


def total_wait(envs, network):
    """The total wait under the best actions of a network."""
    observation, _ = envs.reset(seed=0)
    over = [False]
    while not over[0]:
        actions = best_actions(network, observation, envs.action_masks())
        observation, _, over, _, infos = envs.step(actions)
    return round(infos["final_info"]["metrics"]["mean_wait"][0] * 20)


def test_advantages():
    """Advantages are those of lists of choices, with what lies between them added up."""
    rng = np.random.default_rng(3)
    steps, envs = 40, 6
    settings = TrainSettings(gamma=0.9, horizon=50.0, gae_lambda=0.8, reward_scale=2.0)

    def numbers(*shape):
        return rng.normal(size=shape).astype(np.float32)

    def coins(p, *shape):
        return rng.random(shape) < p

    empty = np.zeros(0)
    rollout = ppo.Rollout(
        *(empty,) * 5,
        choice=coins(0.6, steps, envs),
        log_prob=empty,
        value=numbers(steps, envs),
        reward=numbers(steps, envs),
        seconds=np.abs(numbers(steps, envs)) * 20,
        over=coins(0.1, steps, envs),
        last_value=numbers(envs),
        last_choice=coins(0.5, envs),
    )
    advantage, target, known = ppo.advantages(rollout, settings)
    expected, is_known = np.zeros((steps, envs)), np.zeros((steps, envs), dtype=bool)
    for env in range(envs):
        for t in range(steps):
            if rollout.choice[t, env]:
                estimate = slow_advantage(rollout, settings, t, env)
                is_known[t, env] = estimate is not None
                expected[t, env] = estimate or 0.0
    assert np.array_equal(known, is_known)
    assert np.allclose(advantage, expected, atol=1e-4)
    assert np.allclose(target, rollout.value + advantage)


def slow_advantage(rollout, settings, t, env):
    """The advantage of a choice by its definition; None if no choice or end follows."""
    total, discount = 0.0, 1.0
    for k in range(t, len(rollout.reward)):
        reward = float(rollout.reward[k, env]) * settings.reward_scale
        seconds = float(rollout.seconds[k, env])
        total += discount * reward
        discount *= math.exp(-seconds / settings.horizon)
        if rollout.over[k, env]:
            return total - float(rollout.value[t, env])
        last = k + 1 == len(rollout.reward)
        choice = rollout.last_choice[env] if last else rollout.choice[k + 1, env]
        if choice:
            value = rollout.last_value[env] if last else rollout.value[k + 1, env]
            following = None if last else slow_advantage(rollout, settings, k + 1, env)
            discount *= settings.gamma
            delta = total + discount * float(value) - float(rollout.value[t, env])
            return delta + settings.gae_lambda * discount * (following or 0.0)
    return None


def test_gradient(monkeypatch):
    """An update goes down the gradient of the loss of the paper, as autograd finds it."""
    settings = change(find_settings("toy"), {"epochs": 1, "minibatches": 1, "entropy": 0.1})
    episodes = Episodes(make_envs(settings))
    episodes.reset(0)
    learner = ppo.new_learner(settings, episodes.envs.batch)
    network = learner.network
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    rollout = ppo.new_rollout(settings, episodes)
    ppo.collect(learner, episodes, rollout)
    rng = np.random.default_rng(0)
    shape = (3, *rollout.choice.shape)
    noise, advantage, target = rng.normal(size=shape).astype(np.float32)
    rollout.log_prob += np.float32(0.3) * noise  # so that some of the ratios are clipped
    found = []
    monkeypatch.setattr(ppo.Adam, "step", lambda _: found.append(gradient_of(network)))
    losses = ppo.update(learner, rollout, advantage, target, rollout.choice)

    def chosen(array):
        return torch.from_numpy(array[rollout.choice])

    scores, value = network(*map(chosen, (rollout.queue, rollout.profile, rollout.cluster)))
    logits = scores.masked_fill(~chosen(rollout.mask), MASKED).log_softmax(dim=1)
    now = logits.gather(1, chosen(rollout.action).unsqueeze(1)).squeeze(1)
    ratio = (now - chosen(rollout.log_prob)).exp()
    clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    assert 0.1 < (ratio != clipped).float().mean() < 0.9
    own = chosen(advantage)
    gain = (own - own.mean()) / own.std()
    policy_loss = -torch.min(gain * ratio, gain * clipped).mean()
    value_loss = (value - chosen(target)).square().mean()
    entropy = -(logits.exp() * logits).sum(dim=1).mean()
    loss = policy_loss - settings.entropy * entropy + settings.value_weight * value_loss
    network.zero_grad(set_to_none=False)
    loss.backward()
    (gradient,), expected = found, gradient_of(network)
    assert torch.allclose(gradient, expected, atol=1e-5 * float(expected.abs().max()))
    expected = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}
    for name, each in expected.items():
        assert losses[name] == pytest.approx(each.item(), rel=1e-4)


def gradient_of(network):
    """The gradients of all weights in one vector."""
    return torch.cat([parameter.grad.flatten() for parameter in network.parameters()])


def test_torch_actor(monkeypatch):
    """An update with autograd, as on a GPU, changes the weights as the packed passes do."""
    settings, found = change(find_settings("toy"), {"num_envs": 4}), []
    for new_actor in (ppo.new_actor, Actor):
        monkeypatch.setattr(ppo, "new_actor", new_actor)
        episodes = Episodes(make_envs(settings))
        episodes.reset(0)
        learner = ppo.new_learner(settings, episodes.envs.batch)
        assert (type(learner.actor) is Actor) == (new_actor is Actor)
        _, losses = ppo.improve(learner, episodes, ppo.new_rollout(settings, episodes), 0, 1)
        found.append((learner.optimizer.weights.clone(), losses))
    (packed, losses), (plain, others) = found
    assert torch.allclose(packed, plain, atol=1e-4)
    assert losses == pytest.approx(others, rel=1e-3, abs=1e-5)
