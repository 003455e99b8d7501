"""The command `bfenv leaderboard export`."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from bfenv.cli import options, show
from bfenv.core.errors import BfenvError

if TYPE_CHECKING:
    from bfenv.leaderboard.store import Leaderboard


class ExportFormat(StrEnum):
    """Formats of rows, and of schedules."""

    csv = "csv"
    jsonl = "jsonl"
    swf = "swf"
    batsim = "batsim"


def export(
    folder: options.LeaderboardArgument,
    format: ExportFormat = options.option(
        ExportFormat.csv,
        "FORMAT",
        f"Output format: {options.choices(ExportFormat)}.",
        "--format",
        "-f",
    ),
    out: Path | None = options.option(
        None, "PATH", "File; for schedules, a new folder.", "--out", "-o"
    ),
    force: options.ForceOption = False,
) -> None:
    """Export rows or schedules for other programs.

    Rows are exported as csv or jsonl, schedules as swf or batsim, the format of the simulator
    Batsim. csv has a column for every value except curves, jsonl has everything. Schedules that
    were not kept are simulated again.

    \b
    Examples:
      bfenv leaderboard export board --out rows.csv
      bfenv leaderboard export board --format swf --out schedules
    """
    from bfenv.core.files import write_atomically
    from bfenv.leaderboard.export import rows_csv, rows_jsonl
    from bfenv.leaderboard.store import read_leaderboard

    leaderboard = read_leaderboard(folder)
    if format in (ExportFormat.swf, ExportFormat.batsim):
        _export_schedules(leaderboard, format, out, force)
        return
    rows = leaderboard.all_rows
    text = rows_csv(rows) if format is ExportFormat.csv else rows_jsonl(rows)
    if out is None:
        sys.stdout.write(text)
        return
    options.check_new(out, force)
    write_atomically(out, text.encode())


def _export_schedules(
    leaderboard: "Leaderboard", format: ExportFormat, out: Path | None, force: bool
) -> None:
    from bfenv.leaderboard.export import write_schedule
    from bfenv.leaderboard.replay import schedule_of

    if out is None:
        raise BfenvError(f"--format {format.value} writes many files and needs --out FOLDER")
    options.check_folder(out)
    if out.exists() and not (force and out.is_dir()):
        raise BfenvError(f"{out} exists; use --force to write into an existing folder")
    out.mkdir(exist_ok=True)
    suffix = ".swf.gz" if format is ExportFormat.swf else "_jobs.csv"
    missing = []
    with show.progress() as progress:
        for row in progress.track(leaderboard.rows, description="exporting"):
            try:
                schedule = schedule_of(leaderboard, row)
            except BfenvError as error:  # such as one of an agent that was not kept
                missing.append(f"{row.policy} on {row.workload}: {error}")
                continue
            write_schedule(schedule, out / (row.key + suffix))
    if missing:
        count = f"{len(missing)} of {len(leaderboard.rows)}"
        raise BfenvError(f"{count} schedules could not be written, first {missing[0]}")
