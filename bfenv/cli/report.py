"""What is made of a leaderboard's folder, and the Gantt chart of a schedule."""

import csv
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bfenv.cli import options, show
from bfenv.cli.show import Format
from bfenv.core.errors import BfenvError

DEFAULT_SPAN = "6h"
UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Of `bfenv leaderboard run --out DIR`.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]


class ExportFormat(StrEnum):
    """Into what rows and schedules are exported."""

    csv = "csv"
    jsonl = "jsonl"
    swf = "swf"
    batsim = "batsim"


def report(
    folder: Folder,
    format: Annotated[
        Format, typer.Option("--format", "-f", help="How to print the ranked table.")
    ] = Format.table,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table as Markdown.")] = None,
    readme: Annotated[
        Path | None, typer.Option(help="Renew the table between the marks of a README.")
    ] = None,
    workload: Annotated[
        str | None, typer.Option("--workload", "-w", help="Of the page's Gantt chart.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="Of the page's Gantt chart, one or two."),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", help="First moment of it, such as 36h or 5d.")
    ] = None,
    span: Annotated[str | None, typer.Option(help="How much of it, such as 1h or 2d.")] = None,
) -> None:
    """Rank the policies of a leaderboard, and make a page of it.

    The page asks nothing of any other machine. Its Gantt chart shows the same hours under two
    policies: those of --policy, or else EASY and the best; without --from, the hours in which
    they differ most.

    \b
    Examples:
      bfenv leaderboard report DIR
      bfenv leaderboard report DIR --html board.html --markdown board.md
      bfenv leaderboard report DIR --html board.html --policy easy --policy sjf --from 36h --span 1h
    """
    from bfenv.core.files import write_atomically
    from bfenv.leaderboard.report.gantt_selection import choose
    from bfenv.leaderboard.report.markdown import markdown as as_markdown
    from bfenv.leaderboard.report.markdown import write_readme
    from bfenv.leaderboard.store import read_board

    of_the_page = {"--workload": workload, "--policy": policy, "--from": begin, "--span": span}
    for option, value in of_the_page.items():
        if value and html is None:
            raise BfenvError(f"{option} is for the page that --html writes, and there is no --html")
    board = read_board(folder)
    for path in (html, markdown):
        options.check_folder(path)
    if html is not None:
        from bfenv.leaderboard.report.page import page

        choice = choose(board, workload, policy or (), _seconds(begin), _seconds(span))
        write_atomically(html, page(board, choice).encode())
        if choice.absent:
            print(f"bfenv: {html} is without a Gantt chart: {choice.absent}", file=sys.stderr)
    if markdown is not None:
        write_atomically(markdown, as_markdown(board).encode())
    if readme is not None:
        write_readme(readme, as_markdown(board))
    _print(board, format)


def export(
    folder: Folder,
    format: Annotated[
        ExportFormat, typer.Option("--format", "-f", help="Of rows, or of schedules.")
    ] = ExportFormat.csv,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File; of schedules, a folder that is not there yet."),
    ] = None,
    force: Force = False,
) -> None:
    """Export rows or schedules for other programs.

    Rows are written as csv or jsonl, schedules as swf or as the simulator Batsim does. csv has a
    column for every value but the curves, jsonl all of them. Schedules that were not kept are
    simulated anew.

    \b
    Examples:
      bfenv leaderboard export DIR --out rows.csv
      bfenv leaderboard export DIR --format swf --out schedules
    """
    from bfenv.core.files import write_atomically
    from bfenv.leaderboard.export import rows_csv, rows_jsonl
    from bfenv.leaderboard.store import read_board

    board = read_board(folder)
    if format in (ExportFormat.swf, ExportFormat.batsim):
        _export_schedules(board, format, out, force)
        return
    rows = [*board.rows, *board.failed]
    text = rows_csv(rows) if format is ExportFormat.csv else rows_jsonl(rows)
    if out is None:
        sys.stdout.write(text)
        return
    options.check_new(out, force)
    write_atomically(out, text.encode())


