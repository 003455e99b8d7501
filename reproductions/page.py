"""The page of a paper: verdicts, tables, figures, and how to make them again, in Markdown."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bfenv.core.files import write_atomically
from bfenv.core.text import counted
from bfenv.workloads.archive.catalogue import is_archived
from reproductions.figures import write_figures
from reproductions.item import Claim, Extreme, Item, Log, Pair, Paper, Run, Value
from reproductions.results import FOLDER, Results
from reproductions.rows import Row, write_rows
from reproductions.verdict import (
    AGREES,
    DIFFERS,
    MISSING,
    NOT_COMPARABLE,
    CellVerdict,
    Count,
    ItemVerdict,
    compare,
    judge,
)

MARKS = {AGREES: "✓", DIFFERS: "✗", NOT_COMPARABLE: "○", MISSING: "", "": ""}
LEGEND = (
    "A cell reads *ours / printed = ratio*. ✓ agrees, ✗ differs, ○ is not comparable because the "
    "jobs are not the paper's."
)
MOST = 8  # comparisons of a claim that are written out
Grid = tuple[list[str], list[list[str]]]  # headings, lines
RULES = """\
The same rules hold for all papers:

* A *value* agrees if its ratio to the printed one is within the band of its item (10 % unless the
  item says otherwise), or if rounding explains the difference.
* An *order* agrees if all pairs of printed numbers that differ by more than 5 % come out in the
  printed order.
* A *claim* is what the text says of a table or figure. It agrees if all its comparisons hold.
* Only logs with the paper's jobs count. Counts on other jobs are in parentheses."""
FIGURES = (
    "The data of the paper's figures are not available. The figures here show our values. Values "
    "that the paper's text states are marked ≈."
)


def judge_items(
    paper: Paper, items: Sequence[Item], rows: Mapping[Run, Row], quick: bool
) -> list[ItemVerdict]:
    """Judge items by the rows that there are."""
    results = Results(rows)
    return [judge(paper.name, item, item.build(quick), results, quick) for item in items]


def render(
    paper: Paper,
    items: Sequence[Item],
    rows: Mapping[Run, Row],
    *,
    quick: bool = False,
    pictures: Mapping[str, str] | None = None,
) -> str:
    """Return the page of a paper as Markdown; what has no row is shown as missing.

    `pictures` has the figure's file of each item that has one, relative to the page.
    """
    results, verdicts = Results(rows), judge_items(paper, items, rows, quick)
    lines = [f"# {paper.title}", "", paper.reference, "", _provenance(paper, items, rows, quick)]
    lines += ["", "## Verdicts", "", RULES, ""]
    if paper.figures_lost and any(item.build(quick).panels for item in items):
        lines += [FIGURES, ""]
    lines += _markdown(summary(items, verdicts))
    if paper.logs:
        logs = [
            [
                log.label,
                f"`{log.source(quick)}`",
                "yes" if log.comparable and not quick else "no",
                log.edition + _absence(log, rows, quick),
            ]
            for log in paper.logs
        ]
        headings = ["in the paper", "here", "comparable", "edition"]
        lines += ["", "## Logs", "", *_markdown((headings, logs))]
    for item, verdict in zip(items, verdicts, strict=True):
        lines += [
            "",
            f"## {item.heading}",
            "",
            f"*{item.place}.* Verdict: **{verdict.overall}**.",
        ]
        if pictures and item.name in pictures:
            lines += ["", f"![{item.title}]({pictures[item.name]})"]
        if verdict.cells:
            unit = f" Unit: {item.unit}." if item.unit else ""
            has_printed = any(cell_verdict.printed for cell_verdict in verdict.cells)
            legend = LEGEND if has_printed else item.legend
            lines += ["", (legend + unit).strip(), "", *_markdown(grid(item, verdict, results))]
        if verdict.order and verdict.order.failed:
            lines += ["", "Order that differs: " + "; ".join(verdict.order.failed[:12]) + "."]
        if verdict.claims:
            lines += ["", *(_claim_line(*pair, results) for pair in verdict.claims)]
        if item.note:
            lines += ["", item.note.strip()]
    notes = FOLDER / "notes" / f"{paper.name}.md"
    if notes.is_file():
        lines += ["", notes.read_text("utf-8").strip()]
    return "\n".join(lines).rstrip() + "\n"


def write_page(
    paper: Paper,
    items: Sequence[Item],
    rows: Mapping[Run, Row],
    out: Path,
    *,
    quick: bool = False,
) -> Path:
    """Write `<paper>.md`, its figures and `rows.jsonl` in the folder `<paper>` beside it.

    Returns the page. `out` is its folder, which is made if it does not exist.
    """
    folder = out / paper.name
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(rows)
    pictures = {}
    for item in items:
        if name := write_figures(folder, paper.name, item, item.build(quick), results):
            pictures[item.name] = f"{paper.name}/{name}"
    page = out / f"{paper.name}.md"
    text = render(paper, items, rows, quick=quick, pictures=pictures)
    write_rows(folder, rows.values())
    write_atomically(page, text.encode())
    return page


