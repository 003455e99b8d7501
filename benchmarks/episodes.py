"""How well episodes tell schedulers apart: log ratios to EASY on the same jobs, with intervals.

All play the same episodes, by the same seeds. Policies act outside the environment, without its
window; a score and random actions act in it.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from bfenv.analysis.comparison import STARVES
from bfenv.baselines.registry import find_policy
from bfenv.core.durations import MINUTE
from bfenv.core.policy import Policy
from bfenv.core.schedule import bounded_slowdown
from bfenv.envs.features import JOB_ESTIMATE, JOB_SIZE, LOG_LONGEST
from bfenv.envs.settings import EnvSettings
from bfenv.envs.vector import BackfillVectorEnv
from bfenv.envs.warm_up import start_times

# Small and short jobs come first; on whole traces of the default workload, no job starves.
BY_AGE = "easy(order='estimate * size ** 1.25 / (1 + (wait / age_limit) ** 3) ** 5', guard=1.3)"
POLICIES = {"easy": "easy", "easy-sjf": "easy-sjf", "area and age": BY_AGE}
RIVALS = ("random", "easy-sjf")  # every scheduler is compared with these
FEW = 10  # episodes that should tell schedulers apart
QUANTILE = 2.262  # of Student's t with FEW - 1 degrees of freedom, for 95 %
SMALLEST = 1e-9  # below any share of a machine
Choose = Callable[[Any, np.ndarray], np.ndarray]  # of observations and masks


class Outcome(NamedTuple):
    """What a scheduler makes of N episodes."""

    name: str
    ratio: np.ndarray  # (N,) log of the mean bounded slowdown over EASY's
    wait: np.ndarray  # (N,) longest wait over EASY's
    seconds: float  # an episode takes

    def row(self, found: "Sequence[Outcome]") -> tuple[str, ...]:
        """Return the cells of a table: its results, and how many episodes tell it from RIVALS."""
        half = 1.96 * self.ratio.std(ddof=1) / math.sqrt(len(self.ratio))
        low, mean, high = np.exp(self.ratio.mean() + half * np.array([-1, 0, 1]))
        rivals = {each.name: each for each in found}
        needed = (
            "" if self.name == name else f"{episodes_to_tell(self.ratio - rivals[name].ratio):.1f}"
            for name in RIVALS
        )
        return (
            self.name,
            f"{mean:.3f}",
            f"{low:.3f} to {high:.3f}",
            *needed,
            f"{np.median(self.wait):.2f}",
            f"{np.mean(self.wait > STARVES):.0%}",
            f"{self.seconds:.3f}",
        )


COLUMNS = (
    "scheduler", "slowdown", "95 %", *(f"from {name}" for name in RIVALS), "wait", "starves",
    "seconds",
)  # fmt: skip


def episodes_to_tell(difference: np.ndarray) -> float:
    """Return how many paired episodes tell two schedulers apart at 95 %, given log ratios."""
    mean = float(difference.mean())
    return math.inf if mean == 0 else (QUANTILE * float(difference.std(ddof=1)) / mean) ** 2


def score_episodes(
    count: int, policies: Sequence[str] = (), **settings: Unpack[EnvSettings]
) -> list[Outcome]:
    """Play the episodes with all schedulers and these policies; return the worst first.

    Raises BfenvError if a policy is unknown.
    """
    chosen = POLICIES | {name: name for name in policies}
    known = {name: find_policy(spec) for name, spec in chosen.items()}
    envs = BackfillVectorEnv(count, **settings)
    generator = np.random.default_rng(0)
    found = [
        _play(envs, "random", lambda seen, mask: (generator.random(mask.shape) * mask).argmax(1)),
        _play(envs, "a score of two weights", _by_score),
        *(_follow(envs, name, policy) for name, policy in known.items()),
    ]
    return sorted(found, key=lambda each: -float(each.ratio.mean()))


def _by_score(seen: Any, mask: np.ndarray) -> np.ndarray:
    """Name the legal job of the lowest log(estimate) + 1.5 log(size)."""
    queue = seen["queue"].astype(np.float64)
    log_size = np.log(np.maximum(queue[:, :, JOB_SIZE], SMALLEST))
    value = queue[:, :, JOB_ESTIMATE] * LOG_LONGEST + 1.5 * log_size
    actions: np.ndarray = np.where(mask[:, :-1], value, np.inf).argmin(axis=1)
    return np.where(mask[:, :-1].any(axis=1), actions, mask.shape[1] - 1)


def _play(envs: BackfillVectorEnv, name: str, choose: Choose) -> Outcome:
    """Play the first episode of every environment."""
    begin = time.perf_counter()
    metrics: dict[int, dict[str, float]] = {}
    seen, infos = envs.reset(seed=0)
    while len(metrics) < envs.num_envs:
        seen, _, over, _, infos = envs.step(choose(seen, infos["action_mask"]))
        for i in np.flatnonzero(over).tolist():
            columns = infos["final_info"]["metrics"]
            metrics.setdefault(i, {key: float(columns[key][i]) for key in KEYS})
    seconds = (time.perf_counter() - begin) / envs.num_envs
    return _outcome(name, [metrics[i] for i in range(envs.num_envs)], seconds)


KEYS = (
    "mean_bounded_slowdown", "longest_wait", "reference_bounded_slowdown", "reference_longest_wait",
)  # fmt: skip


def _follow(envs: BackfillVectorEnv, name: str, policy: Policy) -> Outcome:
    """Simulate a policy on the jobs of the episodes."""
    envs.reset(seed=0)
    metrics, begin = [], time.perf_counter()
    for window, easy in zip(envs.batch.windows, envs.batch._reference_totals, strict=True):
        assert window is not None, "the environments have been reset"
        trace, own = envs.batch.source.traces[window.k], slice(window.first, window.last)
        wait = start_times(policy, trace, window) - trace.jobs.submit[own]
        slowdown = bounded_slowdown(wait, trace.runtime[own])
        values = slowdown.mean(), wait.max(), easy[0] / len(wait), easy[1]
        metrics.append(dict(zip(KEYS, map(float, values), strict=True)))
    return _outcome(name, metrics, (time.perf_counter() - begin) / envs.num_envs)


def _outcome(name: str, metrics: Sequence[dict[str, float]], seconds: float) -> Outcome:
    slowdown, longest, usual, usual_longest = np.array(
        [[m[key] for key in KEYS] for m in metrics]
    ).T
    wait = longest / np.maximum(usual_longest, MINUTE)
    return Outcome(name, np.log(slowdown / usual), wait, seconds)
