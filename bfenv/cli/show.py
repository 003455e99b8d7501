"""Print rows and tables: for people, as Markdown, JSON or CSV."""

import json
import math
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, TextIO

from bfenv.core.text import one_line, printable

if TYPE_CHECKING:
    from rich.progress import Progress

NARROWEST = 12  # characters to which a column of words may shrink
NAMES_SHARE = 0.3  # of the terminal, beyond which names are folded
BOLD_MEANING = "bold: the best policy that starves no job; of penalized slowdowns, the least"
QUOTED, TEX_QUOTED = re.compile('"([^"]*)"'), r"``\1''"
NUMBER = re.compile(r"[0-9][0-9,]*\.?[0-9]*")
PATIENCE = 5  # seconds of a run before a progress bar is shown
REFRESH = 0.5  # seconds


class Format(StrEnum):
    """Output formats of rows."""

    table = "table"
    markdown = "markdown"
    json = "json"
    csv = "csv"
    latex = "latex"


DATA = (Format.json, Format.csv)  # raw rows instead of a table
LESS_IS_BETTER = ("slowdown", "wait", "EASY's")  # in the headings of columns
LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": "$-$",
        "×": r"$\times$",
        "–": "--",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
    }
)


def progress(count: Literal["done", "rows", "share"] = "done") -> "Progress":
    """Return a progress bar on stderr; lines of text if that is not a terminal.

    `count` is what the bar shows beside its length: how much of the total is done, the field "rows"
    of a bar whose length is time, or per cent.
    """
    import rich.progress as bars
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        from bfenv.cli.progress_lines import ProgressLines

        return ProgressLines(disable=True)
    columns = {
        "done": bars.MofNCompleteColumn(),
        "rows": bars.TextColumn("{task.fields[rows]}"),
        "share": bars.TaskProgressColumn(),
    }
    return bars.Progress(
        bars.TextColumn("{task.description:<24}", markup=False),
        bars.BarColumn(),
        columns[count],
        bars.TimeRemainingColumn(),
        console=console,
        transient=True,
    )


@contextmanager
def share_done(
    description: str, patience: float = PATIENCE
) -> Iterator[Callable[[Callable[[], float]], None]]:
    """Yield a function that watches a run: if it takes long, a progress bar shows what it reports.

    The function takes another, which returns the share that is done. The bar is shown after
    `patience` seconds.
    """
    ended = threading.Event()
    watchers: list[threading.Thread] = []

    def show(share: Callable[[], float]) -> None:
        if ended.wait(patience):
            return
        with progress("share") as bar:
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
    """Print raw rows as JSON or CSV; of no rows, CSV has not even a heading."""
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
    if not rows:
        return
    from bfenv.analysis.formatting import csv_text

    columns = list(dict.fromkeys(name for row in rows for name in row))
    sys.stdout.write(csv_text(columns, ([row.get(name) for name in columns] for row in rows)))


def text(*parts: object, file: TextIO | None = None, end: str = "\n") -> None:
    """Print text that may come from anywhere, as `print` does, on stdout by default."""
    print(printable(" ".join(map(str, parts))), file=file, end=end)


def lines(texts: Iterable[str], file: TextIO | None = None) -> None:
    """Print texts that may come from anywhere, each in one line; on stdout by default."""
    for text in texts:
        print(one_line(text), file=file)


def prose(text: str, format: Format = Format.table) -> None:
    """Print sentences on stdout: words whole on a terminal, and as comments in LaTeX."""
    if format is Format.latex:
        print("\n".join(f"% {line}" for line in printable(text).splitlines()))
        return
    from rich.console import Console

    console = Console()
    console.print(
        printable(text),
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=not console.is_terminal,
    )


def table(
    columns: Sequence[str],
    lines: Sequence[Sequence[str]],
    format: Format = Format.table,
    *,
    numbers: int = 0,
    whole_names: int = 0,
    title: str | None = None,
    note: str = "",
    ranked: bool = False,
) -> None:
    """Print a table with a title above it and a note below it.

    * `columns`: the headings.
    * `lines`: the cells of each line.
    * `format`: `table`, `markdown`, or `latex`: a table of the package booktabs.
    * `numbers`: how many of the columns, from the right, hold numbers. Numbers are never cut. On a
      narrow terminal, words are folded; if that is not enough, the last columns follow in further
      tables that repeat the words.
    * `whole_names`: how many columns, from the left, are never folded.
    * `title`, `note`: text above and below the table.
    * `ranked`: the best value of each column of slowdowns and waits is bold in LaTeX, where a
      policy that starves jobs is the best of no column but of the penalized slowdown.
    """
    # Rows come from anywhere.
    lines = [[printable(cell) for cell in line] for line in lines]
    title, note = printable(title or ""), printable(note)
    if format is Format.markdown:
        print(_markdown(columns, lines, numbers, title, note))
        return
    if format is Format.latex:
        print(_latex(columns, lines, numbers, title, note, ranked))
        return
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    words = len(columns) - numbers
    widths = [
        max(map(len, "\n".join(cells).split("\n"))) for cells in zip(columns, *lines, strict=True)
    ]
    width = Console().width
    share = NAMES_SHARE if words == 2 else 0.0  # with more columns of words, numbers come first
    least = [min(column_width, NARROWEST) for column_width in widths[:words]]
    least[0] = min(widths[0], max(NARROWEST, int(share * width)))
    least[:whole_names] = widths[:whole_names]
    folded = sum(least)
    parts, whole = (
        _parts(widths[words:], width - taken - 2 * words) for taken in (folded, sum(widths[:words]))
    )
    if title:  # not as that of a grid, which is as narrow as the table
        prose(title)
    for part in whole if len(whole) == len(parts) else parts:
        shown = [*range(words), *(words + i for i in part)]
        room = width - sum(widths[words + i] + 2 for i in part) - 2 * words
        fitted = _fitted(widths[:words], least, room)
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for i in shown:
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
            grid.add_row(*(escape(line[i]) for i in shown))  # names may have brackets
        # A number that does not fit even beside folded words makes the table wider.
        needed = sum(fitted) + sum(widths[words + i] + 2 for i in part) + 2 * words
        Console(width=max(width, needed) if part else width, emoji=False).print(grid)
    if note:
        prose(f"{note}\n")


