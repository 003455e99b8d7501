"""How fast EASY schedules whole traces in orders that a search looks at, and in published ones."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.engine import available_logs
from benchmarks.measurements import Measurement, measurement
from bfenv.baselines import run_orders
from bfenv.baselines.easy_orders import easy
from bfenv.baselines.registry import simulate
from bfenv.core.jobs import Trace
from bfenv.workloads.load import load_workload

VARIANTS = 4  # of the linear scorer, run in one call
UNITS = 4  # hidden units of the network
PUBLISHED = ("sjf", "lxf", "wfp3")


def measure_search(repeat: int) -> Iterator[Measurement]:
    """Measure published orders, a formula, and scorers with weights on all features.

    The rows of a trace are measured in turns, so that other load on the machine affects all of them
    alike.
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
            share = VARIANTS if name.startswith("run_orders") else 1
            seconds = [value / share for value in values]
            yield measurement("policy search", trace.name, name, len(trace), seconds)


def _runs(trace: Trace) -> dict[str, Callable[[], Any]]:
    from bfenv_lab.search import FEATURES, linear_order, network_order

    weights = np.array(list(FEATURES.values())) + 0.01
    units = np.random.default_rng(0).uniform(0.2, 0.4, (UNITS, 1)) * weights
    network = np.concatenate([-np.ones((UNITS, 1)), np.zeros((UNITS, 1)), units], axis=1)
    orders = {
        "formula": "-(wait + likely_runtime) / likely_runtime ** 1.6 / size ** 0.45",
        "linear scorer": linear_order(weights),
        f"scorer, {UNITS} hidden units": network_order(network),
    }
    policies = {f"easy(order={name})": easy(name) for name in PUBLISHED}
    policies |= {name: easy(order) for name, order in orders.items()}
    runs = {name: partial(simulate, trace, policy) for name, policy in policies.items()}
    many = partial(run_orders, trace, [linear_order(weights)] * VARIANTS)
    return {**runs, f"run_orders, linear scorer, each of {VARIANTS}": many}
