"""Scoring an agent beside policies on the same jobs."""

import numpy as np
import pytest

import bfenv
from bfenv.agents import PolicyAgent, RandomAgent, open_agent, span_of
from bfenv.agents.agent_policy import AgentCompetitor
from bfenv.analysis.comparison import STARVES
from bfenv.envs.backfill import BackfillEnv
from bfenv.evaluation.agent_scores import best_policies, best_without_starving, evaluate_agent
from bfenv.evaluation.cases import Episodes
from bfenv.evaluation.episodes import score_episodes
from bfenv.evaluation.summary import starving
from tests.agents.acting import play_whole

pytestmark = pytest.mark.usefixtures("compiled_environments")

OPTIONS = {"episode_jobs": 60, "warmup_jobs": 60, "window": 256}
TRACE = bfenv.load_workload("lublin:procs=32,jobs=300,load=0.9,seed=3")
WHOLE = {"episode_jobs": None, "warmup_jobs": 0, "split": "all"}


def by_name(rows):
    return {row.policy: row for row in rows}


def test_easy():
    """EASY as an agent scores as EASY; the references stand beside it."""
    rows = evaluate_agent(lambda env: PolicyAgent("easy", env), TRACE, episodes=3, **OPTIONS)
    assert [row.policy for row in rows][:4] == ["agent", "random", "easy", "conservative"]
    agent, _, easy, *_ = rows
    assert {name: agent.metrics[name] for name in easy.metrics} == easy.metrics
    assert easy.metrics["relative_slowdown"] == easy.metrics["longest_wait_ratio"] == 1
    assert agent.metrics["decisions"] > 0 and "decisions" not in easy.metrics
    assert agent.jobs == 180 and "agent" not in starving(rows)
    assert easy.metrics["mean_reward"] == -1 and easy.metrics["reward_deviation"] == 0


def test_reward():
    """The mean reward and its deviation are those of the sums of the reward "penalized"."""
    row = evaluate_agent("random", TRACE, episodes=3, references=[], **OPTIONS)[0]
    env, sums = BackfillEnv(TRACE, split="test", reward="penalized", **OPTIONS), [0.0] * 3
    for seed in range(3):
        observation, over, agent = env.reset(seed=seed)[0], False, RandomAgent(env, seed)
        while not over:
            observation, reward, over, *_ = env.step(agent.predict(observation)[0])
            sums[seed] += reward
    assert row.metrics["mean_reward"] == pytest.approx(np.mean(sums), abs=1e-9)
    assert row.metrics["reward_deviation"] == pytest.approx(np.std(sums), abs=1e-9)


def test_share():
    """The fraction of started jobs can be read at any time, from the first second to the end."""
    watched, shares = [], []

    def make(env, seed):
        shares.extend(share() for share in watched)
        return RandomAgent(env, seed)

    evaluate_agent(make, TRACE, episodes=2, watch=watched.append, references=["easy"], **OPTIONS)
    assert shares[0] == 0 and shares == sorted(shares) and watched[0]() == 1


def test_share_at_once():
    """It never falls, although episodes that are over are played again until all are."""
    opened, watched, shares = open_agent("agent:network"), [], []

    def make(env, seed):
        agent = opened.make(env, seed)
        predict = agent.predict

        def watched_predict(*args, **options):
            shares.append(watched[0]())
            return predict(*args, **options)

        agent.predict = watched_predict
        return agent

    case = Episodes(
        TRACE, 3, 5, {"split": "test", **OPTIONS} | {"window": opened.settings["window"]}
    )
    score_episodes(AgentCompetitor(opened._replace(make=make)), case, watched.append)
    assert shares[0] == 0 < shares[-1] and shares == sorted(shares)


def test_at_once():
    """A network that plays all episodes at once has the rows that it has one by one."""
    agent = open_agent("agent:network")
    assert agent.batched
    case = Episodes(
        TRACE, 3, 5, {"split": "test", **OPTIONS} | {"window": agent.settings["window"]}
    )
    rows = [
        score_episodes(AgentCompetitor(opened), case, lambda share: None)
        for opened in (agent, agent._replace(batched=False))
    ]
    assert rows[0].metrics == rows[1].metrics and rows[0].metrics["decisions"] > 10


@pytest.mark.parametrize("name", ["easy", "conservative", "easy(order=saf)", "easy-aged-random"])
def test_policy_as_agent(name):
    """Under the free rules a policy as an agent scores as the policy, and nothing is replaced."""
    free = {"reservations": 0, "idle": "every_pass"}
    rows = by_name(
        evaluate_agent(name, TRACE, references=["easy", name], **free, **WHOLE, window=256)
    )
    agent, policy = rows[f"{name} (agent)"], rows[name]
    assert {metric: agent.metrics[metric] for metric in policy.metrics} == policy.metrics
    assert agent.metrics["replaced_actions"] == 0 and agent.metrics["decisions"] > 0


@pytest.mark.parametrize("policy", ["easy", "easy-saf", "easy(order=size * estimate)"])
def test_references(policy):
    """From an empty machine a reference's row has the metrics of its schedule."""
    rows = evaluate_agent("random", TRACE, references=["easy", policy], window=8, **WHOLE)
    expected = bfenv.simulate(TRACE, policy)
    metrics = bfenv.analysis.metrics(expected)
    row = by_name(rows)[policy]
    shared = ("mean_bounded_slowdown", "mean_wait", "p95_wait", "max_wait")
    assert {name: row.metrics[name] for name in shared} == {name: metrics[name] for name in shared}


