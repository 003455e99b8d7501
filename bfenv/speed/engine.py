"""How fast logs are read and traces are simulated, and how that grows."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bfenv.analysis.queue_length import mean_queue_length
from bfenv.baselines.registry import find_policy, simulate
from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
from bfenv.speed.measurements import Measurement, measurement
from bfenv.workloads.archive.local import locate
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.swf import read_swf

LOGS = (
    "KTH-SP2-1996-2.1-cln",
    "SDSC-SP2-1998-4.2-cln",
    "CTC-SP2-1996-3.1-cln",
    "SDSC-BLUE-2000-4.2-cln",
    "HPC2N-2002-2.2-cln",
)
PLANNING = ("easy", "conservative", "conservative-replan", "selective", "slack", "relaxed")
AT_ONCE = (500, 1_000, 2_000)  # jobs; from one to the next the growth can be read off
ENGINE = ("fcfs", "easy", "conservative", "los")


def measure_engine(repeat: int) -> Iterator[Measurement]:
    """Measure reading logs, and whole traces under FCFS, EASY, conservative backfilling and LOS.

    Parameters
    ----------
    repeat
        Number of repetitions.

    Yields
    ------
    Measurement
        Times in seconds.
    """
    yield from measure_reading(repeat)
    for trace in (*available_logs(), _model(10_000), _model(100_000)):
        for policy in ENGINE:
            times = simulation_times(trace, policy, repeat)
            yield measurement("traces", trace.name, policy, len(trace), times)


def measure_policies(names: Sequence[str | Policy], repeat: int) -> Iterator[Measurement]:
    """Measure policies on whole logs, growing queues and growing machines.

    Parameters
    ----------
    names
        Policies or their names.
    repeat
        Number of repetitions.

    Yields
    ------
    Measurement
        Times in seconds.
    """
    for policy in map(find_policy, names):
        for trace in available_logs():
            times = simulation_times(trace, policy, repeat)
            yield measurement("traces", trace.name, policy.name, len(trace), times)
        yield from _growth([policy], repeat)


def measure_scaling(repeat: int, largest: int) -> Iterator[Measurement]:
    """Measure EASY on 10,000 generated jobs, twice as many and so on, and the engine's growth.

    Of policies that keep a plan, also jobs that are all submitted at once: the longest queues.

    Parameters
    ----------
    repeat
        Number of repetitions.
    largest
        Most jobs of a trace.

    Yields
    ------
    Measurement
        Times in seconds.
    """
    jobs = 10_000
    while jobs <= largest:
        trace = load_workload("lublin", jobs=jobs)
        times = simulation_times(trace, "easy", repeat)
        yield measurement("jobs", f"{jobs:,} jobs", "easy", jobs, times)
        jobs *= 2
    yield from _growth([find_policy(name) for name in ENGINE], repeat)
    for jobs in AT_ONCE:
        trace = load_workload("lublin", jobs=jobs)
        submit = np.zeros(jobs, dtype=np.int64)
        trace = replace(trace, jobs=trace.jobs._replace(submit=submit))
        for policy in PLANNING:
            times = simulation_times(trace, policy, repeat)
            yield measurement("at once", f"{jobs:,} jobs at once", policy, jobs, times)


def _growth(policies: Iterable[Policy], repeat: int) -> Iterator[Measurement]:
    """Measure 5,000 generated jobs with growing queues, then with growing machines."""
    traces = [("queue", _generated(procs=256, load=load)) for load in (0.7, 0.9, 1.1, 1.3)]
    traces += [("machine", _generated(procs=procs, load=0.9)) for procs in (64, 256, 1024, 4096)]
    for policy in policies:
        for group, trace in traces:
            waiting = mean_queue_length(simulate(trace, policy))
            what = f"{waiting:,.0f} waiting on {trace.processors:,} processors"
            times = simulation_times(trace, policy, repeat)
            yield measurement(group, what, policy.name, len(trace), times)


def measure_reading(repeat: int) -> Iterator[Measurement]:
    """Measure reading the available logs from their files."""
    for name in LOGS:
        if (path := locate(name)) is not None:
            trace = read_swf(path)
            times = call_times(partial(read_swf, path), min(repeat, 3))
            yield measurement("reading", name, "", len(trace), times)


def _model(jobs: int) -> Trace:
    return replace(load_workload("lublin", jobs=jobs), name=f"lublin, {jobs:,} jobs")


def _generated(procs: int, load: float) -> Trace:
    trace = load_workload("lublin", jobs=5_000, procs=procs, load=load)
    return replace(trace, name=f"model P={procs} load={load}")


def simulation_times(trace: Trace, policy: str | Policy, repeat: int) -> list[float]:
    """Return the seconds of each of `repeat` simulations of a trace."""
    simulate(trace[: min(len(trace), 10)], policy)  # compile, or load the compiled
    return call_times(partial(simulate, trace, policy), repeat)


def call_times(function: Callable[[], Any], repeat: int) -> list[float]:
    """Return the seconds of each of `repeat` calls."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return times


def available_logs() -> Iterator[Trace]:
    """Yield the logs that are on this machine."""
    for log in LOGS:
        try:
            yield load_workload(log)
        except (UnknownNameError, WorkloadError):
            continue
