"""How fast logs are read and traces are simulated, and how that grows."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measurements import Measurement, measurement
from bfenv.analysis.queue_length import mean_queue_length
from bfenv.baselines.registry import find_policy, simulate
from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import Trace, make_trace
from bfenv.core.policy import Policy
from bfenv.workloads.archive.catalogue import locate
from bfenv.workloads.load import load_workload
from bfenv.workloads.logs.swf import read_swf

LOGS = (
    "KTH-SP2-1996-2.1-cln",
    "SDSC-SP2-1998-4.2-cln",
    "CTC-SP2-1996-3.1-cln",
    "SDSC-BLUE-2000-4.2-cln",
    "HPC2N-2002-2.2-cln",
)
PLANNING = (
    "easy",
    "easy-speculative",
    "conservative",
    "conservative-replan",
    "selective",
    "slack",
    "relaxed",
    "cons-rs",
)
GENERATED = (10_000, 100_000)  # jobs
AT_ONCE = (1_250, 2_500, 5_000, 10_000)  # jobs; from one to the next the growth can be read off
BURSTS = (3_000, 6_000, 12_000)  # jobs, of which a standing queue remains
STANDING = 5_000  # jobs submitted while the queue stands
LONG = 10.0  # seconds of a run from which on longer queues are left out, and runs not repeated
ENGINE = ("fcfs", "easy", "conservative", "los")
SLURM = ("slurm", 'slurm(parameters="bf_interval=300")')
NODES = 1_000  # of the machine on which Slurm's scheduler is measured


def measure_engine(repeat: int) -> Iterator[Measurement]:
    """Measure reading logs, and whole traces under FCFS, EASY, conservative backfilling and LOS."""
    yield from measure_reading(repeat)
    yield from _simulations(available_logs(), ENGINE, repeat)
    for jobs in GENERATED:
        model = replace(load_workload("lublin", jobs=jobs), name=f"lublin, {jobs:,} jobs")
        yield from _simulations([model], ENGINE, repeat)


def measure_policies(policies: Sequence[str], repeat: int) -> Iterator[Measurement]:
    """Measure policies on whole logs, growing queues and growing machines."""
    for name in policies:
        yield from _simulations(available_logs(), [name], repeat)
        yield from _growth([name], repeat)


def _simulations(
    traces: Iterable[Trace], policies: Sequence[str], repeat: int
) -> Iterator[Measurement]:
    for trace in traces:
        for policy in map(find_policy, policies):
            times = simulation_times(trace, policy, repeat)
            yield measurement("traces", trace.name, policy.name, len(trace), times)


def measure_scaling(repeat: int, largest: int) -> Iterator[Measurement]:
    """Measure EASY on 10,000 generated jobs, twice as many and so on, and the engine's growth.

    Of policies that keep a plan, also the longest queues: jobs that are all submitted at once, and
    queues that stay as long. A policy that takes long is not measured with longer queues.
    """
    jobs = 10_000
    while jobs <= largest:
        trace = load_workload("lublin", jobs=jobs)
        times = simulation_times(trace, "easy", repeat)
        yield measurement("jobs", f"{jobs:,} jobs", "easy", jobs, times)
        jobs *= 2
    yield from _growth(ENGINE, repeat)
    at_once = (
        (f"{jobs:,} jobs at once", load_workload("lublin", jobs=jobs, all_at_once=True))
        for jobs in AT_ONCE
    )
    yield from measure_queues("at once", at_once, repeat)
    yield from measure_queues("standing queue", map(standing_queue, BURSTS), repeat)


def measure_queues(
    group: str, queues: Iterable[tuple[str, Trace]], repeat: int
) -> Iterator[Measurement]:
    """Measure the planning policies on traces with ever longer queues."""
    policies = list(PLANNING)
    for case, trace in queues:
        for policy in tuple(policies):
            times = simulation_times(trace, policy, repeat)
            yield measurement(group, case, policy, len(trace), times)
            if min(times) > LONG:
                policies.remove(policy)


def standing_queue(burst: int, jobs: int = STANDING) -> tuple[str, Trace]:
    """Return a trace with a queue that hardly changes its length under EASY, and what it is.

    `burst` jobs come at once, and then as much work as the machine does. Small jobs start early, so
    the queue shrinks at first, until the others fill it. The trace begins behind that, with the
    jobs that then wait under EASY; `jobs` more are submitted later.
    """
    settling = burst // 2
    trace = load_workload("lublin", jobs=burst + settling + jobs)
    submit = np.maximum(trace.jobs.submit - trace.jobs.submit[burst], 0)
    work = float((trace.runtime * trace.jobs.size)[burst:].sum())
    submit = (submit * (work / trace.processors / submit[-1])).astype(np.int64)
    burst_trace = replace(trace, jobs=trace.jobs._replace(submit=submit))
    begin = submit[burst + settling]
    kept = simulate(burst_trace, "easy").start > begin
    waiting = int((submit[kept] <= begin).sum())
    queue = make_trace(
        np.maximum(submit - begin, 0)[kept],
        trace.jobs.size[kept],
        trace.runtime[kept],
        trace.processors,
        estimate=trace.jobs.estimate[kept],
    )
    return f"about {waiting:,} waiting on {trace.processors:,} processors", queue


def measure_slurm(repeat: int, jobs: int) -> Iterator[Measurement]:
    """Measure Slurm's scheduler, with cycles every 30 s and every 300 s, on many named nodes."""
    trace = load_workload("lublin", procs=NODES, jobs=jobs)
    for policy in SLURM:
        times = simulation_times(trace, policy, repeat)
        yield measurement("named nodes", f"{NODES:,} nodes", policy, jobs, times)


def _growth(policies: Sequence[str], repeat: int) -> Iterator[Measurement]:
    """Measure 5,000 generated jobs with growing queues, then with growing machines."""
    traces = [
        (group, load_workload("lublin", jobs=5_000, procs=procs, load=load))
        for group, procs, load in (
            *(("queue", 256, load) for load in (0.7, 0.9, 1.1, 1.3)),
            *(("machine", procs, 0.9) for procs in (64, 256, 1024, 4096)),
        )
    ]
    for policy in map(find_policy, policies):
        for group, trace in traces:
            waiting = mean_queue_length(simulate(trace, policy))
            case = f"{waiting:,.0f} waiting on {trace.processors:,} processors"
            times = simulation_times(trace, policy, repeat)
            yield measurement(group, case, policy.name, len(trace), times)


def measure_reading(repeat: int) -> Iterator[Measurement]:
    """Measure reading the available logs from their files."""
    for name in LOGS:
        if (path := locate(name)) is not None:
            trace = read_swf(path)
            times = call_times(partial(read_swf, path), min(repeat, 3))
            yield measurement("reading", name, "", len(trace), times)


def simulation_times(trace: Trace, policy: str | Policy, repeat: int) -> list[float]:
    """Return the seconds of `repeat` simulations of a trace, see `call_times`."""
    simulate(trace[: min(len(trace), 10)], policy)  # compile, or load the compiled
    return call_times(partial(simulate, trace, policy), repeat)


def call_times(function: Callable[[], Any], repeat: int) -> list[float]:
    """Return the seconds of each of `repeat` calls; of fewer if one takes longer than LONG."""
    times: list[float] = []
    while len(times) < repeat and max(times, default=0.0) <= LONG:
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