def test_best():
    """The best row is the policy of the lowest penalized slowdown; a mark says who starves jobs.

    The best without starving is the best of the others.
    """
    rows = evaluate_agent("random", TRACE, references=["fcfs", "easy", "easy-saf"], **WHOLE)
    schedules = {name: bfenv.simulate(TRACE, name) for name in ("fcfs", "easy", "easy-saf")}
    easy = schedules["easy"]
    measures = {
        name: bfenv.analysis.penalized_slowdown(schedule, easy)
        for name, schedule in schedules.items()
    }
    assert {row.policy: row.metrics["penalized_slowdown"] for row in rows[1:]} == pytest.approx(
        measures
    )
    assert best_policies(rows)[0].policy == min(measures, key=measures.get)
    longest = {name: schedule.wait.max() for name, schedule in schedules.items()}
    beyond = {name for name in longest if longest[name] > STARVES * longest["easy"]}
    assert starving(rows[1:]) == beyond
    assert {row.policy for row in rows if row.metrics["starving_episodes"]} == beyond
    fair = min(measures.keys() - beyond, key=measures.get)
    assert best_without_starving(rows).policy == fair
    assert best_without_starving([row for row in rows if row.policy != "easy"]) is None


@pytest.mark.parametrize("name", ["random:window=8", "random:window=8,reservations=0"])
def test_agrees_with_leaderboard(name):
    """On a whole trace an agent has the metrics of its leaderboard row, to the last bit."""
    row, *_ = evaluate_agent(name, TRACE, seed=5, references=[], **WHOLE)
    schedule, played = play_whole(TRACE, name, 5)
    metrics = bfenv.analysis.metrics(schedule)
    for name in ("mean_bounded_slowdown", "mean_wait", "max_wait"):
        assert row.metrics[name] == metrics[name]
    assert {name: row.metrics[name] for name in played.notes} == played.notes
    assert row.metrics["outside_window"] > 0


def test_every_trace_once():
    """A long episode is played of every trace: all jobs of the split after the warm-up."""
    traces = [TRACE, TRACE[:200]]
    seen = []

    class Recorder(RandomAgent):
        def __init__(self, env, seed):
            super().__init__(env, seed)
            self.env = env

        def predict(self, *args, **others):
            seen.append((self.env.trace, len(self.env.episode_jobs)))
            return super().predict(*args, **others)

    options = {"episode_jobs": None, "warmup_jobs": 10, "split": "all"}
    evaluate_agent(Recorder, traces, references=[], **options)
    assert set(seen) == {(traces[0], 290), (traces[1], 190)}


class Passing:
    """Only passes; deterministic."""

    stochastic = False

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return 256, state


def test_passing():
    """An agent that never starts a job is marked: its actions are illegal and it starves jobs."""
    rows = evaluate_agent(Passing(), TRACE, episodes=1, references=["easy"], **OPTIONS)
    agent = rows[0]
    assert "agent" in starving(rows) and agent.metrics["illegal_actions"] > 0
    assert agent.metrics["relative_slowdown"] > 1


class Mixed:
    """Takes the first legal action, or the last if asked to sample."""

    def predict(
        self, observation, state=None, episode_start=None, deterministic=False, action_masks=None
    ):
        legal = np.flatnonzero(action_masks)
        return legal[0 if deterministic else -1], state


def test_both_modes():
    """An agent is scored with deterministic and with sampled actions; one mode may be chosen."""
    options = {**OPTIONS, "reservations": 0, "idle": "allowed", "references": []}
    rows = by_name(evaluate_agent(Mixed(), TRACE, episodes=2, **options))
    assert rows["agent"].metrics != rows["agent (sampled)"].metrics
    only = evaluate_agent(Mixed(), TRACE, episodes=2, deterministic=False, **options)
    assert only[0] == rows["agent (sampled)"] and only[1].policy == "random"


def test_seen_jobs():
    """Jobs that the agent was trained on are refused, at another load and from another job on."""

    class Trained(RandomAgent):
        trained_on = (span_of(TRACE, 0, 150),)

    options = {"episodes": 1, "episode_jobs": 20, "warmup_jobs": 10, "split": "all"}
    options["references"] = []
    evaluate_agent(Trained, TRACE[150:], **options)
    for trace in (TRACE[100:], TRACE):
        with pytest.raises(bfenv.BfenvError, match=r"trained on \d+ of the .* jobs"):
            evaluate_agent(Trained, trace, load=0.5, **options)


def test_requested_starts():
    """Policies that do not plan for requested starts are left out."""
    trace = bfenv.load_workload("lublin:procs=32,jobs=200,seed=3,requested_start_share=0.3")
    options = {"episode_jobs": 20, "warmup_jobs": 5, "split": "all", "episodes": 1}
    rows = evaluate_agent("random", trace, references=["easy", "conservative"], **options)
    assert [row.policy for row in rows] == ["random", "conservative"]


@pytest.mark.parametrize(
    ("agent", "options", "named"),
    [
        (Passing(), {"episodes": 0}, "episodes .*0"),
        ("random:window=8", {"window": 16}, "random:window=8 needs window=8, got 16"),
        ("nobody", {}, "'nobody'"),
        ("esay", {}, "did you mean easy"),
        ("random", {"seed": -1}, "seed .*-1"),
        ("random", {"max_episode_steps": 9}, "max_episode_steps must be None.*whole.* 9"),
        ("random", {"references": "easy"}, "references must be a list of policies, got 'easy'"),
    ],
)
def test_errors(agent, options, named):
    """What is wrong is named."""
    with pytest.raises(bfenv.BfenvError, match=named):
        evaluate_agent(agent, **options)
