"""Scores of a network: as those of policies, on shaken copies of jobs that it has not seen.

The network plays all copies of a workload at once, each from an empty machine to the last start.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from bfenv.agents.models.scoring import SHAKE, SHAKES, summary
from bfenv.agents.network_agent import NetworkAgent
from bfenv.agents.search.cases import Case
from bfenv.agents.search.objective import Outcome, outcome_over
from bfenv.agents.seen_jobs import count_seen
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.envs.settings import EnvSettings
from bfenv.envs.vector import BackfillVectorEnv
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import split_range


def score_network(
    agent: NetworkAgent,
    workloads: Sequence[str],
    loads: Sequence[float | None] = (None, 0.9),
    *,
    split: str = "test",
    shakes: int = SHAKES,
    done: Callable[[dict[str, Any]], None] = lambda score: None,
) -> list[dict[str, Any]]:
    """Score a network on shaken copies of workloads.

    Parameters
    ----------
    agent
        The network.
    workloads, loads, split, shakes
        As of `bfenv.agents.models.scoring.score_card`.
    done
        Called with each score.

    Returns
    -------
    list[dict]
        For each workload and load what `score_card` returns, and `outside_window`, the mean share
        of decisions with jobs outside the window.

    Raises
    ------
    BfenvError
        If the network was trained on some of the jobs, or a workload cannot be loaded.
    """
    scores = []
    for workload in workloads:
        trace = load_workload(workload)
        begin, end = split_range(trace, split)
        seen = count_seen(trace, begin, end, agent.trained_on)
        if seen:
            raise BfenvError(f"{agent.card.name} was trained on {seen:,} jobs of {trace.name}")
        cases = [
            Case(workload, split, 0, end - begin, load, SHAKE, seed)
            for load in loads
            for seed in range(shakes)
        ]
        metrics = _play([case.trace() for case in cases], agent)
        for k, load in enumerate(loads):
            own = metrics[k * shakes : (k + 1) * shakes]
            score = {"workload": trace.name, "split": split, "load": load, "jobs": end - begin}
            score |= summary([_outcome(each) for each in own])
            score["outside_window"] = float(np.mean([each["outside_window"] for each in own]))
            scores.append(score)
            done(score)
    return scores


def _outcome(metrics: dict[str, float]) -> Outcome:
    return outcome_over(
        metrics["mean_bounded_slowdown"],
        metrics["longest_wait"],
        metrics["reference_bounded_slowdown"],
        metrics["reference_longest_wait"],
    )


def _play(traces: Sequence[Trace], agent: NetworkAgent) -> list[dict[str, float]]:
    """Play each trace once; return the metrics of each."""
    count = len(traces)
    settings = {**agent.settings, "split": "all", "episode_jobs": None, "warmup_jobs": 0}
    settings["reference"] = "easy"
    envs = BackfillVectorEnv(count, list(traces), "disabled", **cast(EnvSettings, settings))
    envs.reset(seed=0)
    for i in range(count):
        only = np.arange(count) == i
        observation, _ = envs.reset(options={"reset_mask": only, "trace": i})
    mask = envs.action_masks()
    found: dict[int, dict[str, float]] = {}
    while len(found) < count:
        actions = mask.argmax(axis=1)
        left = [i for i in range(count) if i not in found and mask[i].sum() > 1]
        if left:
            seen = {name: part[left] for name, part in observation.items()}
            actions[left], _ = agent.predict(seen, action_masks=mask[left])
        observation, _, over, _, infos = envs.step(actions)
        mask = infos["action_mask"].astype(bool)
        ended = np.flatnonzero(over).tolist()
        for i in ended:
            columns = infos["metrics"].items()
            found.setdefault(i, {name: float(own[i]) for name, own in columns if name[0] != "_"})
        if ended:  # they are played again, to no effect, until all are over
            observation, _ = envs.reset(options={"reset_mask": over})
            mask = envs.action_masks()
    return [found[i] for i in range(count)]
