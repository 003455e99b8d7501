"""Scoring an agent beside policies on the same jobs."""

import pytest

import bfenv
from bfenv.agents import PolicyAgent, evaluate_agent

OPTIONS = {"episode_jobs": 60, "warmup_jobs": 60, "window": 256}


def test_easy():
    """EASY as an agent scores as EASY; the references stand beside it."""
    rows = evaluate_agent(lambda env: PolicyAgent("easy", env), episodes=3, **OPTIONS)
    assert [row.name for row in rows] == ["agent", "random", "easy", "easy-saf"]
    agent, _, easy, _ = rows
    assert agent.mean_bounded_slowdown == pytest.approx(easy.mean_bounded_slowdown)
    assert agent.longest_wait == easy.longest_wait and not agent.starves
    assert (agent.slowdown_ratio, easy.slowdown_ratio) == (pytest.approx(1), 1)


class Passing:
    """Only passes."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return 256, state


def test_passing():
    """An agent that never starts a job is marked: its actions are illegal and it starves jobs."""
    agent, *_ = evaluate_agent(Passing(), episodes=1, **OPTIONS)
    assert agent.starves and agent.illegal_actions > 0 and agent.slowdown_ratio > 1


def test_random_does_not_starve():
    """At the defaults random actions do not beat EASY by starving jobs."""
    _, random, *_ = evaluate_agent(Passing(), episodes=2, episode_jobs=256)
    assert not random.starves


def test_errors():
    """A wrong number of episodes is named."""
    with pytest.raises(bfenv.BfenvError, match="episodes .*0"):
        evaluate_agent(Passing(), episodes=0)
