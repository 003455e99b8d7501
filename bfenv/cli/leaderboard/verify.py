"""The command `bfenv leaderboard verify`."""

import zipfile
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfenv.cli import options, show
from bfenv.cli.options import FormatOption
from bfenv.cli.show import Format
from bfenv.core.durations import MINUTE

if TYPE_CHECKING:
    from bfenv.leaderboard.verify import Verdict


def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of rows, or a bundle of `submit`.")
    ],
    sample: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Run only N rows again, drawn at random."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of --sample.")] = 0,
    salt: Annotated[
        str | None,
        typer.Option(metavar="TEXT", envvar=options.SALT, help="Salt of the suite, if it has one."),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload",
            "-w",
            metavar="WORKLOAD",
            help="Of a suite known by commitments; repeat for several.",
        ),
    ] = None,
    commitment: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What `bfenv leaderboard commit` published of them."),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Open saved models and run players, which may do anything."),
    ] = False,
    timeout: Annotated[
        int,
        options.duration_option("--timeout", "Time limit of a row.  [default: 10min]", least=1),
    ] = 10 * MINUTE,
    format: FormatOption = Format.table,
) -> None:
    """Check that the rows of a leaderboard are true.

    The suite and its traces are compared with bfenv's own. Schedules that were kept are checked
    against the machine, and their results are computed again from starts and ends. Rows are run
    again and must have the same bytes, except for versions and commit. Bounds are verified. The
    exit status is 1 if anything is wrong.

    Rows whose code Python does not find are not run again. To include them, unpack the bundle, read
    the code, and add its folder `code` to PYTHONPATH.

    \b
    Examples:
      bfenv leaderboard verify board
      bfenv leaderboard verify board --sample 10
      bfenv leaderboard verify bundle.zip --trust
      bfenv leaderboard verify board --workload site.swf.gz --salt TEXT --commitment published.json
    """
    from bfenv.leaderboard.submission import unpacked
    from bfenv.leaderboard.verify import WRONG
    from bfenv.leaderboard.verify import verify as check

    verdicts: list[Verdict] = []
    with (
        unpacked(folder) if zipfile.is_zipfile(folder) else nullcontext(folder) as place,
        show.progress() as progress,
    ):
        task = progress.add_task("verifying", total=None)
        for verdict in check(
            place,
            sample=sample,
            seed=seed,
            salt=salt,
            workloads=workload or (),
            commitment=None if commitment is None else commitment.read_bytes(),
            trust=trust,
            timeout=timeout,
            begin=lambda count: progress.update(task, total=count),
        ):
            verdicts.append(verdict)
            progress.advance(task)
    _print(verdicts, format)
    if any(verdict.verdict == WRONG for verdict in verdicts):
        raise typer.Exit(1)


def _print(verdicts: "list[Verdict]", format: Format) -> None:
    from bfenv.leaderboard.verify import CHECKS, HOLDS, UNCHECKED, WRONG

    if format in (Format.json, Format.csv):
        rows = [
            {
                "check": one.check,
                "verdict": one.verdict,
                "policy": "" if one.row is None else one.row.policy,
                "workload": "" if one.row is None else one.row.workload,
                "seed": "" if one.row is None else one.row.seed,
                "reason": one.reason,
            }
            for one in verdicts
        ]
        show.rows(rows, format)
        return
    counts = Counter((one.check, one.verdict) for one in verdicts)
    words = (HOLDS, WRONG, UNCHECKED)
    lines = [
        (check, *(str(counts[check, word] or "") for word in words), _reasons(verdicts, check))
        for check in CHECKS
        if any(counts[check, word] for word in words)
    ]
    show.table(("check", *words, "why not checked"), lines, format, whole_names=True)
    for one in verdicts:
        if one.verdict == WRONG:
            what = (
                ""
                if one.row is None
                else (f"{one.row.policy} on {one.row.workload}, seed {one.row.seed}: ")
            )
            show.lines([f"{one.check}: {what}{one.reason}"])


def _reasons(verdicts: "list[Verdict]", check: str) -> str:
    """List the reasons for which checks were left out, each once."""
    from bfenv.leaderboard.verify import UNCHECKED

    left_out = (one for one in verdicts if (one.check, one.verdict) == (check, UNCHECKED))
    return "; ".join(dict.fromkeys(one.reason for one in left_out))
