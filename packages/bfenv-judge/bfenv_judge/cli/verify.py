"""The command `bfenv leaderboard verify`."""

from collections import Counter
from typing import TYPE_CHECKING

import typer

from bfenv.analysis.formatting import compound_duration
from bfenv.cli import options, show
from bfenv.cli.options import FormatOption
from bfenv.cli.show import Format
from bfenv.core.durations import MINUTE
from bfenv.core.text import counted, one_line

if TYPE_CHECKING:
    from bfenv.evaluation.row import Row
    from bfenv_judge.verify import CheckResult

TIMEOUT = 10 * MINUTE
UNVERIFIED_STATUS = 3  # exit status


def verify(
    folder: options.LeaderboardArgument,
    sample: int | None = options.option(
        None, "N", "Run only N rows again, drawn at random.", min=0
    ),
    seed: int = options.option(0, "N", "Seed of --sample.", min=0),
    workload: list[str] | None = options.option(
        None,
        "WORKLOAD",
        "Log of a suite of users' own logs; repeat for several.",
        "--workload",
        "-w",
    ),
    trust: bool = typer.Option(
        False, "--trust", help="Open saved models and run the programs of players."
    ),
    sandbox: options.SandboxOption = options.Sandbox.none,
    timeout: int = options.duration_option(
        TIMEOUT,
        "--timeout",
        f"Time limit of a row.  [default: {compound_duration(TIMEOUT)}]",
        least=1,
    ),
    jobs: options.JobsOption = 1,
    backend: options.BackendOption = "loky",
    scheduler: options.SchedulerOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Check the rows of a leaderboard.

    The suite and its traces are compared with bfenv's. Names must not imitate bfenv's policies and
    agents, and rows with their names must not refer to other code. Kept schedules are checked
    against the machine, and their results are computed again from starts and ends. Rows are run
    again and must have the same bytes, except for versions, commit and sandbox. Bounds are
    verified.

    The exit status is 0 if every row was run again and every check passed, and 1 if a check failed.
    Otherwise it is 3: some rows were not run again, so their results are unverified. The output
    counts them. A kept schedule does not prove who made it. If Python does not find the code of a
    row, the row is not run again: read the code, and add its folder to PYTHONPATH.

    \b
    Examples:
      bfenv leaderboard verify board
      bfenv leaderboard verify board --sample 10
      bfenv leaderboard verify board --trust --sandbox bwrap
      bfenv leaderboard verify board --workload site.swf.gz
    """
    from bfenv_judge.verify import UNVERIFIED, WRONG
    from bfenv_judge.verify import verify as check

    if trust:
        options.warn_of_root(sandbox)
    verdicts: list[CheckResult] = []
    limits = options.player_limits(sandbox)
    with show.progress() as progress:
        task = progress.add_task("verifying", total=None)
        for verdict in check(
            folder,
            sample=sample,
            seed=seed,
            workloads=workload or (),
            trust=trust,
            timeout=timeout,
            limits=limits,
            waiting=lambda name: progress.update(
                task, description=f"running {one_line(name)}"[:40]
            ),
            begin=lambda count: progress.update(task, total=count),
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
        ):
            verdicts.append(verdict)
            progress.advance(task)
    _print(verdicts, format)
    values = {verdict.verdict for verdict in verdicts}
    if WRONG in values or UNVERIFIED in values:
        raise typer.Exit(1 if WRONG in values else UNVERIFIED_STATUS)


def _print(verdicts: "list[CheckResult]", format: Format) -> None:
    from bfenv_judge.verify import CHECKS, HOLDS, UNCHECKED, UNVERIFIED, WRONG

    if format in (Format.json, Format.csv):
        rows = [
            {
                "check": verdict.check,
                "verdict": verdict.verdict,
                "policy": "" if verdict.row is None else verdict.row.policy,
                "workload": "" if verdict.row is None else verdict.row.workload,
                "seed": "" if verdict.row is None else verdict.row.seed,
                "reason": verdict.reason,
            }
            for verdict in verdicts
        ]
        show.rows(rows, format)
        return
    counts = Counter((verdict.check, verdict.verdict) for verdict in verdicts)
    words = (HOLDS, WRONG, UNCHECKED, UNVERIFIED)
    lines = []
    for check in CHECKS:
        reasons = dict.fromkeys(
            verdict.reason
            for verdict in verdicts
            if (verdict.check, verdict.verdict) == (check, UNCHECKED)
        )
        numbers = [str(counts[check, word] or "") for word in words]
        if any(numbers):
            lines.append((check, *numbers, "; ".join(reasons)))
    show.table(("check", *words, "why not checked"), lines, format, whole_names=True)
    for result in verdicts:
        if result.verdict == WRONG:
            place = f"{_place(result.row)}: " if result.row else ""
            show.lines([f"{result.check} {WRONG}: {place}{result.reason}"])
    unverified: dict[str, list[Row]] = {}
    for result in verdicts:
        if result.verdict == UNVERIFIED and result.row:
            unverified.setdefault(result.reason, []).append(result.row)
    row_count = len({result.row.key for result in verdicts if result.row})
    for reason, (first, *more) in unverified.items():
        example = f"such as {_place(first)}" if more else _place(first)
        count = counted(1 + len(more), "row")
        show.lines([f"results {UNVERIFIED}: {count} of {row_count:,}, {example}: {reason}"])


def _place(row: "Row") -> str:
    return f"{row.policy} on {row.workload}, seed {row.seed}"
