"""Scores of an agent: how it does on jobs that it has not seen, over how EASY does on them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bfenv.agents.card import SHIPPED, Card
from bfenv.agents.seen_jobs import check_unseen
from bfenv.analysis.comparison import starves
from bfenv.core.durations import MINUTE
from bfenv.core.errors import PolicyError
from bfenv.evaluation import Row, evaluate
from bfenv.evaluation.cases import Case as TraceCase
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range
from bfenv_lab.search.cases import Case
from bfenv_lab.search.objective import Outcome, outcome_over_easy

SHAKES = 5
SHAKE = 5 * MINUTE  # seconds


def score_card(
    card: Card,
    workloads: Sequence[str],
    loads: Sequence[float | None] = (None, 0.9),
    *,
    split: str = "test",
    shakes: int = SHAKES,
    done: Callable[[dict[str, Any]], None] = lambda score: None,
    **workers: Any,
) -> list[dict[str, Any]]:
    """Score the policy of a card on shaken copies of workloads, each from an empty machine.

    * `card`: the agent's.
    * `workloads`, `loads`, `split`: what to score it on; a load of None is the workload's own.
    * `shakes`: copies of each, with submit times up to SHAKE earlier or later.
    * `done`: called with each score.
    * `workers`: where to run, see `bfenv.parallel.run_tasks`.

    Returns for each workload and load: `slowdown_ratio`, the median over the copies of the mean
    bounded slowdown over EASY's, from `lowest` to `highest`; `wait_ratio`, the median of the
    longest wait over EASY's, at most `highest_wait_ratio`; `mean_wait` and `easy_mean_wait`, the
    medians of the mean waits in seconds. Raises PolicyError if the agent fails, or was trained on
    some of the jobs. Raises BfenvError if a workload cannot be loaded.
    """
    for workload in workloads:
        trace = load_workload(workload, split=split)
        check_unseen(f"{SHIPPED}{card.name}", card.seen_jobs, trace, source=workload)
    scores = []
    for workload in workloads:
        trace = load_workload(workload)
        begin, end = split_range(trace, split)
        for load in loads:
            copies = [
                Case(workload, split, 0, end - begin, load, SHAKE, seed) for seed in range(shakes)
            ]
            rows = evaluate([card.policy], [TraceCase(case.trace()) for case in copies], **workers)
            outcomes = [_outcome(case, row) for case, row in zip(copies, rows, strict=True)]
            score = {"workload": trace.name, "split": split, "load": load, "jobs": end - begin}
            score |= summary(outcomes)
            scores.append(score)
            done(score)
    return scores


def _outcome(case: Case, row: Row) -> Outcome:
    """Return the outcome of a row; PolicyError if it failed."""
    if not row.ok:
        raise PolicyError(row.failure)
    names = "mean_bounded_slowdown", "max_wait", "mean_wait"
    slowdown, longest, mean = (float(row.metrics[name] or 0.0) for name in names)
    return outcome_over_easy(case, slowdown, longest, mean)


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
        label = f"{score['workload']} at {load}"
        if score["slowdown_ratio"] > 1:
            failures.append(
                f"{label}: {score['slowdown_ratio']:.2f} times EASY's mean bounded slowdown."
            )
        if starves(score["highest_wait_ratio"], 1.0):
            failures.append(
                f"{label}: a longest wait of {score['highest_wait_ratio']:.2f} times EASY's in one "
                f"of {score['copies']} copies, {score['wait_ratio']:.2f} in the median."
            )
    return tuple(failures)