def latex_table(
    columns: Sequence[str],
    lines: Sequence[Sequence[str]],
    below: Sequence[Sequence[str]],
    title: str,
    note: str,
) -> None:
    """Print a table in LaTeX whose lines have a small line below them.

    * `columns`: the headings, which may have several lines; the first column holds words, the
      others numbers.
    * `lines`: the cells of each line.
    * `below`: what stands below each cell; "" for nothing.
    * `title`, `note`: the caption, and text below the table.
    """
    lines, below = (
        [[printable(cell) for cell in line] for line in part] for part in (lines, below)
    )
    print(_latex(columns, lines, len(columns) - 1, printable(title), printable(note), True, below))


def _markdown(
    columns: Sequence[str], lines: Sequence[Sequence[str]], numbers: int, title: str, note: str
) -> str:
    """Return a table in Markdown, as `table` describes it."""
    texts = [f"{title}\n"] if title else []
    texts.append("| " + " | ".join(columns).replace("\n", " ") + " |")
    texts.append("|---" * (len(columns) - numbers) + "|--:" * numbers + "|")
    for line in lines:
        texts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |")
    return "\n".join([*texts, f"\n{note}"] if note else texts)


def _latex(
    columns: Sequence[str],
    lines: Sequence[Sequence[str]],
    numbers: int,
    title: str,
    note: str,
    ranked: bool,
    below: Sequence[Sequence[str]] = (),
) -> str:
    """Return a table in LaTeX, as `table` and `latex_table` describe it."""
    words = len(columns) - numbers
    body = [[cell.translate(LATEX) for cell in line] for line in lines]
    starves = ["*" in {cell[-1:] for cell in line} for line in lines]  # names may have more of them
    for i, heading in enumerate(columns):
        values = [
            float(number[0].replace(",", "")) if (number := NUMBER.match(line[i])) else math.inf
            for line in lines
        ]
        is_judged = "penalized" not in heading  # which long waits make larger
        is_fair = [not (is_judged and is_marked) for is_marked in starves]
        least = min((x for x, fair in zip(values, is_fair, strict=True) if fair), default=math.inf)
        is_ranked = ranked and i >= words
        is_ranked &= bool(below) or any(word in heading for word in LESS_IS_BETTER)
        if is_ranked and least < math.inf and "interval" not in heading:
            for k, value in enumerate(values):
                if value == least and is_fair[k]:
                    body[k][i] = rf"\textbf{{{body[k][i]}}}"
    rows = [" & ".join(line) + r" \\" for line in body]
    if below:
        small = [
            " & ".join(rf"{{\scriptsize {cell.translate(LATEX)}}}" if cell else "" for cell in line)
            for line in below
        ]
        rows = [
            part for row, line in zip(rows, small, strict=True) for part in (row, rf"{line} \\")
        ]
    headings = [column.translate(LATEX).split("\n") for column in columns]
    head = [" & ".join(parts) + r" \\" for parts in zip_longest(*headings, fillvalue="")]
    return "\n".join(
        [
            r"\begin{table}  % \usepackage{booktabs}",
            r"\centering\small\setlength{\tabcolsep}{4pt}",
            *([rf"\caption{{{title.translate(LATEX)}}}"] if title else []),
            rf"\begin{{tabular}}{{@{{}}{'l' * words}{'r' * numbers}@{{}}}}",
            r"\toprule",
            *head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            *(
                rf"\par{{\footnotesize {QUOTED.sub(TEX_QUOTED, line.translate(LATEX))}}}"
                for line in [*note.splitlines(), *[BOLD_MEANING] * (ranked and any(starves))]
            ),
            r"\end{table}",
        ]
    )


def _parts(widths: Sequence[int], room: int) -> list[list[int]]:
    """Divide columns of numbers into parts that fit in this room, each at least one column."""
    parts: list[list[int]] = [[]]
    taken = 0
    for i, width in enumerate(widths):
        if parts[-1] and taken + width + 2 > room:
            parts.append([])
            taken = 0
        parts[-1].append(i)
        taken += width + 2
    return parts


def _fitted(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns of words in this room; each keeps at least `least`."""
    fitted = [max(least[0], min(widths[0], room - sum(widths[1:])))]
    for i, width in enumerate(widths[1:], 1):
        share = (room - sum(fitted)) // (len(widths) - i)
        fitted.append(max(least[i], min(width, share)))
    return fitted


def quantity(value: float, unit: str) -> str:
    """Format a value with about three digits; seconds below one are milliseconds."""
    if unit == "s" and value < 1:
        value, unit = value * 1e3, "ms"
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
