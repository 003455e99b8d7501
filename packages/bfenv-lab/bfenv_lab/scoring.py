"""Scores of an agent: how it does on jobs that it has not seen, over how EASY does on them."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from bfenv.agents.card import Card
from bfenv.agents.network_agent import NetworkAgent
from bfenv.agents.player import play_traces
from bfenv.agents.seen_jobs import check_unseen
from bfenv.analysis.comparison import STARVES
from bfenv.core.durations import MINUTE
from bfenv.envs.settings import EnvSettings
from bfenv.envs.vector import BackfillVectorEnv
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range
from bfenv_lab.search.cases import Case
from bfenv_lab.search.objective import Outcome, outcome_over_easy, score_policies

SHAKES = 5
SHAKE = 5 * MINUTE  # seconds


def score_card(
    card: Card,
    workloads: Sequence[str],
    loads: Sequence[float | None] = (None, 0.9),
    *,
    split: str = "test",
    shakes: int = SHAKES,
    done: Callable[[int, int], None] = lambda count, total: None,
    **workers: Any,
) -> list[dict[str, Any]]:
    """Score the policy of a card on shaken copies of workloads.

    * `card`: the agent's.
    * `workloads`, `loads`, `split`: what to score it on; a load of None is the workload's own.
    * `shakes`: copies of each, with submit times up to SHAKE earlier or later.
    * `done`: called with the number of workloads and loads done, and of all.
    * `workers`: where to run, see `bfenv.parallel.run_tasks`.

    Returns for each workload and load: `slowdown_ratio`, the median over the copies of the mean
    bounded slowdown over EASY's, from `lowest` to `highest`; `wait_ratio`, the median of the
    longest wait over EASY's, at most `highest_wait_ratio`; `mean_wait` and `easy_mean_wait`, the
    medians of the mean waits in seconds. Raises PolicyError if the agent was trained on some of the
    jobs. Raises BfenvError if a workload cannot be loaded.
    """
    pairs = [(workload, load) for workload in workloads for load in loads]
    for workload in workloads:
        trace = load_workload(workload, split=split)
        check_unseen(f"agent:{card.name}", card.seen_jobs, trace, source=workload)
    scores = []
    for i, (workload, load) in enumerate(pairs):
        trace = load_workload(workload)
        begin, end = split_range(trace, split)
        cases = [Case(workload, split, 0, end - begin, load, SHAKE, seed) for seed in range(shakes)]
        outcomes = score_policies([card.policy], cases, **workers)[0]
        scores.append(
            {"workload": trace.name, "split": split, "load": load, "jobs": end - begin}
            | summary(outcomes)
        )
        done(i + 1, len(pairs))
    return scores


def score_network(
    agent: NetworkAgent,
    workloads: Sequence[str],
    loads: Sequence[float | None] = (None, 0.9),
    *,
    split: str = "test",
    shakes: int = SHAKES,
    done: Callable[[dict[str, Any]], None] = lambda score: None,
) -> list[dict[str, Any]]:
    """Score a network on shaken copies of workloads, all of which it plays at once.

    It starts each from an empty machine.

    * `agent`: the network.
    * `workloads`, `loads`, `split`, `shakes`: as of `score_card`.
    * `done`: called with each score.

    Returns for each workload and load what `score_card` returns, and `outside_window`, the mean
    share of decisions with jobs outside the window. Raises BfenvError if the network was trained on
    some of the jobs, or a workload cannot be loaded.
    """
    settings = {**agent.settings, "split": "all", "episode_jobs": None, "warmup_jobs": 0}
    scores = []
    for workload in workloads:
        trace = load_workload(workload)
        begin, end = split_range(trace, split)
        check_unseen(agent.card.name, agent.trained_on, trace, begin, end)
        cases = [
            Case(workload, split, 0, end - begin, load, SHAKE, seed)
            for load in loads
            for seed in range(shakes)
        ]
        traces = [case.trace() for case in cases]
        envs = BackfillVectorEnv(len(traces), traces, "disabled", **cast(EnvSettings, settings))
        metrics = play_traces(
            envs, range(len(traces)), lambda seen, mask: agent.predict(seen, action_masks=mask)[0]
        )
        names = "mean_bounded_slowdown", "longest_wait", "mean_wait"
        outcomes = [
            outcome_over_easy(case, *(own[name] for name in names))
            for case, own in zip(cases, metrics, strict=True)
        ]
        for k, load in enumerate(loads):
            own = slice(k * shakes, (k + 1) * shakes)
            score = {"workload": trace.name, "split": split, "load": load, "jobs": end - begin}
            score |= summary(outcomes[own])
            score["outside_window"] = float(np.mean([m["outside_window"] for m in metrics[own]]))
            scores.append(score)
            done(score)
    return scores


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the medians and the ranges of the outcomes on the copies of a workload."""
    slowdowns = [outcome.slowdown_ratio for outcome in outcomes]
    waits = [outcome.wait_ratio for outcome in outcomes]
    return {
        "copies": len(outcomes),
        "slowdown_ratio": float(np.median(slowdowns)),
        "lowest": min(slowdowns),
        "highest": max(slowdowns),
        "wait_ratio": float(np.median(waits)),
        "highest_wait_ratio": max(waits),
        "mean_wait": float(np.median([outcome.mean_wait for outcome in outcomes])),
        "easy_mean_wait": float(np.median([outcome.easy_mean_wait for outcome in outcomes])),
    }


def find_failures(scores: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Say in sentences where an agent is worse than EASY, or starves jobs."""
    failures = []
    for score in scores:
        load = "its own load" if score["load"] is None else f"load {score['load']:g}"
        where = f"{score['workload']} at {load}"
        if score["slowdown_ratio"] > 1:
            failures.append(
                f"{where}: {score['slowdown_ratio']:.2f} times EASY's mean bounded slowdown."
            )
        if score["highest_wait_ratio"] > STARVES:
            failures.append(
                f"{where}: a longest wait of {score['highest_wait_ratio']:.2f} times EASY's in one "
                f"of {score['copies']} copies, {score['wait_ratio']:.2f} in the median."
            )
    return tuple(failures)
