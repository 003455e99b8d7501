"""How fast bfenv is on this machine, measured (bench layer)."""

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numba
import numpy as np

from bfenv.core.errors import UnknownName, WorkloadError
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy, find_policy
from bfenv.core.simulator import simulate
from bfenv.workloads.archive import locate
from bfenv.workloads.load import load_workload
from bfenv.workloads.swf import read_swf

LOGS = (
    "KTH-SP2-1996-2.1-cln",
    "SDSC-SP2-1998-4.2-cln",
    "CTC-SP2-1996-3.1-cln",
    "SDSC-BLUE-2000-4.2-cln",
    "HPC2N-2002-2.2-cln",
)
START = "import time; t = time.perf_counter(); import bfenv; "
SIMULATE = START + (
    "bfenv.simulate(bfenv.make_trace([0], [1], [1], 1), 'easy'); print(time.perf_counter() - t)"
)
IMPORT = START + "print(time.perf_counter() - t)"
FIRST_STEP = START + (
    "import gymnasium; env = gymnasium.make('Backfill-v0'); env.reset(seed=0); env.step(0); "
    "print(time.perf_counter() - t)"
)


def machine() -> str:
    """Processor, Python, numpy and numba, in a line."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            name = next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        pass
    return (
        f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}"
    )


def engine(repeat: int, largest: int) -> Iterator[dict[str, Any]]:
    """Rows of what, policy, jobs, best, median, unit: traces, then processes, then memory."""
    for trace in _traces(largest):
        for policy in ("fcfs", "easy"):
            yield _row(trace.name, policy, len(trace), _times(trace, policy, repeat), "s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield _row("peak memory of all this", "", 0, [peak], "MiB")
    with tempfile.TemporaryDirectory() as empty:
        cold = [_process(SIMULATE, empty)]
        yield _row("new process to first EASY, nothing compiled", "easy", 0, cold, "s")
    for what, program in (
        ("import bfenv", IMPORT),
        ("new process to first EASY", SIMULATE),
        ("new process to first env.step", FIRST_STEP),
    ):
        yield _row(what, "", 0, [_process(program) for _ in range(min(repeat, 5))], "s")


def policies(names: Sequence[str], repeat: int) -> Iterator[dict[str, Any]]:
    """Rows as of `engine`, of policies on whole logs, longer queues and larger machines.

    A log is 20,000 jobs and more; the generated traces have 5,000, so that what grows with the
    queue (offered load 0.7 to 1.3) and with the machine (64 to 4,096 processors) shows.
    """
    traces = list(_logs())
    traces += [_generated(procs=256, load=load) for load in (0.7, 1.0, 1.3)]
    traces += [_generated(procs=procs, load=0.9) for procs in (64, 512, 4096)]
    for policy in map(find_policy, names):
        for trace in traces:
            times = _times(trace, policy, repeat)
            yield _row(trace.name, policy.name, len(trace), times, "s")


def reading(repeat: int) -> Iterator[dict[str, Any]]:
    """Rows as of `engine`, of reading the logs at hand from their files."""
    for name in LOGS:
        path = locate(name)
        if path is None:
            continue
        times = []
        for _ in range(repeat):
            begin = time.perf_counter()
            trace = read_swf(path)
            times.append(time.perf_counter() - begin)
        yield _row(f"read {name}", "", len(trace), times, "s")


def _generated(procs: int, load: float) -> Trace:
    trace = load_workload("lublin", jobs=5_000, procs=procs, load=load)
    return replace(trace, name=f"model P={procs} load={load}")


def _times(trace: Trace, policy: str | Policy, repeat: int) -> list[float]:
    simulate(trace[: min(len(trace), 10)], policy)  # compile, or load the compiled
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        simulate(trace, policy)
        times.append(time.perf_counter() - begin)
    return times


def _logs() -> Iterator[Trace]:
    for log in LOGS:
        try:
            yield load_workload(log)
        except (UnknownName, WorkloadError):
            continue  # not at hand


def _traces(largest: int) -> Iterator[Trace]:
    yield from _logs()
    jobs = 1_000
    while jobs <= largest:
        yield load_workload("lublin", jobs=jobs)
        jobs *= 10


def _row(what: str, policy: str, jobs: int, values: list[float], unit: str) -> dict[str, Any]:
    return {
        "what": what,
        "policy": policy,
        "jobs": jobs,
        "best": min(values),
        "median": statistics.median(values),
        "unit": unit,
    }


def _process(program: str, cache: str | None = None) -> float:
    """What a program prints, run in a process of its own, its kernel cache in `cache`."""
    environment = os.environ | ({} if cache is None else {"BFENV_CACHE": cache})
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return float(run.stdout)
