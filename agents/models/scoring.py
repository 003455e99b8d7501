"""Scores of an agent: how it does on jobs that it has not seen, over how EASY does on them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bfenv.agents.models.cards import Card
from bfenv.agents.models.training import check_unseen
from bfenv.agents.search.cases import Case
from bfenv.agents.search.objective import Outcome, score_policies
from bfenv.analysis.comparison import STARVES
from bfenv.core.durations import MINUTE
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range

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

    Parameters
    ----------
    card
        The agent's.
    workloads, loads, split
        What to score it on; a load of None is the workload's own.
    shakes
        Copies of each, with submit times up to SHAKE earlier or later.
    done
        Called with the number of workloads and loads done, and of all.
    **workers
        Where to run, see `bfenv.parallel.run_tasks`.

    Returns
    -------
    list[dict]
        For each workload and load: `slowdown_ratio`, the median over the copies of the mean bounded
        slowdown over EASY's, from `lowest` to `highest`; `wait_ratio`, the median of the longest
        wait over EASY's, at most `highest_wait_ratio`.

    Raises
    ------
    PolicyError
        If the agent was trained on some of the jobs.
    BfenvError
        If a workload cannot be loaded.
    """
    pairs = [(workload, load) for workload in workloads for load in loads]
    for workload in workloads:
        check_unseen(card, workload, load_workload(workload, split=split))
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


def geometric_means(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the geometric mean of the slowdown ratios at each load, by "own" or the load."""
    by_load: dict[str, list[float]] = {}
    for score in scores:
        load = "own" if score["load"] is None else f"{score['load']:g}"
        by_load.setdefault(load, []).append(float(score["slowdown_ratio"]))
    return {load: float(np.exp(np.mean(np.log(ratios)))) for load, ratios in by_load.items()}
