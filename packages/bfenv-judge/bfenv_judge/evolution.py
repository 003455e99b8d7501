"""Tasks for services in which a language model rewrites a scheduler, such as OpenEvolve.

`write_task` writes a folder: a first program, an evaluator and settings. The evaluator calls
`score_program`, which lets the program play in its own process (`bfenv_judge.players`) on copies of
the jobs that are salted: submit times are shaken, runtimes scaled at random, and users renumbered.
It can read neither jobs nor metrics, but sizes and estimates stay: memorized runtimes help it.
"""

import json
import secrets
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bfenv.analysis.comparison import STARVES
from bfenv.analysis.schedule_metrics import bounded_slowdown
from bfenv.baselines.registry import simulate
from bfenv.core.arguments import check_choice, check_integer
from bfenv.core.durations import MINUTE
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.core.text import listed, one_line
from bfenv.evaluation.summary import REFERENCE
from bfenv.leaderboard.foresight import NONE_FOUND
from bfenv.leaderboard.limits import DEFAULT_LIMITS, NO_SANDBOX
from bfenv.workloads.load import load_workload
from bfenv.workloads.transform import shaken
from bfenv_judge.players.containment import bubblewrap
from bfenv_judge.players.foresight import foresight_of_program
from bfenv_judge.players.player_process import PlayerProcess
from bfenv_judge.players.remote_policy import declared_flags, greet, policy_of
from bfenv_judge.players.serve import PROGRAM

STAGES = ("conformance", "windows", "logs")
WORKLOADS = ("lublin:procs=128,jobs=6000,load=0.9", "lublin:procs=256,jobs=6000,load=0.8")
PROBE = "lublin:procs=32,jobs=60,load=1.0,seed=11"  # of the first stage
SHAKE = 5 * MINUTE
SCALES = 0.9, 1.1  # of runtimes
LONGEST = 5  # jobs that are shown
# Scores of the first two stages, below any of the last. The files of a task use them as thresholds.
PASSED, OF_WINDOWS = 0.01, 0.1
TASK, SPLIT = "task.json", "train"
KEYS = "workloads", "windows", "window_jobs", "sandbox", "salt"  # of TASK
FILES = {"initial_program": ".py", "evaluator": ".py", "config": ".yaml"}  # of the task, and TASK


class Measured(NamedTuple):
    """A program beside EASY on one copy of some jobs."""

    label: str
    ratio: float  # mean bounded slowdown over EASY's
    wait_ratio: float  # longest wait over EASY's
    longest: str  # the jobs that waited longest, a line each


def write_task(
    folder: Path,
    workloads: Sequence[str] = WORKLOADS,
    *,
    windows: int = 4,
    window_jobs: int = 400,
    sandbox: str = NO_SANDBOX,
) -> list[Path]:
    """Write a task for services that evolve programs, and return its files.

    Args:
        folder: Is made; it must not hold a task.
        workloads: What `load_workload` takes. Only the first half by time is used (`split=train`).
        windows: How many windows of each workload are scored.
        window_jobs: Jobs of each window.
        sandbox: Of the program, "none" or "bwrap".

    Returns:
        The first program, the evaluator, settings, and TASK. TASK holds the salt, and only you may
        read it.

    Raises:
        BfenvError: If there is a task already, a workload cannot be loaded, a number is out of
            range, or there is no bubblewrap.
    """
    check_integer("windows", windows, 1)
    if sandbox != NO_SANDBOX:
        bubblewrap()
    for workload in workloads:
        count = len(load_workload(workload, split=SPLIT))
        check_integer(f"window_jobs of {workload}", window_jobs, 2, count)
    if (folder / TASK).exists():
        raise BfenvError(f"{folder} has a task already")
    folder.mkdir(parents=True, exist_ok=True)
    values = list(workloads), windows, window_jobs, sandbox, secrets.randbits(64)
    task = dict(zip(KEYS, values, strict=True))
    templates = files(__package__).joinpath("evolution_task")
    texts = {
        name + suffix: templates.joinpath(f"{name}.txt").read_bytes()
        for name, suffix in FILES.items()
    }
    texts[TASK] = json.dumps(task, indent=1).encode() + b"\n"
    for name, text in texts.items():
        write_atomically(folder / name, text, private=name == TASK)
    return [folder / name for name in texts]


def score_program(
    folder: Path, program: str | Path, stage: str
) -> tuple[dict[str, float], dict[str, str]]:
    """Score a program in one of STAGES.

    Args:
        folder: Of the task.
        program: A file of Python, with a function `decide`.
        stage: Its name.

    Returns:
        Metrics, among them `combined_score` (larger is better, 0 if the program fails), and
        artifacts: texts that help to improve it.

    Raises:
        BfenvError: If the folder has no task, or there is no such stage.
    """
    check_choice("stage", stage, STAGES)
    path = Path(folder) / TASK
    try:
        task = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise BfenvError(f"{path}: no task that can be read: {error}") from error
    if not isinstance(task, dict) or task.keys() != set(KEYS):
        raise BfenvError(f"{path}: no task, or not of this version: it needs {listed(KEYS)}")
    try:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / "candidate.py"
            copy.write_bytes(Path(program).read_bytes())
            return _score(path, task, copy, stage)
    except (BfenvError, ValueError) as error:
        return {"combined_score": 0.0}, {"error": one_line(f"in stage {stage}: {error}")}


