"""How much code a reader passes who follows one call through bfenv: files and functions entered.

Counted uncompiled, where each kernel is a function of Python. What runs kernels uncompiled does not
count.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import bfenv
from bfenv.envs import BackfillEnv

ROOT = Path(bfenv.__file__).resolve().parent.parent
ROOMS = tuple(str(ROOT / room) + os.sep for room in ("bfenv", "baselines", "agents"))
MACHINERY = tuple(str(ROOT / "bfenv" / "core" / name) for name in ("kernel.py", "uncompiled.py"))
STEPS = 400  # among which the longest walks of a step are looked for


class Walk(NamedTuple):
    """What a call entered."""

    call: str
    files: int
    functions: int


class Bar(NamedTuple):
    """The most files and functions that a call may enter."""

    files: int
    functions: int


BARS = {
    "step that names a head": Bar(9, 39),
    "step that starts a job": Bar(10, 45),
    "step that moves time": Bar(10, 55),
    "reset": Bar(13, 61),
    "simulate under EASY": Bar(10, 45),
}


def count_walks() -> list[Walk]:
    """Follow the longest steps of a default episode, its reset, and EASY on a trace."""
    env = BackfillEnv()
    env.reset(seed=0)
    entered = {"reset": entered_by(lambda: env.reset(seed=0))}
    for _ in range(STEPS):
        time, started = int(env.cluster.state[0]), env.started_jobs
        action = int(np.flatnonzero(env.action_masks())[0])
        functions = entered_by(partial(env.step, action))
        name = "step that moves time"
        if int(env.cluster.state[0]) == time:
            starts = env.started_jobs > started
            name = "step that starts a job" if starts else "step that names a head"
        entered[name] = max(entered.get(name, set()), functions, key=len)
    trace = bfenv.load_workload("lublin:jobs=300")
    bfenv.simulate(trace, "easy")
    entered["simulate under EASY"] = entered_by(lambda: bfenv.simulate(trace, "easy"))
    return [
        Walk(name, len({file for file, _ in entered[name]}), len(entered[name])) for name in BARS
    ]


def entered_by(call: Callable[[], Any]) -> set[tuple[str, str]]:
    """Return the functions of bfenv that a call enters, each as its file and its name."""
    entered = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(ROOMS) and not file.startswith(MACHINERY):
            entered.add((file, frame.f_code.co_qualname))

    threading.setprofile(note)  # compiled policies run in a thread
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return entered


def walk_table() -> str:
    """Return the table of `python -m benchmarks walk`, counted in a process of its own."""
    uncompiled = os.environ | {"NUMBA_DISABLE_JIT": "1", "BFENV_COMPILE": "never"}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.walk"]
    return subprocess.run(
        command, cwd=ROOT, env=uncompiled, check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    print(f"{'call':<24}{'files':>6}{'bar':>5}{'functions':>11}{'bar':>5}")
    for walk in count_walks():
        bar = BARS[walk.call]
        print(f"{walk.call:<24}{walk.files:>6}{bar.files:>5}{walk.functions:>11}{bar.functions:>5}")
