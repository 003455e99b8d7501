"""How long new processes take, and how much memory they need."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.measurements import Measurement, measurement

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
UNCOMPILED = ("import, first EASY", "import, first env.step")
MEMORY = {
    "import bfenv": "import bfenv",
    "a million jobs under EASY": "import bfenv; "
    "bfenv.simulate(bfenv.load_workload('lublin', jobs=1_000_000), 'easy')",
    "64 environments": "import bfenv, gymnasium; "
    "gymnasium.make_vec('Backfill-v0', num_envs=64).reset(seed=0)",
}


def measure_start(repeat: int) -> Iterator[Measurement]:
    """Measure new processes, first with nothing compiled, then with a cache, and their memory."""
    with tempfile.TemporaryDirectory() as empty:
        for case in UNCOMPILED:
            times = [_run(START + PROGRAMS[case] + TAKEN, cache=empty)]
            yield measurement("new process, nothing compiled", case, "", 0, times)
    for case, program in PROGRAMS.items():
        times = [_run(START + program + TAKEN) for _ in range(min(repeat, 5))]
        yield measurement("new process", case, "", 0, times)
    if os.path.exists(STATUS):  # on Linux
        for case, program in MEMORY.items():
            yield measurement("peak memory", case, "", 0, [_run(f"{program}; {PEAK}")], "MiB")


def _run(program: str, cache: str | None = None) -> float:
    """Return the number that a program prints in a new process; `cache` is its kernel cache."""
    environment = dict(os.environ)
    if cache is not None:
        environment |= {"BFENV_CACHE": cache, "BFENV_COMPILE": "meanwhile"}
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return float(run.stdout)
