"""Cases that any implementation of EASY or conservative backfilling should schedule alike.

Each case tests one rule with a few jobs: extra nodes, simultaneous ends, holes, early completions.
It has the starts by the rules, and those by the usual mistakes, so that a difference is explained.
The rules come from Lifka (1995), Mu'alem and Feitelson (2001) and Shmueli (2003, chapter 2).
Conventions are cases about which simulators may differ on purpose.
"""

import json
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from bfenv.baselines.registry import find_policy
from bfenv.core.errors import BfenvError
from bfenv.core.files import read_file, write_atomically
from bfenv.core.jobs import make_trace
from bfenv.core.policy import Policy
from bfenv.core.text import one_line
from bfenv.parallel.sweep import simulate_safely

RULES = ("easy", "conservative")
LONGEST = 200  # characters of a command's output that an error repeats
LARGEST = 2**24  # bytes that a command may print, and write into its file
PAUSE = 0.05  # seconds between two looks at what it has written


class ConformanceError(BfenvError):
    """A scheduler could not be run on a case, or its answer could not be read."""


@dataclass(frozen=True)
class Case:
    """A few jobs, and when they start."""

    name: str  # what to refer to it by
    rules: str  # "easy" or "conservative"
    rule: str  # what the case tests
    convention: bool  # simulators may differ here on purpose
    processors: int  # of the machine
    jobs: tuple[tuple[int, int, int, int], ...]  # submit, size, runtime, estimate
    starts: tuple[int, ...]  # seconds, by the rules
    mistakes: dict[str, tuple[int, ...]]  # starts under each mistake that changes them


@dataclass(frozen=True)
class Verdict:
    """How a scheduler treated a case."""

    case: Case  # what was scheduled
    starts: tuple[int, ...]  # seconds, one per job

    @property
    def passed(self) -> bool:
        """Whether all jobs start as by the rules."""
        return self.starts == self.case.starts

    @property
    def difference(self) -> str:
        """The first job that starts at another time, or ''."""
        for i, (start, expected) in enumerate(zip(self.starts, self.case.starts, strict=True)):
            if start != expected:
                return f"job {i + 1} starts at {start}, not at {expected}"
        return ""


@cache
def load_cases(rules: str | None = None) -> tuple[Case, ...]:
    """Return the cases, of all rules or of "easy" or "conservative" only.

    Raises ConformanceError if `rules` is unknown.
    """
    if rules not in (None, *RULES):
        raise ConformanceError(f"rules must be easy or conservative, got {rules!r}")
    text = files("bfenv_judge").joinpath("conformance_cases.json").read_text(encoding="utf-8")
    cases = (
        Case(**{field: _freeze(value) for field, value in entry.items()})
        for entry in json.loads(text)
    )
    return tuple(case for case in cases if rules in (None, case.rules))


def _freeze(value: Any) -> Any:
    """Make tuples of the lists that JSON has instead of them."""
    if isinstance(value, dict):
        return {key: _freeze(item) for key, item in value.items()}
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def find_case(name: str, rules: str) -> Case:
    """Return a case by its name.

    Raises ConformanceError if there is no such case.
    """
    cases = {case.name: case for case in load_cases(rules)}
    if name not in cases:
        raise ConformanceError(f"no case {name!r} for {rules}; known: {', '.join(cases)}")
    return cases[name]


def run_policy(policy: str | Policy, cases: Iterable[Case]) -> list[Verdict]:
    """Return a verdict on each case that a policy of bfenv or of your own schedules.

    Args:
        policy: A policy or its name.
        cases: Those of `load_cases`, or a choice of them.

    Raises:
        PolicyError: If the policy raises anything.

    Examples:
        >>> from bfenv_judge import load_cases, run_policy
        >>> cases = [case for case in load_cases() if case.rules == "easy" and not case.convention]
        >>> all(verdict.passed for verdict in run_policy("easy", cases))
        True
    """
    policy = find_policy(policy)
    verdicts = []
    for case in cases:
        submit, size, runtime, estimate = zip(*case.jobs, strict=True)
        killed = [min(pair) for pair in zip(runtime, estimate, strict=True)]
        trace = make_trace(submit, size, killed, case.processors, estimate=estimate, name=case.name)
        verdicts.append(Verdict(case, tuple(simulate_safely(trace, policy, 0).start.tolist())))
    return verdicts


