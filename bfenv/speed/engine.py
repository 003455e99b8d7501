"""How fast bfenv is on this machine: traces, environments, growth, processes.

Every function yields measurements, rows of `group`, `what`, `subject` (a policy, mostly), `jobs`,
`best`, `median` and `unit`: seconds and MiB, of which the least is best, or steps/s.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bfenv.analysis.queue_length import mean_queue_length
from bfenv.baselines.registry import find_policy, simulate
from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import Trace
from bfenv.core.policy import Policy
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
ENGINE = ("fcfs", "easy", "conservative", "los")
START = "import time; t = time.perf_counter(); import bfenv; "
TAKEN = "print(time.perf_counter() - t)"
FIRST_STEP = "import gymnasium; env = gymnasium.make('Backfill-v0'); env.reset(seed=0); env.step(0)"
# Not ru_maxrss, in which a new process begins with the memory of the one that started it.
STATUS = "/proc/self/status"
PEAK = f"print(int(open('{STATUS}').read().partition('VmHWM:')[2].split()[0]) / 1024)"
PROGRAMS = {
    "import bfenv": "",
    "import, first EASY": "bfenv.simulate(bfenv.make_trace([0], [1], [1], 1), 'easy'); ",
    "import, first env.step": FIRST_STEP + "; ",
}
MEMORY = {
    "import bfenv": "import bfenv",
    "a million jobs under EASY": "import bfenv; "
    "bfenv.simulate(bfenv.load_workload('lublin', jobs=1_000_000), 'easy')",
    "64 environments": "import bfenv, gymnasium; "
    "gymnasium.make_vec('Backfill-v0', num_envs=64).reset(seed=0)",
}
Row = dict[str, Any]


def engine(repeat: int) -> Iterator[Row]:
    """Reading logs, and whole traces under FCFS, EASY, conservative backfilling and LOS."""
    yield from reading(repeat)
    for trace in (*logs(), _model(10_000), _model(100_000)):
        for policy in ENGINE:
            yield row("traces", trace.name, policy, len(trace), simulations(trace, policy, repeat))


def policies(names: Sequence[str | Policy], repeat: int) -> Iterator[Row]:
    """Policies on whole logs, longer queues and larger machines."""
    for policy in map(find_policy, names):
        for trace in logs():
            times = simulations(trace, policy, repeat)
            yield row("traces", trace.name, policy.name, len(trace), times)
        yield from _growth([policy], repeat)


def scaling(repeat: int, largest: int) -> Iterator[Row]:
    """EASY on ever more generated jobs; longer queues and larger machines."""
    jobs = 10_000
    while jobs <= largest:
        trace = load_workload("lublin", jobs=jobs)
        times = simulations(trace, "easy", repeat)
        yield row("jobs", f"{jobs:,} jobs", "easy", jobs, times)
        jobs *= 2
    yield from _growth([find_policy(name) for name in ENGINE], repeat)


def start(repeat: int) -> Iterator[Row]:
    """New processes: from nothing compiled, from the cache, and the most memory they hold."""
    with tempfile.TemporaryDirectory() as empty:
        for what in ("import, first EASY", "import, first env.step"):
            program = START + PROGRAMS[what] + TAKEN
            yield row("new process, nothing compiled", what, "", 0, [_process(program, empty)])
    for what, program in PROGRAMS.items():
        taken = [_process(START + program + TAKEN) for _ in range(min(repeat, 5))]
        yield row("new process", what, "", 0, taken)
    for what, program in MEMORY.items() if os.path.exists(STATUS) else ():  # of Linux
        yield row("peak memory", what, "", 0, [_process(f"{program}; {PEAK}")], "MiB")


def _growth(policies: Iterable[Policy], repeat: int) -> Iterator[Row]:
    """5,000 generated jobs each, on which what grows with the queue and the machine shows."""
    traces = [("queue", _generated(procs=256, load=load)) for load in (0.7, 0.9, 1.1, 1.3)]
    traces += [("machine", _generated(procs=procs, load=0.9)) for procs in (64, 256, 1024, 4096)]
    for policy in policies:
        for group, trace in traces:
            waiting = mean_queue_length(simulate(trace, policy))
            what = f"{waiting:,.0f} waiting on {trace.processors:,} processors"
            yield row(group, what, policy.name, len(trace), simulations(trace, policy, repeat))


def reading(repeat: int) -> Iterator[Row]:
    """Reading the logs at hand from their files."""
    for name in LOGS:
        if (path := locate(name)) is not None:
            trace = read_swf(path)
            times = seconds(partial(read_swf, path), min(repeat, 3))
            yield row("reading", name, "", len(trace), times)


def _model(jobs: int) -> Trace:
    return replace(load_workload("lublin", jobs=jobs), name=f"lublin, {jobs:,} jobs")


def _generated(procs: int, load: float) -> Trace:
    trace = load_workload("lublin", jobs=5_000, procs=procs, load=load)
    return replace(trace, name=f"model P={procs} load={load}")


def simulations(trace: Trace, policy: str | Policy, repeat: int) -> list[float]:
    """Seconds of so many simulations of the trace."""
    simulate(trace[: min(len(trace), 10)], policy)  # compile, or load the compiled
    return seconds(partial(simulate, trace, policy), repeat)


def seconds(function: Callable[[], Any], repeat: int) -> list[float]:
    """How long so many calls take."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return times


def row(
    group: str, what: str, subject: str, jobs: int, values: list[float], unit: str = "s"
) -> Row:
    """A measurement; of rates the largest is best."""
    best = max(values) if unit.endswith("/s") else min(values)
    return {
        "group": group,
        "what": what,
        "subject": subject,
        "jobs": jobs,
        "best": best,
        "median": statistics.median(values),
        "unit": unit,
    }


def logs() -> Iterator[Trace]:
    """The logs that are at hand."""
    for log in LOGS:
        try:
            yield load_workload(log)
        except (UnknownNameError, WorkloadError):
            continue  # not at hand


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
