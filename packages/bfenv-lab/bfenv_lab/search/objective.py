"""The objectives of a search: low slowdowns without starvation, on each of the workloads."""

import math
from collections.abc import Sequence
from contextlib import closing
from functools import lru_cache
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.registry import find_policy, simulate
from bfenv.core.names import parse_name
from bfenv.core.schedule import bounded_slowdown, penalized
from bfenv.envs.warm_up import start_times
from bfenv.parallel.sweep import NamedWorkload, run_tasks
from bfenv_lab.search.cases import Case

OBJECTIVES = ("slowdown", "penalized")  # see `combine`
PENALTY = 2.0  # for each e-fold of the longest wait beyond what is tolerated
CHUNK = 8  # policies per task
# By the objective "slowdown", agents are chosen with a longest wait of at most this multiple of
# EASY's, so that on other jobs it hardly exceeds `bfenv.analysis.comparison.STARVES`, which is 2.
WAIT_MARGIN = 1.8


class Outcome(NamedTuple):
    """How a policy did in a case, over how EASY did."""

    slowdown_ratio: float  # of mean bounded slowdowns
    wait_ratio: float  # of longest waits
    mean_wait: float  # seconds
    easy_mean_wait: float  # seconds
    penalized: float  # the penalized slowdown, by which boards rank


class Score(NamedTuple):
    """How a policy did in several cases."""

    value: float  # the objective, the lower the better
    slowdown_ratio: float  # geometric mean
    wait_ratio: float  # the worst of the medians over shaken copies
    penalized: float  # penalized slowdown, geometric mean


def combine(
    cases: Sequence[Case],
    outcomes: Sequence[Outcome],
    tolerated_wait: float = 1.5,
    objective: str = "slowdown",
) -> Score:
    """Return the score over cases.

    * `cases`: what was run.
    * `outcomes`: the outcome of each.
    * `tolerated_wait`: multiple of EASY's longest wait. Beyond it, there is a penalty of PENALTY
      for each e-fold. Of the objective "slowdown".
    * `objective`: "slowdown": the mean log ratio of slowdowns with that penalty; each case counts
      the same. "penalized": the mean log of penalized slowdowns of each workload; half of the value
      is the mean over workloads, and half is the worst workload. Seeds of a model are one workload.
    """
    copies: dict[Case, list[float]] = {}
    for case, outcome in zip(cases, outcomes, strict=True):
        copies.setdefault(case._replace(seed=0), []).append(outcome.wait_ratio)
    logs = [math.log(outcome.slowdown_ratio) for outcome in outcomes]
    excess = [max(0.0, math.log(outcome.wait_ratio / tolerated_wait)) for outcome in outcomes]
    mean = math.fsum(logs) / len(logs)
    value = mean + PENALTY * math.fsum(excess) / len(excess)
    penalties = [math.log(outcome.penalized) for outcome in outcomes]
    if objective == "penalized":
        by_workload: dict[str, list[float]] = {}
        for case, penalty in zip(cases, penalties, strict=True):
            by_workload.setdefault(without_seed(case.workload), []).append(penalty)
        means = [math.fsum(values) / len(values) for values in by_workload.values()]
        value = (math.fsum(means) / len(means) + max(means)) / 2
    return Score(
        value=value,
        slowdown_ratio=math.exp(mean),
        wait_ratio=max(map(median, copies.values())),
        penalized=math.exp(math.fsum(penalties) / len(penalties)),
    )


@lru_cache(maxsize=1024)
def without_seed(workload: str) -> str:
    """Return a name that all seeds of a model share."""
    name = parse_name(workload)
    options = sorted(f"{key}={value}" for key, value in name.options.items() if key != "seed")
    return ":".join([name.base, *options])


def score_policies(
    policies: Sequence[str], cases: Sequence[Case], **workers: Any
) -> list[list[Outcome]]:
    """Return the outcome of each policy in each case.

    * `policies`: expressions that `find_policy` takes; equal ones are run once.
    * `cases`: the jobs.
    * `workers`: where to run, see `bfenv.parallel.run_tasks`. Outcomes do not depend on it.
    """
    distinct = list(dict.fromkeys(policies))
    chunks = [distinct[i : i + CHUNK] for i in range(0, len(distinct), CHUNK)]
    tasks = [(case, chunk) for case in cases for chunk in chunks]
    outcome_at: dict[tuple[str, Case], Outcome] = {}
    named = dict.fromkeys(case.workload for case in cases)
    logs: list[NamedWorkload] = [(workload, {}) for workload in named]
    first = distinct[:CHUNK]  # compiled before the tasks: policies may need different code
    with closing(
        run_tasks(run_case, tasks, competitors=first, workloads=logs, **workers)
    ) as results:
        for i, outcomes in results:
            case, chunk = tasks[i]
            outcome_at.update(
                ((policy, case), outcome) for policy, outcome in zip(chunk, outcomes, strict=True)
            )
    return [[outcome_at[policy, case] for case in cases] for policy in policies]


def run_case(case: Case, policies: Sequence[str]) -> list[Outcome]:
    """Return the outcome of each policy in a case."""
    return [outcome_over_easy(case, *_measure(case, policy)) for policy in policies]


def outcome_over_easy(case: Case, slowdown: float, longest: float, mean: float) -> Outcome:
    """Return the outcome of a mean bounded slowdown, and of a longest and a mean wait in seconds.

    Longest waits below a second count as a second.
    """
    easy_slowdown, easy_longest, easy_mean = _easy(case)
    ratios = slowdown / easy_slowdown, max(longest, 1.0) / max(easy_longest, 1.0)
    measure = float(penalized(ratios[0], longest, easy_longest))
    return Outcome(*ratios, mean, easy_mean, measure)


@lru_cache(maxsize=1024)
def _easy(case: Case) -> tuple[float, float, float]:
    return _measure(case, "easy")


def _measure(case: Case, policy: str) -> tuple[float, float, float]:
    """Return the mean bounded slowdown, and the longest and the mean wait in seconds."""
    trace, rule = case.trace(), find_policy(policy)
    if case.warmup_jobs:
        window = case.window()
        jobs = slice(window.first, window.last)
        wait = start_times(rule, trace, window) - trace.jobs.submit[jobs]
        slowdown = bounded_slowdown(wait, trace.runtime[jobs])
    else:
        wait = simulate(trace, rule).wait
        slowdown = bounded_slowdown(wait, trace.runtime)
    return float(np.mean(slowdown)), float(wait.max()), float(wait.mean())
