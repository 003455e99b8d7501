"""How fast EASY schedules whole traces in a scorer's order, and in the order of a sorted queue."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bfenv.agents.search import evaluate_many, scorer, weights
from bfenv.baselines.easy_variants import easy
from bfenv.baselines.registry import simulate
from bfenv.core.jobs import Trace
from bfenv.speed.engine import available_logs
from bfenv.speed.measurements import Measurement, measurement
from bfenv.workloads.load import load_workload

VECTORS = 4  # of weights, evaluated in one call
# Weights on all features, which make queues about as long as known orders do
DENSE = weights(
    present=0.1,
    size=-0.1,
    estimate=-1,
    wait=0.1,
    slowdown=0.3,
    fits=0.01,
    before_shadow=0.01,
    within_extra=0.01,
    accuracy=0.1,
    priority=0.1,
)


def measure_search(repeat: int) -> Iterator[Measurement]:
    """Measure scorers on whole traces.

    Except for ties, the scorers of the estimate alone and of the slowdown alone make the schedules
    of the orders sjf and lxf, so their queues are as long. The rows of a trace are measured in
    turns, so that other load on the machine affects all of them alike.

    Parameters
    ----------
    repeat
        Number of repetitions.

    Yields
    ------
    Measurement
        Times in seconds.
    """
    for trace in (*available_logs(), load_workload("lublin")):
        runs = _runs(trace)
        times: dict[str, list[float]] = {name: [] for name in runs}
        for run in runs.values():
            run()  # compile, or load the compiled
        for _ in range(repeat):
            for name, run in runs.items():
                begin = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - begin)
        for name, values in times.items():
            share = VECTORS if name.startswith("evaluate_many") else 1
            each = [value / share for value in values]
            yield measurement("policy search", trace.name, name, len(trace), each)


def _runs(trace: Trace) -> dict[str, Callable[[], Any]]:
    generator = np.random.default_rng(0)
    hidden = [*np.tile(DENSE, 4) * generator.uniform(0.5, 1.5, 4 * len(DENSE)), 1, 1, 1, 1]
    policies = {
        "easy(order=sjf)": easy("sjf"),
        "easy(order=lxf)": easy("lxf"),
        "scorer, estimate": scorer(weights(estimate=-1)),
        "scorer, slowdown": scorer(weights(slowdown=1)),
        "scorer, all features": scorer(DENSE),
        "scorer, 4 hidden units": scorer(hidden, hidden=4),
    }
    runs = {name: partial(simulate, trace, policy) for name, policy in policies.items()}
    many = partial(evaluate_many, trace, np.tile(DENSE, (VECTORS, 1)))
    return {**runs, f"evaluate_many, all features, each of {VECTORS}": many}