def _provenance(paper: Paper, items: Sequence[Item], rows: Mapping[Run, Row], quick: bool) -> str:
    """Say how the page was made: command, versions, commits, time."""
    chosen = "" if len(items) == len(paper.items) else " " + " ".join(i.name for i in items)
    command = f"python -m reproductions {paper.name}{chosen}{' --quick' if quick else ''}"
    simulations = sum(run.seeds * (bool(run.policy) + bool(run.reference)) for run in rows)
    seconds = sum(row["seconds"] for row in rows.values())
    time = f"{seconds / 60:.1f} min" if seconds >= 120 else f"{seconds:.0f} s"
    versions = sorted({f"{k} {v}" for row in rows.values() for k, v in row["versions"].items()})
    commits = sorted({str(row["commit"])[:10] for row in rows.values() if row["commit"]})
    made = f"{counted(len(rows), 'row')}, {counted(simulations, 'simulation')}"
    text = (
        f"Made by `{command}`: {made} in {time} of one process. "
        f"Versions: {', '.join(versions) or '–'}; sources: "
        f"{', '.join(commits) or '–'}. The rows are in `{paper.name}/rows.jsonl`."
    )
    if quick:
        text += " **Quick:** generated workloads stand in for the logs, so no number is comparable."
    return text


def _absence(log: Log, rows: Mapping[Run, Row], quick: bool) -> str:
    """Say how the rows of a log are made that has none yet; an archived log can be fetched."""
    name = log.source(quick).partition("(")[0]
    if any(run.workload == log.source(quick) for run in rows) or not is_archived(name):
        return ""
    return (
        f". **No rows yet:** run `bfenv workloads fetch {name}` and then the command above, "
        "which fills its cells"
    )


def grid(item: Item, verdict: ItemVerdict, results: Results) -> Grid:
    """Return headings and lines of an item's table."""
    by_place = {
        (cell_verdict.cell.row, cell_verdict.cell.column): cell_verdict
        for cell_verdict in verdict.cells
    }
    rows = dict.fromkeys(row for row, _ in by_place)
    columns = dict.fromkeys(column for _, column in by_place)
    lines = [
        [row, *(_cell(item, by_place.get((row, column)), results) for column in columns)]
        for row in rows
    ]
    return ["", *columns], lines


def _cell(item: Item, verdict: CellVerdict | None, results: Results) -> str:
    if verdict is None:
        return ""
    if isinstance(verdict.cell.value, Pair):
        interval = results.ratio(verdict.cell.value)
        if interval is None or math.isnan(interval.low):
            return number(interval and interval.value)
        mark = "✓" if interval.high < 1 else "✗" if interval.low > 1 else "~"
        return f"{interval.value:.2f} ({interval.low:.2f}–{interval.high:.2f}) {mark}"
    text = number(verdict.computed, item.digits)
    if item.spread and isinstance(verdict.cell.value, Value | Extreme):
        span = results.interval(verdict.cell.value)
        text += "" if span is None else " (" + "–".join(number(x, item.digits) for x in span) + ")"
    if verdict.printed is None:
        return text
    read = "≈" if verdict.printed.read else ""
    printed_text = f"{read}{verdict.printed.text}"
    if verdict.computed is None:
        return f"– / {printed_text}"
    ratio = f" = {verdict.ratio:.2f}" if verdict.ratio is not None else ""
    return f"{text} / {printed_text}{ratio} {MARKS[verdict.verdict]}"


def number(value: float | str | None, digits: int = 2) -> str:
    """Write a number with fixed decimals, and none if it is large."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if abs(value) >= 10_000 or (digits == 0 and abs(value) >= 1):
        return f"{value:,.0f}"
    return f"{value:,.{max(digits, 0 if abs(value) >= 0.1 or value == 0 else 3)}f}"


def summary(items: Sequence[Item], verdicts: Sequence[ItemVerdict]) -> Grid:
    """Return one line per item: its parts and its verdict."""
    lines = [
        [
            item.name,
            item.title,
            share(verdict.values),
            share(verdict.order) if verdict.order else "",
            ", ".join(filter(None, (share(count) for _, count in verdict.claims))),
            verdict.overall,
        ]
        for item, verdict in zip(items, verdicts, strict=True)
    ]
    return ["item", "", "values", "order", "claims", "verdict"], lines


def share(count: Count) -> str:
    """Write how many hold; those on other jobs in parentheses."""
    same_jobs = f"{count.held} of {count.all}" if count.all else ""
    other_jobs = f"({count.other_held} of {count.other_all})" if count.other_all else ""
    return f"{same_jobs} {other_jobs}".strip()


def _claim_line(claim: Claim, count: Count, results: Results) -> str:
    """Return a claim as Markdown: its verdict, how many comparisons hold, and their numbers."""
    mark = MARKS[count.verdict]
    text = f"* {mark} {claim.text}: {share(count) or 'nothing to compare'}."
    shown = [
        comparison for comparison in claim.comparisons if compare(comparison, results) is not None
    ]
    if 0 < len(shown) <= MOST:
        sides = [
            f"{comparison.label}: {_short(results.number(comparison.left))} "
            f"{'<' if comparison.strict else '≤'} {_short(results.number(comparison.right))}"
            f"{'' if compare(comparison, results) else ' ✗'}"
            for comparison in shown
        ]
        text += f" {'; '.join(sides)}."
    elif count.failed:
        listed = ", ".join(count.failed[:MOST])
        ending = f" and {len(count.failed) - MOST} more" if len(count.failed) > MOST else ""
        text += f" Not: {listed}{ending}."
    return text


def _short(value: Any) -> str:
    """Write about three digits."""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 or size == 0 else 4
    return f"{value:,.{digits}f}"


def _markdown(table: Grid) -> list[str]:
    """Return a table as lines of Markdown."""
    headings, lines = table
    rule = "|" + "---|" * len(headings)
    rows = ["| " + " | ".join(cells) + " |" for cells in ([*headings], *lines)]
    return [rows[0], rule, *rows[1:]]
