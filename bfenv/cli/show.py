"""How rows and tables are printed: for people, as Markdown, JSON or CSV."""

import json
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from bfenv.analysis.calibration import VERDICTS_MEANING, verdict
from bfenv.analysis.comparison import STARVES
from bfenv.analysis.csv_text import csv_text
from bfenv.analysis.formatting import (
    durations,
    job_count,
    offered_load,
    percent,
    processor_count,
    ratio,
    slowdown,
)
from bfenv.analysis.logged import LOGGED
from bfenv.core.errors import one_line, printable
from bfenv.core.policy import CLAIRVOYANT, COMPLETION, DIVISIONS, DIVISIONS_MEANING
from bfenv.leaderboard.reference import REFERENCE

COMPARED = (
    "policy", "division", "bounded\nslowdown", "mean\nwait", "p95\nwait", "longest\nwait", "used",
    "run",
)  # fmt: skip
NARROWEST = 12  # characters to which a column of words may shrink
NAMES_SHARE = 0.3  # of the terminal, beyond which names are folded
PATIENCE = 5  # seconds of a run before a progress bar is shown
REFRESH = 0.5  # seconds
CLAIRVOYANT_MEANING = (
    "clairvoyant: the estimates are the runtimes, as in a log without estimates, so the policies "
    "know how long each job will run"
)
MARK = "*"  # marks a policy that starves jobs

ROWS = TextColumn("{task.fields[rows]}")  # for a bar whose length is time


class Format(StrEnum):
    """Output formats of rows."""

    table = "table"
    markdown = "markdown"
    json = "json"
    csv = "csv"


def progress(count: ProgressColumn | None = None) -> Progress:
    """Return a progress bar on stderr, disabled if that is not a terminal.

    `count` is the column that shows how much is done.
    """
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


@contextmanager
def share_done(description: str) -> Iterator[Callable[[Callable[[], float]], None]]:
    """Yield a function that watches a run: if it takes long, a progress bar shows what it reports.

    The function takes another, which returns the share that is done.
    """
    ended = threading.Event()
    watchers: list[threading.Thread] = []

    def show(share: Callable[[], float]) -> None:
        if ended.wait(PATIENCE):
            return
        with progress(TaskProgressColumn()) as bar:
            task = bar.add_task(description, total=1.0)
            while not ended.wait(REFRESH):
                bar.update(task, completed=share())

    def watch(share: Callable[[], float]) -> None:
        watchers.append(threading.Thread(target=show, args=[share], daemon=True))
        watchers[-1].start()

    try:
        yield watch
    finally:
        ended.set()
        for watcher in watchers:
            watcher.join()


def rows(rows: Sequence[Mapping[str, Any]], format: Format) -> None:
    """Print raw rows as JSON or CSV."""
    if format is Format.json:
        finite = [
            {
                k: None if isinstance(v, float) and not math.isfinite(v) else v
                for k, v in row.items()
            }
            for row in rows
        ]
        print(json.dumps(finite, indent=1, allow_nan=False))
        return
    columns = list(rows[0])
    sys.stdout.write(csv_text(columns, ([row[name] for name in columns] for row in rows)))


def lines(texts: Iterable[str], file: TextIO | None = None) -> None:
    """Print texts that may come from anywhere, each in one line; on stdout by default."""
    for text in texts:
        print(one_line(text), file=file)


def table(
    columns: Sequence[str],
    lines: Sequence[Sequence[str]],
    format: Format = Format.table,
    *,
    numbers: int = 0,
    whole_names: int = 0,
    title: str | None = None,
    note: str = "",
) -> None:
    """Print a table with a title above it and a note below it.

    Parameters
    ----------
    columns
        The headings.
    lines
        The cells of each line.
    format
        `table` or `markdown`.
    numbers
        How many of the columns, from the right, hold numbers. Numbers are never cut. On a narrow
        terminal, words are folded; if that is not enough, the last columns follow in further tables
        that repeat the words.
    whole_names
        How many columns, from the left, are never folded.
    title, note
        Text above and below the table; Markdown has no title.
    """
    # Rows come from anywhere.
    lines = [[printable(cell) for cell in line] for line in lines]
    title, note = printable(title or ""), printable(note)
    if format is Format.markdown:
        print("| " + " | ".join(columns).replace("\n", " ") + " |")
        print("|---" * (len(columns) - numbers) + "|--:" * numbers + "|")
        for line in lines:
            print("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |")
        if note:
            print(f"\n{note}")
        return
    words = len(columns) - numbers
    widths = [
        max(map(len, "\n".join(cells).split("\n"))) for cells in zip(columns, *lines, strict=True)
    ]
    width = Console().width
    share = NAMES_SHARE if words == 2 else 0.0  # with more columns of words, numbers come first
    least = [min(each, NARROWEST) for each in widths[:words]]
    least[0] = min(widths[0], max(NARROWEST, int(share * width)))
    least[:whole_names] = widths[:whole_names]
    folded = sum(least)
    parts, whole = (
        _parts(widths[words:], width - taken - 2 * words) for taken in (folded, sum(widths[:words]))
    )
    if title:  # not as that of a grid, which is as narrow as the table
        print(title)
    for part in whole if len(whole) == len(parts) else parts:
        own = [*range(words), *(words + i for i in part)]
        room = width - sum(widths[words + i] + 2 for i in part) - 2 * words
        fitted = _fitted(widths[:words], least, room)
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for i in own:
            number = i >= words
            # The first column holds names to type.
            unfolded = number or i < whole_names or (i == 0 and not numbers)
            grid.add_column(
                columns[i],
                justify="right" if number else "left",
                max_width=None if unfolded else fitted[i],
                no_wrap=unfolded,
                overflow="fold",
            )
        for line in lines:
            grid.add_row(*(escape(line[i]) for i in own))  # names may have brackets
        # A number that does not fit even beside folded words makes the table wider.
        needed = sum(fitted) + sum(widths[words + i] + 2 for i in part) + 2 * words
        Console(width=max(width, needed) if part else width).print(grid)
    if note:
        print(f"{note}\n")


