"""How well episodes tell schedulers apart: penalized slowdowns of the same jobs, with intervals.

All play the same episodes, by the same seeds. Policies act outside the environment, without its
window; random actions act in it.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from bfenv.analysis.comparison import STARVES
from bfenv.baselines.registry import find_policy
from bfenv.core.durations import MINUTE
from bfenv.core.policy import Policy
from bfenv.core.schedule import bounded_slowdown, penalized
from bfenv.envs.settings import EnvSettings, Workloads
from bfenv.envs.vector import BackfillVectorEnv
from bfenv.envs.warm_up import start_times
from bfenv.evaluation.agent_scores import BEST_ORDER

# The best order of jobs that is known for an environment, where it is not BEST_ORDER
BEST_ORDERS = dict.fromkeys(
    ("Backfill-KTH-v0", "Backfill-SDSC-BLUE-v0", "Backfill-HPC2N-v0"), "easy-sjf"
)
POLICIES = ("easy", "easy-sjf", "easy-saf", BEST_ORDER)
RIVALS = ("random", "easy-saf")  # every scheduler is compared with these
# Of the networks of libraries: the slots and the reward with which they learn most in few steps
NETWORK_WINDOW, NETWORK_REWARD = 8, "penalized_product"
FEW = 10  # episodes that should tell schedulers apart
QUANTILE = 2.262  # of Student's t with FEW - 1 degrees of freedom, for 95 %
Choose = Callable[[Any, np.ndarray], np.ndarray]  # of observations and masks


class Outcome(NamedTuple):
    """What a scheduler makes of N episodes."""

    name: str
    measure: np.ndarray  # (N,) penalized slowdown
    slowdown: np.ndarray  # (N,) mean bounded slowdown over EASY's
    wait: np.ndarray  # (N,) longest wait over EASY's
    seconds: float  # an episode takes

    def row(self, outcomes: "Sequence[Outcome]", best_order: str = BEST_ORDER) -> tuple[str, ...]:
        """Return the cells of a table: its results, and how many episodes tell it from RIVALS.

        The score is 0 for random actions and 1 for the best order, on a logarithmic scale.
        """
        logs = np.log(self.measure)
        half = 1.96 * logs.std(ddof=1) / math.sqrt(len(logs))
        low, mean, high = np.exp(logs.mean() + half * np.array([-1, 0, 1]))
        rivals = {outcome.name: np.log(outcome.measure) for outcome in outcomes}
        needed = (
            "" if self.name == name else f"{episodes_to_tell(logs - rivals[name]):.1f}"
            for name in RIVALS
        )
        worst, best = (rivals[name].mean() for name in ("random", best_order))
        return (
            self.name,
            f"{(worst - logs.mean()) / (worst - best):.2f}",
            f"{mean:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{self.measure.mean():.3f}",
            *needed,
            f"{np.exp(np.log(self.slowdown).mean()):.3f}",
            f"{np.median(self.wait):.2f}",
            f"{np.mean(self.wait > STARVES):.0%}",
            f"{self.seconds:.3f}",
        )


COLUMNS = (
    "scheduler",
    "score",
    "penalized",
    "95 %",
    "arithmetic",
    *(f"from {name}" for name in RIVALS),
    "slowdown",
    "wait",
    "starves",
    "seconds",
)


def episodes_to_tell(difference: np.ndarray) -> float:
    """Return how many paired episodes tell two schedulers apart at 95 %, given log ratios."""
    mean = float(difference.mean())
    return math.inf if mean == 0 else (QUANTILE * float(difference.std(ddof=1)) / mean) ** 2


def score_episodes(
    count: int,
    policies: Sequence[str] = (),
    workload: Workloads | None = None,
    best_order: str = BEST_ORDER,
    **settings: Unpack[EnvSettings],
) -> list[Outcome]:
    """Play the episodes with all schedulers and these policies; return the worst first.

    The best order also plays them with runtimes in place of estimates, which shows what better
    predictions can bring.

    Raises BfenvError if a policy is unknown.
    """
    by_name = {name: find_policy(name) for name in (*POLICIES, *policies)}
    envs = BackfillVectorEnv(count, workload, **settings)
    outcomes = [
        play_at_random(envs),
        *(follow(envs, name, policy) for name, policy in by_name.items()),
        follow(envs, f"{best_order}, runtimes known", by_name[best_order], knows_runtimes=True),
    ]
    return sorted(outcomes, key=lambda outcome: -float(np.log(outcome.measure).mean()))


def play_at_random(envs: BackfillVectorEnv) -> Outcome:
    """Play the first episode of every environment with random legal actions."""
    generator = np.random.default_rng(0)
    return play_outcome(
        envs, "random", lambda seen, mask: (generator.random(mask.shape) * mask).argmax(1)
    )


def play_outcome(envs: BackfillVectorEnv, name: str, choose: Choose) -> Outcome:
    """Play the first episode of every environment.

    * `envs`: with autoreset "same_step".
    * `name`: of the outcome.
    * `choose`: returns the (N,) actions.
    """
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
    "mean_bounded_slowdown",
    "longest_wait",
    "reference_bounded_slowdown",
    "reference_longest_wait",
)


def follow(
    envs: BackfillVectorEnv, name: str, policy: Policy, knows_runtimes: bool = False
) -> Outcome:
    """Simulate a policy on the jobs of the episodes.

    * `knows_runtimes`: the estimates of these jobs are their runtimes; not those of earlier ones.
    """
    envs.reset(seed=0)
    metrics, begin = [], time.perf_counter()
    for window, easy in zip(envs.batch.windows, envs.batch._reference_totals, strict=True):
        assert window is not None, "the environments have been reset"
        trace, jobs = envs.batch.source.traces[window.k], slice(window.first, window.last)
        if knows_runtimes:
            estimate = trace.jobs.estimate.copy()
            estimate[window.first :] = trace.runtime[window.first :]
            trace = replace(trace, jobs=trace.jobs._replace(estimate=estimate))
        wait = start_times(policy, trace, window) - trace.jobs.submit[jobs]
        slowdown = bounded_slowdown(wait, trace.runtime[jobs])
        values = slowdown.mean(), wait.max(), easy[0] / len(wait), easy[1]
        metrics.append(dict(zip(KEYS, map(float, values), strict=True)))
    return _outcome(name, metrics, (time.perf_counter() - begin) / envs.num_envs)


def _outcome(name: str, metrics: Sequence[dict[str, float]], seconds: float) -> Outcome:
    slowdown, longest, usual, usual_longest = np.array(
        [[m[key] for key in KEYS] for m in metrics]
    ).T
    measure = penalized(slowdown / usual, longest, usual_longest)
    wait = longest / np.maximum(usual_longest, MINUTE)
    return Outcome(name, measure, slowdown / usual, wait, seconds)
