"""Rows of competitors on episodes: agents act in the environment, policies are simulated."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bfenv.agents.agent_policy import AgentCompetitor
from bfenv.analysis.comparison import starves
from bfenv.analysis.formatting import percent
from bfenv.baselines.registry import find_policy
from bfenv.core.competitor import Competitor
from bfenv.core.policy import CLAIRVOYANT, Watch, check_plans_for, division_of
from bfenv.core.schedule import penalized
from bfenv.evaluation.cases import Episodes, Waits
from bfenv.evaluation.row import Row, new_row

RANDOM = "random"  # name of the agent that learns nothing
DEFAULT = "Backfill-v0"  # name of the default workload
STARVING_EPISODES = "starving_episodes"  # name of a metric
MANY_OUTSIDE = 0.05  # share of decisions with jobs outside the window that reports mention


def score_episodes(competitor: Competitor, case: Episodes, watch: Watch) -> Row:
    """Return the row of a competitor on episodes.

    * `competitor`: a policy or an agent.
    * `case`: the episodes.
    * `watch`: is called once, with a function that returns the fraction that is done.

    The metrics are means over the episodes of the means over their jobs, "p95_wait" and "max_wait"
    of all jobs, "relative_slowdown" and "longest_wait_ratio" the mean bounded slowdown and the
    longest wait over the reference's, "penalized_slowdown" the geometric mean of the episodes' own,
    "mean_reward" and "reward_deviation" mean and standard deviation of the sum of the rewards
    "penalized", "starving_episodes" the number of episodes with a longest wait over STARVES times
    the reference's; of agents, also "decisions", the share "outside_window" of them at which jobs
    waited outside the window, "replaced_actions", which the rules of the environment or the legal
    choice of a model replaced, and "illegal_actions", which counted as the pass.

    Raises BfenvError if an agent was trained on jobs of the episodes, or the competitor fails.
    """
    row = row_of_episodes(competitor, case)
    if isinstance(competitor, AgentCompetitor):
        for trace, bounds in zip(case.traces, case.bounds, strict=True):
            competitor.opened.check_unseen(trace, *bounds)
        seeds, options = zip(*case.resets, strict=True)
        totals = competitor.play_episodes(case.workload, case.env_settings, seeds, options, watch)
        episodes = [case.waits_of(k, start) for k, start in enumerate(totals.starts)]
        row = _scored(row, episodes, case.reference_waits)
        notes = {
            "decisions": totals.decisions,
            "outside_window": totals.outside_window / totals.decisions,
            "replaced_actions": totals.replaced_actions,
            "illegal_actions": totals.illegal_actions,
        }
        return replace(row, metrics={**row.metrics, **notes})
    policy = find_policy(competitor)
    for trace in case.traces:
        check_plans_for(policy, trace)
    episodes = []
    watch(lambda: len(episodes) / len(case.windows))
    for k in range(len(case.windows)):
        episodes.append(case.policy_waits(policy, k))
    return _scored(row, episodes, case.reference_waits)


def row_of_episodes(competitor: Competitor, case: Episodes) -> Row:
    """Return the row of a competitor on episodes, without metrics."""
    divisions = {division_of(competitor.trials, trace) for trace in case.traces}
    first, names = case.traces[0], dict.fromkeys(trace.name for trace in case.traces)
    return new_row(
        first,
        policy=competitor.name,
        kind=competitor.kind,
        workload=DEFAULT if case.workload is None else ", ".join(names),
        source=case.workload if isinstance(case.workload, str) else first.name,
        jobs=case.jobs,
        offered_load=None,
        seed=case.seed,
        division=min(divisions - {CLAIRVOYANT}, default=CLAIRVOYANT),  # only if all traces are
    )


def is_random(name: str) -> bool:
    """Tell whether an agent takes random actions: RANDOM, with or without settings behind it."""
    return name.partition(":")[0].partition("(")[0] == RANDOM


def outside_note(name: str, share: float) -> str:
    """Say at which share of an agent's decisions jobs waited outside the window."""
    return f"{name}: at {percent(share)} of its decisions jobs waited outside the window"


def _scored(row: Row, episodes: Sequence[Waits], easy: Sequence[Waits]) -> Row:
    """Add metrics to a row."""
    slowdown, slowdown_easy = (
        float(np.mean([episode.bounded_slowdown.mean() for episode in runs]))
        for runs in (episodes, easy)
    )
    waits = np.concatenate([episode.wait for episode in episodes])
    longest, longest_easy = (
        float(max(episode.wait.max() for episode in runs)) for runs in (episodes, easy)
    )
    measures = [
        penalized(
            episode.bounded_slowdown.mean() / usual.bounded_slowdown.mean(),
            episode.wait.max(),
            usual.wait.max(),
        )
        for episode, usual in zip(episodes, easy, strict=True)
    ]
    rewards = -np.sqrt(measures)
    metrics = {
        "mean_bounded_slowdown": slowdown,
        "mean_wait": float(np.mean([episode.wait.mean() for episode in episodes])),
        "p95_wait": float(np.percentile(waits, 95)),
        "max_wait": longest,
        "relative_slowdown": slowdown / slowdown_easy,
        "longest_wait_ratio": longest / max(longest_easy, 1.0),
        "penalized_slowdown": float(np.exp(np.mean(np.log(measures)))),
        "mean_reward": float(np.mean(rewards)),
        "reward_deviation": float(np.std(rewards)),
        STARVING_EPISODES: sum(
            bool(starves(episode.wait.max(), usual.wait.max()))
            for episode, usual in zip(episodes, easy, strict=True)
        ),
    }
    return replace(row, metrics=metrics)