def gantt(
    out: Annotated[Path, typer.Option("--out", "-o", help="Picture: .png, .svg or .pdf.")],
    workload: Annotated[
        str, typer.Option("--workload", "-w", help="Name (see `bfenv workloads`) or SWF file.")
    ] = "lublin",
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="See `bfenv policies`; two are compared."),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", help="First moment, such as 36h or 5d.")
    ] = None,
    span: Annotated[str, typer.Option(help="How much, such as 1h or 2d.")] = DEFAULT_SPAN,
    seed: Annotated[int, typer.Option(min=0, help="Of a stochastic policy.")] = 0,
    force: Force = False,
) -> None:
    """Draw who ran where and when, under one policy or two.

    Both have the same jobs. Backfilled jobs are hatched, and below the machine is its queue.
    Without --from, the hours shown are those in which two policies differ most, or most jobs wait.

    \b
    Examples:
      bfenv gantt --out gantt.png
      bfenv gantt --policy fcfs --policy easy --from 5d --span 12h --out gantt.svg
    """
    from bfenv.analysis.plots.figure import check_target
    from bfenv.analysis.plots.gantt import write_gantt
    from bfenv.analysis.plots.gantt_interval import choose_begin
    from bfenv.parallel.evaluation import simulated
    from bfenv.workloads.load import load_workload

    names = policy or ["easy"]
    if len(names) > 2:
        raise BfenvError(f"a Gantt chart is of one policy or two, not {len(names)}")
    check_target(out)
    options.check_new(out, force)
    first, length = _seconds(begin), _seconds(span)
    trace = load_workload(workload)
    schedules = [simulated(trace, name, seed) for name in names]
    end = max(int(schedule.end.max()) for schedule in schedules)
    length = min(length, end)
    if first is None:
        first = choose_begin(schedules, length)
    if first < end:  # else it is an error, and told
        length = min(length, end - first)
    with show.progress() as progress:
        progress.add_task("drawing", total=None)
        write_gantt(schedules, out, first, length)


def _print(board, format: Format) -> None:
    from bfenv.leaderboard.report.markdown import (
        COLUMNS,
        DETAILS,
        cells,
        markdown,
        notes,
        ranked,
        title,
    )

    lines = ranked(board)
    if format is Format.json:
        print(json.dumps([line._asdict() for line in lines], indent=1, allow_nan=False))
    elif format is Format.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(type(lines[0])._fields)
        writer.writerows(lines)
    elif format is Format.markdown:
        sys.stdout.write(markdown(board))
    else:
        kept = [i for i, column in enumerate(COLUMNS) if show.is_wide() or column not in DETAILS]
        table = [[line[i] for i in kept] for line in map(cells, lines)]
        show.table([COLUMNS[i] for i in kept], table, numbers=len(kept) - 2, title=title(board))
        print("\n".join(notes(board, lines)))


def _export_schedules(board, format: ExportFormat, out: Path | None, force: bool) -> None:
    from bfenv.leaderboard.export import write_schedule
    from bfenv.leaderboard.replay import schedule_of
    from bfenv.leaderboard.store import safe_name

    if out is None:
        raise BfenvError("schedules are many files: say --out FOLDER")
    options.check_folder(out)
    if out.exists() and not (force and out.is_dir()):
        raise BfenvError(f"{out} is there already; --force writes into a folder that is")
    out.mkdir(exist_ok=True)
    suffix = ".swf.gz" if format is ExportFormat.swf else "_jobs.csv"
    missing = []
    with show.progress() as progress:
        for row in progress.track(board.rows, description="exporting"):
            try:
                schedule = schedule_of(board, row)
            except BfenvError as error:  # an agent's, for instance, that was not kept
                missing.append(f"{row['policy']} on {row['workload']}: {error}")
                continue
            write_schedule(schedule, out / (safe_name(row["key"], 120, also="_") + suffix))
    if missing:
        count = f"{len(missing)} of {len(board.rows)}"
        raise BfenvError(f"{count} schedules could not be written, the first: {missing[0]}")


def _seconds(text: str | None) -> int | None:
    """The seconds of "90", "90s", "15min", "1.5h", "2d", "1w"."""
    if text is None:
        return None
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        seconds = float(number) * UNITS[text[len(number) :] or "s"]
    except (KeyError, ValueError):
        raise BfenvError(f"{text!r} is no time; say 90s, 15min, 1.5h, 2d or 1w") from None
    if not 0 <= seconds < 2**53:
        raise BfenvError(f"{text!r} is out of range")
    return round(seconds)