def _parts(widths: Sequence[int], room: int) -> list[list[int]]:
    """Divide columns of numbers into parts that fit in this room, each at least one column."""
    parts: list[list[int]] = [[]]
    taken = 0
    for i, each in enumerate(widths):
        if parts[-1] and taken + each + 2 > room:
            parts.append([])
            taken = 0
        parts[-1].append(i)
        taken += each + 2
    return parts


def _fitted(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns of words in this room; each keeps at least `least`."""
    fitted = [max(least[0], min(widths[0], room - sum(widths[1:])))]
    for i, width in enumerate(widths[1:], 1):
        share = (room - sum(fitted)) // (len(widths) - i)
        fitted.append(max(least[i], min(width, share)))
    return fitted


def comparison(rows: Sequence[Mapping[str, Any]], format: Format) -> None:
    """Print a table of means over seeds, by division, the lowest bounded slowdown first.

    What the log records stands above all policies.
    """
    by_policy: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        by_policy.setdefault((row["division"], row["policy"]), []).append(row)

    def mean(policy: tuple[str, str], column: str) -> float:
        runs = by_policy[policy]
        return float(sum(run[column] for run in runs) / len(runs))

    # A low mean may be bought by starving jobs, so those policies are marked.
    easy = {row["seed"]: row["max_wait"] for row in rows if row["policy"] == REFERENCE}
    beyond = {
        row["policy"]
        for row in rows
        if row["max_wait"] > STARVES * easy.get(row["seed"], easy.get(0, math.inf))
    }
    starving = beyond - {LOGGED}
    first = rows[0]
    machine = f"{job_count(first['jobs'])} on {processor_count(first['processors'])}"
    load = offered_load(row["offered_load"] for row in rows)
    seeds = max(row["seed"] for row in rows) + 1
    policies = sorted(
        by_policy,
        key=lambda one: (
            one[1] != LOGGED,
            DIVISIONS.index(one[0]),
            mean(one, "mean_bounded_slowdown"),
        ),
    )
    waits = zip(
        *(
            durations(mean(policy, name) for policy in policies)
            for name in ("mean_wait", "p95_wait", "max_wait")
        ),
        strict=True,
    )
    lines = [
        (
            "logged, as it ran" if policy[1] == LOGGED else policy[1],
            "" if policy[1] == LOGGED else policy[0],
            slowdown(mean(policy, "mean_bounded_slowdown")),
            mean_wait,
            p95_wait,
            max_wait + (MARK if policy[1] in starving else ""),
            percent(mean(policy, "utilization")),
            "" if policy[1] == LOGGED else quantity(mean(policy, "seconds"), "s"),
        )
        for policy, (mean_wait, p95_wait, max_wait) in zip(policies, waits, strict=True)
    ]
    notes = []
    if starving:
        notes.append(f"{MARK} starves: its longest wait is over {STARVES:g} times EASY's")
    if LOGGED in beyond:
        notes.append("logged is not judged: in a log, jobs also wait for what is not simulated")
    if not easy:
        notes.append(f"starvation is not judged, because {REFERENCE} is not among the policies")
    divisions = {division for division, policy in policies if policy != LOGGED}
    if divisions == {CLAIRVOYANT}:
        notes.append(CLAIRVOYANT_MEANING)
    elif divisions != {COMPLETION}:
        notes.append(DIVISIONS_MEANING)
    shown = [
        i
        for i, heading in enumerate(COMPARED)
        if heading != "division" or divisions != {COMPLETION} or format is Format.markdown
    ]
    table(
        [COMPARED[i] for i in shown],
        [[line[i] for i in shown] for line in lines],
        format,
        numbers=len(COMPARED) - 2,
        title=f"{first['workload']}: {machine}, {load}"
        + (f", means of {seeds} seeds" if seeds > 1 else ""),
        note="\n".join(notes),
    )


def calibration(rows: Sequence[Mapping[str, Any]], format: Format) -> None:
    """Print how well each policy's first run repeats the log."""
    columns = (
        "policy", "mean wait\n/ logged", "median\n/ logged", "rank\ncorrelation", "close",
        "repeats\nthe log",
    )  # fmt: skip
    first = {row["policy"]: row for row in reversed(rows) if row["policy"] != LOGGED}
    lines = [
        (
            policy,
            *(
                ratio(_known(row[name]))
                for name in ("log_mean_wait_ratio", "log_median_wait_ratio")
            ),
            slowdown(_known(row["log_rank_correlation"])),
            percent(row["log_close"]),
            verdict(row),
        )
        for policy, row in sorted(first.items(), key=lambda item: -item[1]["log_close"])
    ]
    table(columns, lines, format, numbers=len(columns) - 1, title="", note=VERDICTS_MEANING)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def quantity(value: float, unit: str) -> str:
    """Format a value with about three digits; seconds below one are milliseconds."""
    if unit == "s" and value < 1:
        value, unit = value * 1e3, "ms"
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
