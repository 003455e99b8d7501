"""The objective of a search: mean log ratio of bounded slowdown to EASY's, without starvation."""

import math
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bfenv.agents.search.cases import Case
from bfenv.baselines.registry import find_policy, simulate
from bfenv.core.jobs import Trace
from bfenv.core.schedule import bounded_slowdown
from bfenv.parallel.sweep import run_tasks

TOLERATED = 1.5  # times EASY's longest wait; beyond, there is a penalty
PENALTY = 2.0  # for each e-fold of the longest wait beyond that
CHUNK = 8  # policies per task


class Outcome(NamedTuple):
    """How a policy did in a case, over how EASY did."""

    slowdown_ratio: float  # of mean bounded slowdowns
    wait_ratio: float  # of longest waits


class Score(NamedTuple):
    """How a policy did in several cases."""

    value: float  # the objective, the lower the better
    slowdown_ratio: float  # geometric mean
    wait_ratio: float  # the worst


def combine(outcomes: Iterable[Outcome]) -> Score:
    """Return the score over cases; each counts the same."""
    listed = list(outcomes)
    logs = [math.log(each.slowdown_ratio) for each in listed]
    excess = [max(0.0, math.log(each.wait_ratio / TOLERATED)) for each in listed]
    mean = math.fsum(logs) / len(logs)
    return Score(
        value=mean + PENALTY * math.fsum(excess) / len(excess),
        slowdown_ratio=math.exp(mean),
        wait_ratio=max(each.wait_ratio for each in listed),
    )


def score_policies(
    policies: Sequence[str], cases: Sequence[Case], **workers: Any
) -> list[list[Outcome]]:
    """Return the outcome of each policy in each case.

    Parameters
    ----------
    policies
        Expressions that `find_policy` takes; equal ones are run once.
    cases
        The jobs.
    **workers
        Where to run, see `bfenv.parallel.run_tasks`. Outcomes do not depend on it.
    """
    distinct = list(dict.fromkeys(policies))
    chunks = [distinct[i : i + CHUNK] for i in range(0, len(distinct), CHUNK)]
    tasks = [(case, chunk) for case in cases for chunk in chunks]
    found: dict[tuple[str, Case], Outcome] = {}
    warm = policies[:1] if policies else ()
    with closing(run_tasks(run_case, tasks, warm=warm, **workers)) as results:
        for i, outcomes in results:
            case, chunk = tasks[i]
            found.update(
                ((policy, case), each) for policy, each in zip(chunk, outcomes, strict=True)
            )
    return [[found[policy, case] for case in cases] for policy in policies]


def run_case(case: Case, policies: Sequence[str]) -> list[Outcome]:
    """Return the outcome of each policy in a case."""
    trace = case.trace()
    slowdown, longest = _easy(case)
    outcomes = []
    for policy in policies:
        found_slowdown, found_longest = _measure(trace, policy)
        outcomes.append(
            Outcome(found_slowdown / slowdown, max(found_longest, 1.0) / max(longest, 1.0))
        )
    return outcomes


@lru_cache(maxsize=1024)
def _easy(case: Case) -> tuple[float, float]:
    return _measure(case.trace(), "easy")


def _measure(trace: Trace, policy: str) -> tuple[float, float]:
    """Return the mean bounded slowdown and the longest wait in seconds."""
    schedule = simulate(trace, find_policy(policy))
    slowdown = bounded_slowdown(schedule.wait, trace.runtime)
    return float(np.mean(slowdown)), float(schedule.wait.max())
