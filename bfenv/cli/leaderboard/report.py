"""The command `bfenv leaderboard report`."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bfenv.cli import options, show
from bfenv.cli.options import FormatOption
from bfenv.cli.show import Format
from bfenv.core.distributions import load_offer
from bfenv.core.errors import BfenvError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bfenv.leaderboard.report.ranking import Column
    from bfenv.leaderboard.store import Leaderboard


def report(
    folder: options.LeaderboardArgument,
    format: FormatOption = Format.table,
    html: Path | None = options.option(
        None, "FILE", "Write a self-contained HTML page; needs bfenv[site]."
    ),
    markdown: Path | None = options.option(None, "FILE", "Write the table as Markdown."),
    by: str = options.option(
        "penalized", "MEASURE", "Rank by penalized, slowdown, wait or a metric of the rows."
    ),
    metrics: bool = typer.Option(
        False, "--metrics", help="Show the places under other metrics, too."
    ),
    metric: list[str] | None = options.option(
        None, "NAME", "Add a column with the mean of a metric of the rows; repeat for several."
    ),
    log: list[Path] | None = options.option(
        None, "FILE", "Log that the Gantt chart may open if rows name it. Repeat for several."
    ),
) -> None:
    """Rank the policies of a leaderboard.

    The default measure is the penalized slowdown: the mean bounded slowdown divided by EASY's,
    multiplied by the longest wait divided by EASY's if that is above 1. A mark shows the policies
    that starve jobs. The HTML page is a single file and makes no network requests. It ranks by the
    penalized slowdown. Its Gantt chart shows the hours in which EASY and the best policy differ
    most. For other hours, use `bfenv gantt`.

    \b
    Examples:
      bfenv leaderboard report board
      bfenv leaderboard report board --by slowdown
      bfenv leaderboard report board --metrics
      bfenv leaderboard report board --metric p95_bounded_slowdown_60
      bfenv leaderboard report board --html board.html --markdown board.md
    """
    from bfenv.core.files import write_atomically
    from bfenv.leaderboard.report.gantt_selection import select_gantt
    from bfenv.leaderboard.report.ranking import metric_column, render_markdown
    from bfenv.leaderboard.standings import PENALIZED, find_measure
    from bfenv.leaderboard.store import read_leaderboard

    if log and html is None:
        raise BfenvError("--log needs --html: it is for the Gantt chart of the page")
    if html is not None and markdown is not None and html.resolve() == markdown.resolve():
        raise BfenvError(f"--html and --markdown name the same file, {html}")
    for value, name in ((metrics, "--metrics"), (metric, "--metric")):
        if value and format in show.DATA:
            raise BfenvError(f"{name} needs --format table, markdown or latex")
    leaderboard = read_leaderboard(folder)
    if find_measure(by, leaderboard.rows) != PENALIZED and html is not None:
        raise BfenvError(
            f"--by {by} is not for --html: the page ranks by the penalized slowdown; "
            "use --markdown, or leave out --by"
        )
    more = [metric_column(leaderboard, name) for name in metric or ()]
    for path in (html, markdown):
        options.check_folder(path)
    if html is not None:
        render_page = load_offer("bfenv.pages", "leaderboard", "site", "--html, the page,")
        selection = select_gantt(leaderboard, log or ())
        write_atomically(html, render_page(leaderboard, selection, more).encode())
        if selection.absent:
            show.lines([f"bfenv: {html} has no Gantt chart: {selection.absent}"], sys.stderr)
    if markdown is not None:
        write_atomically(markdown, render_markdown(leaderboard, more, by).encode())
    _print(leaderboard, format, more, by)
    if metrics:
        _print_metrics(leaderboard, format)


def _print(leaderboard: "Leaderboard", format: Format, more: "Sequence[Column]", by: str) -> None:
    import bfenv.leaderboard.report.ranking as rk
    from bfenv.analysis.formatting import csv_text
    from bfenv.evaluation.calibration_lines import COLUMNS, calibration_lines
    from bfenv.leaderboard.report.sections import sections_of
    from bfenv.leaderboard.standings import Standing

    lines = rk.ranked(leaderboard, by)
    if format is Format.json:
        print(json.dumps([line._asdict() for line in lines], indent=1, allow_nan=False))
    elif format is Format.csv:
        sys.stdout.write(csv_text(Standing._fields, lines))
    elif format is Format.markdown:
        sys.stdout.write(rk.render_markdown(leaderboard, more, by))
    else:
        columns = [*rk.telling_columns(lines, rk.columns_by(by)), *more]
        cells = list(zip(*(column.texts(lines) for column in columns), strict=True))
        if cells:
            headings = [column.lines for column in columns]
            show.table(
                headings,
                cells,
                format,
                numbers=len(headings) - 1,
                title=rk.title(leaderboard),
                ranked=True,
            )
        mark = "% " * (format is Format.latex)  # a comment
        show.lines(mark + text for text in rk.notes(leaderboard, lines))
        for table in (table for section in sections_of(leaderboard) for table in section.tables):
            if not table.in_text:
                continue
            print()
            show.table(
                [heading.replace(" ", "\n") for heading in table.columns],
                [[value.text for value in line] for line in table.lines],
                format,
                numbers=len(table.columns) - table.words,
                whole_names=table.words,
                note=table.note,
            )
        headings = [heading.replace(" ", "\n", 1) for heading in COLUMNS]
        for workload, cells in calibration_lines(leaderboard.rows, leaderboard.logged).items():
            show.table(
                headings, cells, format, numbers=len(headings) - 1, whole_names=1, title=workload
            )


def _print_metrics(leaderboard: "Leaderboard", format: Format) -> None:
    import bfenv.leaderboard.report.other_metrics as om

    rows = leaderboard.rows
    headings = [heading.replace(" ", "\n").replace("-", "-\n") for heading in om.COLUMNS]
    print()
    show.table(
        headings,
        om.metric_lines(rows),
        format,
        numbers=len(om.COLUMNS) - 2,
        title="places under several metrics",
        note="\n".join(om.metric_notes(rows)),
    )
