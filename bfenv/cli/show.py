"""How rows and tables are printed on the terminal, as JSON, CSV and Markdown."""

import csv
import json
import math
import sys
from collections.abc import Sequence
from enum import StrEnum
from itertools import accumulate
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from bfenv.analysis.comparison import STARVES
from bfenv.analysis.formatting import duration as duration
from bfenv.analysis.formatting import percent as percent
from bfenv.analysis.formatting import slowdown as slowdown
from bfenv.leaderboard.reference import REFERENCE

COMPARED = (
    "policy", "bounded\nslowdown", "mean\nwait", "p95\nwait", "longest\nwait", "used", "run"
)  # fmt: skip
NARROWEST = 12  # characters to which a column of words may shrink
MARK = "*"  # of a policy that starves jobs

ROWS = TextColumn("{task.fields[rows]}")  # of a bar whose length is time


class Format(StrEnum):
    """How rows are printed."""

    table = "table"
    markdown = "markdown"
    json = "json"
    csv = "csv"


def progress(count: ProgressColumn | None = None) -> Progress:
    """A progress bar on stderr, where that is a terminal; `count` tells how much is done."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description:<24}", markup=False),
        BarColumn(),
        count or MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def rows(rows: Sequence[dict[str, Any]], format: Format) -> None:
    """Print raw rows as JSON or CSV."""
    if format is Format.json:
        finite = [
            {k: None if v in (math.inf, -math.inf) else v for k, v in row.items()} for row in rows
        ]
        print(json.dumps(finite, indent=1, allow_nan=False))
        return
    writer = csv.DictWriter(sys.stdout, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def table(
    columns: Sequence[str],
    lines: Sequence[Sequence[str]],
    format: Format = Format.table,
    *,
    numbers: int = 0,
    title: str | None = None,
    note: str = "",
) -> None:
    """Print a table for people, and a note under it.

    `numbers` says how many of the columns, from the right, hold numbers. These are never cut: on a
    narrow terminal words are folded, and if that is not enough the last numbers are left out.
    """
    if format is Format.markdown:
        print("| " + " | ".join(columns).replace("\n", " ") + " |")
        print("|---" * (len(columns) - numbers) + "|--:" * numbers + "|")
        for line in lines:
            print("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |")
        if note:
            print(f"\n{note}")
        return
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    words = len(columns) - numbers
    widths = [
        max(map(len, "\n".join(cells).split("\n"))) for cells in zip(columns, *lines, strict=True)
    ]
    room = Console().width - words * NARROWEST
    shown = words + sum(room >= taken for taken in accumulate(w + 1 for w in widths[words:]))
    columns, lines = columns[:shown], [line[:shown] for line in lines]
    for place, column in enumerate(columns):
        number = place >= words
        justify = "right" if number else "left"
        whole = number or (place == 0 and not numbers)  # names that are to be typed
        grid.add_column(column, justify=justify, no_wrap=whole, overflow="fold")
    for line in lines:
        grid.add_row(*map(escape, line))  # names may have brackets
    # Not as the table's own title and caption, which are as narrow as the table.
    if title:
        print(title)
    Console().print(grid)
    if note:
        print(f"{note}\n")


def is_wide() -> bool:
    """Whether the terminal has room for details."""
    return Console().width >= 110


def comparison(rows: Sequence[dict[str, Any]], format: Format) -> None:
    """One line per policy, best mean bounded slowdown first, means over seeds."""
    by_policy: dict[str, list[dict]] = {}
    for row in rows:
        by_policy.setdefault(row["policy"], []).append(row)

    def mean(policy: str, column: str) -> float:
        runs = by_policy[policy]
        return sum(run[column] for run in runs) / len(runs)

    # A mean bought by starving jobs is not to be read without saying so.
    easy = {run["seed"]: run["max_wait"] for run in by_policy.get(REFERENCE, ())}
    starving = {
        row["policy"]
        for row in rows
        if row["max_wait"] > STARVES * easy.get(row["seed"], easy.get(0, math.inf))
    }
    first = rows[0]
    loads = [row["offered_load"] for row in rows]
    load = " to ".join(sorted({f"{min(loads):.2f}", f"{max(loads):.2f}"}))
    seeds = max(row["seed"] for row in rows) + 1
    lines = [
        (
            policy,
            slowdown(mean(policy, "mean_bounded_slowdown")),
            duration(mean(policy, "mean_wait")),
            duration(mean(policy, "p95_wait")),
            duration(mean(policy, "max_wait")) + (MARK if policy in starving else ""),
            percent(mean(policy, "utilization")),
            quantity(mean(policy, "seconds"), "s"),
        )
        for policy in sorted(by_policy, key=lambda name: mean(name, "mean_bounded_slowdown"))
    ]
    table(
        COMPARED,
        lines,
        format,
        numbers=len(COMPARED) - 1,
        title=f"{first['workload']}: {first['jobs']:,} jobs on {first['processors']:,} processors, "
        f"offered load {load}" + (f", means of {seeds} seeds" if seeds > 1 else ""),
        note=f"{MARK} starves: its longest wait is over {STARVES:g} times EASY's"
        if starving
        else "",
    )


def quantity(value: float, unit: str) -> str:
    """Three digits or so; seconds below one as milliseconds."""
    if unit == "s" and value < 1:
        value, unit = value * 1e3, "ms"
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