def run_command(
    command: str,
    cases: Sequence[Case],
    *,
    seconds: float = 60,
    done: Callable[[], None] = lambda: None,
) -> list[Verdict]:
    """Return a verdict on each case that a command schedules, which reads SWF and writes starts.

    Args:
        command: The command line. "{input}" is replaced by the SWF file of a case, "{output}" by
            the file that the command writes; without "{output}", its standard output is read. No
            shell is used. The answer is SWF, in which the wait of each job counts, or lines "job
            start".
        cases: What to schedule.
        seconds: Time limit for each case.
        done: Called after each case.

    Raises:
        ConformanceError: If the command cannot be started, fails, takes too long or writes
            something else.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConformanceError(f"cannot read the command: {error}") from None
    if not any("{input}" in word for word in words):
        raise ConformanceError('the command lacks "{input}", the SWF file of a case')
    verdicts = []
    for case in cases:
        verdicts.append(Verdict(case, read_starts(_answer(words, case, seconds), case)))
        done()
    return verdicts


def _answer(words: list[str], case: Case, seconds: float) -> str:
    with tempfile.TemporaryDirectory() as folder:
        paths = {"{input}": Path(folder, "jobs.swf"), "{output}": Path(folder, "starts.txt")}
        printed, complaints = Path(folder, "stdout"), Path(folder, "stderr")
        paths["{input}"].write_text(format_swf(case), encoding="ascii")
        for mark, path in paths.items():
            words = [word.replace(mark, str(path)) for word in words]
        with open(printed, "wb") as out, open(complaints, "wb") as err:
            try:
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            except OSError as error:
                raise ConformanceError(f"cannot run {words[0]!r}: {error.strerror}") from error
            with process:
                try:
                    _wait(process, case, seconds, (printed, complaints, paths["{output}"]))
                finally:
                    process.kill()
        if process.returncode:
            last_line = complaints.read_bytes().decode(errors="replace").strip().splitlines()[-1:]
            reason = f": {one_line(last_line[0][:LONGEST])}" if last_line else ""
            raise ConformanceError(f"{case.name}: exit status {process.returncode}{reason}")
        output = paths["{output}"]
        try:
            text = read_file(output if os.path.lexists(output) else printed, LARGEST, follow=False)
        except BfenvError as error:
            raise ConformanceError(f"{case.name}: {error}") from error
        return text.decode(errors="replace")


def _wait(
    process: "subprocess.Popen[bytes]", case: Case, seconds: float, written: Sequence[Path]
) -> None:
    """Wait for the end of a command; ConformanceError if it takes too long or writes too much."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            process.wait(PAUSE)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        if any(path.exists() and path.stat().st_size > LARGEST for path in written):
            raise ConformanceError(f"{case.name}: the command writes more than {LARGEST:,} bytes")
        if ended:
            return
        if time.monotonic() > deadline:
            raise ConformanceError(f"{case.name}: no answer within {seconds:g} s")


def format_swf(case: Case) -> str:
    """Write the jobs of a case as SWF; jobs are numbered from 1."""
    header = (
        "; Version: 2.2",
        f"; MaxNodes: {case.processors}",
        f"; MaxProcs: {case.processors}",
        f"; MaxJobs: {len(case.jobs)}",
        f"; Note: {case.rules}/{case.name}: {case.rule}",
    )
    lines = (
        f"{number} {submit} -1 {runtime} {size} -1 -1 {size} {estimate} -1 1 1 1 1 1 1 -1 -1"
        for number, (submit, size, runtime, estimate) in enumerate(case.jobs, 1)
    )
    return "\n".join((*header, *lines)) + "\n"


def read_starts(text: str, case: Case) -> tuple[int, ...]:
    """Read the starts of the jobs of a case: SWF, or lines "job start".

    Raises ConformanceError if a line has another form, a job is missing, unknown or there twice.
    """
    starts: dict[int, int] = {}
    for line in text.splitlines():
        words = line.replace(",", " ").split()
        if not words or line.lstrip().startswith((";", "#")):
            continue
        try:
            numbers = [int(float(word)) for word in words]
        except (ValueError, OverflowError):
            numbers = []
        if len(numbers) not in (2, 18):
            raise ConformanceError(
                f'{case.name}: expected lines "job start" or of 18 numbers, got {line[:60]!r}'
            )
        job = numbers[0]
        if not 1 <= job <= len(case.jobs) or job in starts:
            fault = "twice in the answer" if job in starts else "unknown"
            raise ConformanceError(f"{case.name}: job {job} is {fault}")
        starts[job] = numbers[1] if len(numbers) == 2 else numbers[1] + numbers[2]
    for job in range(1, len(case.jobs) + 1):
        if job not in starts:
            raise ConformanceError(f"{case.name}: job {job} is missing in the answer")
    return tuple(starts[job] for job in range(1, len(case.jobs) + 1))


def explain(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the single mistakes that explain all starts, in these and only these cases."""
    causes = {cause for verdict in verdicts for cause in verdict.case.mistakes}
    return sorted(
        cause
        for cause in causes
        if not all(verdict.passed for verdict in verdicts)
        and all(
            verdict.starts == verdict.case.mistakes.get(cause, verdict.case.starts)
            for verdict in verdicts
        )
    )


def export_cases(folder: Path, cases: Iterable[Case]) -> list[Path]:
    """Write the cases for use without bfenv: SWF files, and `cases.json` with the starts.

    Raises ConformanceError if the folder exists and is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise ConformanceError(f"{folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    entries = []
    for case in cases:
        path = folder / f"{case.rules}-{case.name}.swf"
        write_atomically(path, format_swf(case).encode("ascii"))
        written.append(path)
        entries.append({"file": path.name, **asdict(case)})
    path = folder / "cases.json"
    write_atomically(path, (json.dumps(entries, indent=1) + "\n").encode("ascii"))
    return [*written, path]


def draw(case: Case) -> str:
    """Draw the expected schedule: a line for each processor, a character for each second."""
    ends = [
        start + min(runtime, estimate)
        for start, (_, _, runtime, estimate) in zip(case.starts, case.jobs, strict=True)
    ]
    lines = [[" "] * max(ends) for _ in range(case.processors)]
    order = sorted(range(len(case.jobs)), key=lambda job: (case.starts[job], job))
    for job in order:
        begin, end = case.starts[job], ends[job]
        unused = [line for line in lines if line[begin] == " "]
        for line in unused[: case.jobs[job][1]]:
            line[begin:end] = str((job + 1) % 10) * (end - begin)
    axis = "".join(f"{second:<10}" for second in range(0, max(ends) + 1, 10))
    return "\n".join(["|" + "".join(line) for line in reversed(lines)] + [" " + axis.rstrip()])