def _score(
    path: Path, task: dict[str, Any], program: Path, stage: str
) -> tuple[dict[str, float], dict[str, str]]:
    limits = replace(DEFAULT_LIMITS, sandbox=task["sandbox"]).hiding([path])
    folders = [str(program.parent), *sys.path]
    code = PROGRAM.format(path=folders, kind="policy", name="candidate:decide")
    command = [sys.executable, "-c", code, str(program)]
    if stage == STAGES[0]:
        probe = salted(load_workload(PROBE), task["salt"], 0)
        reason = foresight_of_program(
            "the program", command, probe, 0, limits
        )  # plays all of it, too
        if reason != NONE_FOUND:
            raise BfenvError(reason)
        return {"combined_score": PASSED}, {}
    with PlayerProcess(command, limits) as process:
        policy = policy_of(process, "the program", declared_flags(greet(process)))
        measured = [
            _measure(label, simulate(trace, policy).check(), simulate(trace, REFERENCE))
            for label, trace in _copies(json.dumps(task), stage == STAGES[1])
        ]
    return _summary(measured, OF_WINDOWS if stage == STAGES[1] else 1.0)


@lru_cache(maxsize=2)
def _copies(task_text: str, are_windows: bool) -> list[tuple[str, Trace]]:
    """Return the salted windows, or the salted training logs."""
    task, copies = json.loads(task_text), []
    for i, workload in enumerate(task["workloads"]):
        trace = load_workload(workload, split=SPLIT)
        if not are_windows:
            copies.append((workload, salted(trace, task["salt"], i)))
            continue
        generator = np.random.default_rng([task["salt"], i, 1])
        for k in range(task["windows"]):
            first = int(generator.integers(0, len(trace) - task["window_jobs"], endpoint=True))
            part = trace[first : first + task["window_jobs"]]
            copies.append((f"{workload}, window {k}", salted(part, task["salt"], 100 * i + k)))
    return copies


def salted(trace: Trace, salt: int, number: int) -> Trace:
    """Return a copy with other submit times, runtimes and numbers of users, without records.

    No runtime exceeds its estimate; where all estimates were exact, they still are. The salt and
    the number determine the copy.
    """
    generator = np.random.default_rng([salt, number])
    trace = shaken(trace, SHAKE, seed=int(generator.integers(2**31)))
    jobs, exact = trace.jobs, bool((trace.jobs.estimate == trace.runtime).all())
    runtime = np.rint(trace.runtime * generator.uniform(*SCALES, len(trace))).astype(np.int64)
    runtime = np.clip(runtime, 1, None if exact else jobs.estimate)
    names = generator.permutation(int(jobs.user.max(initial=0)) + 1)
    jobs = jobs._replace(
        user=np.where(jobs.user >= 0, names[jobs.user], -1),
        estimate=runtime.copy() if exact else jobs.estimate,
    )
    return replace(trace, jobs=jobs, runtime=runtime, records=None, header=(), name="salted")


def _measure(label: str, schedule: Schedule, easy: Schedule) -> Measured:
    jobs, waits = schedule.trace.jobs, schedule.wait
    lines = [
        f"a job of {jobs.size[job]} processors, estimate {jobs.estimate[job]:,} s, waited "
        f"{waits[job]:,} s; under EASY {easy.wait[job]:,} s"
        for job in np.argsort(-waits, kind="stable")[:LONGEST]
    ]
    ratio = bounded_slowdown(schedule).mean() / bounded_slowdown(easy).mean()
    longest = waits.max() / max(easy.wait.max(), 1)
    return Measured(label, float(ratio), float(longest), "\n".join(lines))


def _summary(
    measured: Sequence[Measured], factor: float
) -> tuple[dict[str, float], dict[str, str]]:
    """Return metrics and artifacts; a program that starves jobs scores below EASY."""
    mean = float(np.exp(np.mean([np.log(measurement.ratio) for measurement in measured])))
    starving = max(measured, key=lambda measurement: measurement.wait_ratio)
    score, excess = 1 / mean, starving.wait_ratio / STARVES
    if excess > 1:
        score = min(score, 1.0) / excess**2
    worst = max(measured, key=lambda measurement: measurement.ratio)
    text = (
        "{0.label}: mean bounded slowdown {0.ratio:.3f}, longest wait {0.wait_ratio:.2f} of EASY's"
    )
    ratios = [text.format(measurement) for measurement in measured]
    longest = f"{worst.label}:\n{worst.longest}"
    artifacts = {"ratios": "\n".join(ratios), "longest_waits": longest}
    if excess > 1:
        artifacts["starvation"] = (
            f"Jobs starve on {starving.label}: the longest wait is {starving.wait_ratio:.1f} times "
            f"EASY's, above {STARVES:g}, so the score is below EASY's.\n{starving.longest}"
        )
    metrics = {"combined_score": factor * score, "slowdown_ratio": mean}
    return metrics | {"longest_wait_ratio": starving.wait_ratio}, artifacts
