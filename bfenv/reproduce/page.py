"""The page of a paper: verdicts, tables, figures, and how to make them again, in Markdown."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from bfenv.core.files import write_atomically
from bfenv.core.text import counted
from bfenv.reproduce.figures import write_figures
from bfenv.reproduce.item import Item, Paper, Run
from bfenv.reproduce.results import Results
from bfenv.reproduce.rows import Row, write_rows
from bfenv.reproduce.tables import LEGEND, claim_line, grid, markdown, summary
from bfenv.reproduce.verdict import Verdict, judge

RULES = (
    "Rules, the same for all papers: a number agrees if its ratio to the printed one is within the "
    "band of its item (10 % unless it says otherwise), or if rounding explains the rest. An order "
    "agrees if all pairs of printed numbers more than 5 % apart come out in that order. A claim, "
    "which is what the text says of a table or figure, agrees if all its comparisons hold. Only "
    "logs with the paper's jobs count; how many hold on other jobs is added in parentheses."
)
FIGURES = (
    "The values of the figures are not available, only what the text says of them. Figures are "
    "therefore drawn with our values, and beside them the values that the text states, marked ≈."
)


def judge_items(
    paper: Paper, items: Sequence[Item], rows: Mapping[Run, Row], quick: bool
) -> list[Verdict]:
    """Judge items by the rows that there are."""
    results = Results(rows)
    return [judge(paper.name, item, item.build(quick), results, quick) for item in items]


def is_complete(item: Item, rows: Mapping[Run, Row], quick: bool) -> bool:
    """Return whether rows have all values of an item."""
    return all(
        value.run in rows and value.measure in rows[value.run]["values"]
        for value in item.build(quick).values()
    )


def render(
    paper: Paper,
    items: Sequence[Item],
    rows: Mapping[Run, Row],
    *,
    quick: bool = False,
    pictures: Mapping[str, str] | None = None,
) -> str:
    """Write the page of a paper as text.

    Parameters
    ----------
    paper, items
        What to show.
    rows
        The rows by run; what has no row is shown as missing.
    quick
        Whether the rows are those of quick runs.
    pictures
        The figure's file of each item that has one, relative to the page.

    Returns
    -------
    str
        Markdown.
    """
    results = Results(rows)
    contents = [item.build(quick) for item in items]
    verdicts = [
        judge(paper.name, item, content, results, quick)
        for item, content in zip(items, contents, strict=True)
    ]
    lines = [f"# {paper.title}", "", paper.reference, "", *_provenance(paper, items, rows, quick)]
    lines += ["", "## Verdicts", "", RULES, ""]
    if paper.logs and any(content.panels for content in contents) and paper.figures_lost:
        lines += [FIGURES, ""]
    lines += markdown(summary(items, verdicts))
    if paper.logs:
        lines += ["", "## Logs", "", *_logs(paper, quick)]
    for item, verdict in zip(items, verdicts, strict=True):
        lines += ["", f"## {item.heading}", "", f"*{item.place}.* Verdict: **{verdict.overall}**."]
        if pictures and item.name in pictures:
            lines += ["", f"![{item.title}]({pictures[item.name]})"]
        if verdict.cells:
            unit = f" Unit: {item.unit}." if item.unit else ""
            has_printed = any(one.theirs for one in verdict.cells)
            legend = LEGEND if has_printed else item.legend
            lines += ["", (legend + unit).strip(), "", *markdown(grid(item, verdict, results))]
        if verdict.order and verdict.order.failed:
            lines += ["", "Order that differs: " + "; ".join(verdict.order.failed[:12]) + "."]
        if verdict.claims:
            lines.append("")
            for claim, count in verdict.claims:
                lines.append(claim_line(claim, count, results))
        if item.note:
            lines += ["", item.note.strip()]
    notes = _notes(paper.name)
    if notes:
        lines += ["", notes]
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

    Parameters
    ----------
    paper, items
        The paper, and its items that the page shows.
    rows
        What `run` has made, by run.
    out
        Folder of the page; made if it does not exist.
    quick
        Whether the runs were on generated stand-ins; the page says so.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    BfenvError
        If matplotlib is missing, or a file cannot be written.
    """
    folder = out / paper.name
    folder.mkdir(parents=True, exist_ok=True)
    results = Results(rows)
    pictures = {}
    for item in items:
        name = write_figures(folder, paper.name, item, item.build(quick), results)
        if name:
            pictures[item.name] = f"{paper.name}/{name}"
    page = out / f"{paper.name}.md"
    text = render(paper, items, rows, quick=quick, pictures=pictures)
    write_rows(folder, rows.values())
    write_atomically(page, text.encode())
    return page


def _provenance(
    paper: Paper, items: Sequence[Item], rows: Mapping[Run, Row], quick: bool
) -> list[str]:
    """Say how the page was made: command, versions, commits, time."""
    chosen = "" if len(items) == len(paper.items) else " " + " ".join(i.name for i in items)
    command = f"bfenv reproduce {paper.name}{chosen}{' --quick' if quick else ''}"
    simulations = sum(_simulations(run) for run in rows)
    seconds = sum(row["seconds"] for row in rows.values())
    versions = sorted({f"{k} {v}" for row in rows.values() for k, v in row["versions"].items()})
    commits = sorted({str(row["commit"])[:10] for row in rows.values() if row["commit"]})
    made = f"{counted(len(rows), 'row')}, {counted(simulations, 'simulation')}"
    text = (
        f"Made by `{command}`: {made} in {_time(seconds)} of one process. "
        f"Versions: {', '.join(versions) or '–'}; sources: "
        f"{', '.join(commits) or '–'}. The rows are in `{paper.name}/rows.jsonl`."
    )
    if quick:
        text += " **Quick:** generated workloads stand in for the logs, so no number is comparable."
    return [text]


def _simulations(run: Run) -> int:
    return run.seeds * (bool(run.policy) + bool(run.reference))


def _time(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds >= 120 else f"{seconds:.0f} s"


def _logs(paper: Paper, quick: bool) -> list[str]:
    lines: list[list[str]] = []
    for log in paper.logs:
        comparable = "yes" if log.comparable and not quick else "no"
        lines.append([log.label, f"`{log.source(quick)}`", comparable, log.edition])
    table: tuple[list[str], list[list[str]]] = (
        ["in the paper", "here", "comparable", "edition"],
        lines,
    )
    return markdown(table)


def _notes(paper: str) -> str:
    file: Any = files("bfenv.reproduce") / "notes" / f"{paper}.md"
    return str(file.read_text("utf-8")).strip() if file.is_file() else ""
