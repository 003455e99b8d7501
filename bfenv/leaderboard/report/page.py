"""The leaderboard as one self-contained page of HTML.

The ranked table is sorted already, and every chart is inline SVG, so the page is complete without
its script. The script sorts by another column, filters, and highlights other policies.
"""

import math
from collections.abc import Sequence

import numpy as np

import bfenv.evaluation.summary as sm
from bfenv.analysis.formatting import MISSING
from bfenv.evaluation.page import charts
from bfenv.evaluation.page.as_it_ran import as_it_ran, calibration_lines
from bfenv.evaluation.page.charts import Slots, Summaries, legend, swatch
from bfenv.evaluation.page.document import document, failed_runs
from bfenv.evaluation.page.gantt import gantt_section
from bfenv.evaluation.page.markup import Cell, Markup, element, join, table
from bfenv.evaluation.page.panel import panels
from bfenv.leaderboard.report.gantt_selection import GanttSelection
from bfenv.leaderboard.report.gap_left import gap_left
from bfenv.leaderboard.report.other_metrics import other_metrics
from bfenv.leaderboard.report.ranking import COLUMNS, Column, notes, ranked, telling_columns, title
from bfenv.leaderboard.standings import Standing, ratios_of
from bfenv.leaderboard.store import Leaderboard

HIGHLIGHTED = 5  # policies of the ranking that are highlighted at first, besides the reference


def render_page(leaderboard: Leaderboard, selection: GanttSelection) -> str:
    """Return the page of a leaderboard, with the selected Gantt chart."""
    lines = ranked(leaderboard)
    numbers = {line.policy: n for n, line in enumerate(lines)}
    slots = _slots(lines)
    summaries: dict[str, Summaries] = {
        workload: {numbers[one.policy]: one for one in sm.summarize(leaderboard.rows, workload)}
        for workload in dict.fromkeys(row.workload for row in leaderboard.rows)
    }
    shown = summaries.get(selection.workload, {}).values()
    starving = {one.policy for one in shown if one.starves}
    hours = "Some hours job by job"
    if len(selection.schedules) > 1:
        hours = "The same hours under two policies"
    calibration = calibration_lines(leaderboard.rows, leaderboard.logged)
    sections = [
        ("logged", "As it ran", as_it_ran(calibration)),
        ("ranking", "Ranking", _ranking(leaderboard, lines, slots)),
        ("metrics", "The same under other metrics", other_metrics(leaderboard.rows)),
        ("gap", "How far from the best possible", gap_left(leaderboard)),
        (
            "trade-off",
            "Mean against longest wait",
            _trade_off(leaderboard, lines, summaries, slots),
        ),
        ("workloads", "Workload by workload", panels(summaries, slots)),
        ("gantt", hours, gantt_section(*selection, starving=starving)),
        ("failed", "Failed runs", failed_runs(leaderboard.failed)),
        ("provenance", "Where every number comes from", _provenance(leaderboard)),
    ]
    return document("Leaderboard of backfilling schedulers", title(leaderboard), sections)


def _slots(lines: list[Standing]) -> Slots:
    """Highlight the reference and the first of the others."""
    slots: Slots = {n: "ref" for n, line in enumerate(lines) if line.policy == sm.REFERENCE}
    others = [n for n, line in enumerate(lines) if line.policy != sm.REFERENCE]
    return slots | {n: str(slot) for slot, n in enumerate(others[:HIGHLIGHTED])}


def _ranking(leaderboard: Leaderboard, lines: list[Standing], slots: Slots) -> Markup:
    columns = telling_columns(lines, COLUMNS)
    texts = zip(*(column.texts(lines) for column in columns), strict=True)
    rows = [
        (str(n), _standing(n, line, columns, own, slots))
        for n, (line, own) in enumerate(zip(lines, texts, strict=True))
    ]
    controls = element(
        "p",
        element("label", "Show policies named ", element("input", type="search", id="filter")),
        element("span", id="picked", class_="note"),
        class_="controls",
    )
    explanations = [
        element("p", text, class_="note") for text in notes(leaderboard, lines, mark=False)
    ]
    if any(line.starves for line in lines):
        explanation = element("p", charts.badge(True), f" {sm.STARVES_MEANING}", class_="note")
        explanations.append(explanation)
    headings = [column.heading for column in columns]
    return join(
        [controls, table("Ranked policies", headings, rows, sorted_by=2, text=(0, 1)), explanations]
    )


def _standing(
    n: int, line: Standing, columns: Sequence[Column], texts: Sequence[str], slots: Slots
) -> list[Cell]:
    """The cells of a line of the ranking: the first is the name with its controls."""
    badge = charts.badge(line.starves)
    cells = [Cell(_pick(n, line.policy, slots), columns[0].value(line))]
    for column, text in zip(columns[1:], texts[1:], strict=True):
        is_bad = column.heading == "failed" and line.failed
        cells.append(
            Cell(
                [text, badge] if column.has_badge else text,
                column.value(line),
                "bad" if is_bad else None,
            )
        )
    return cells


def _pick(n: int, name: str, slots: Slots) -> Markup:
    """A policy's name, its line, and the checkbox that highlights it in the charts."""
    box = element(
        "input", type="checkbox", class_="pick", data_p=n, checked=n in slots,
        aria_label=f"highlight {name} in the charts", autocomplete="off",
    )  # fmt: skip
    line = element("span", swatch(), class_=charts.highlighted(n, slots) + " entry", data_p=n)
    return element("span", box, element("span", name, class_="name"), line, class_="picker")


def _trade_off(
    leaderboard: Leaderboard, lines: list[Standing], summaries: dict[str, Summaries], slots: Slots
) -> Markup | None:
    points, rows = {}, sm.rows_by_run(leaderboard.rows)
    for n, line in enumerate(lines):
        pairs = [
            (one[n], reference)
            for one in summaries.values()
            if n in one and (reference := _reference(one)) is not None
        ]
        mean, longest = _mean_ratio(pairs, "mean_wait"), sm.longest_ratio(line.policy, rows)
        if mean and longest and math.isfinite(mean) and math.isfinite(longest):
            points[n] = (line.policy, mean, longest)
    starving = {n for n, line in enumerate(lines) if line.starves}
    drawing = charts.trade_off(points, starving, slots)
    names = {n: line.policy for n, line in enumerate(lines)}
    return None if drawing is None else join([legend(names, starving, slots), drawing])


def _reference(summaries: Summaries) -> sm.PolicySummary | None:
    return next((one for one in summaries.values() if one.policy == sm.REFERENCE), None)


def _mean_ratio(pairs: list[tuple[sm.PolicySummary, sm.PolicySummary]], name: str) -> float | None:
    """The geometric mean of a metric's ratios to the reference; None if one is unknown or 0."""
    logs = []
    for summary, reference in pairs:
        value, usual = (one.metrics.get(name) or 0.0 for one in (summary, reference))
        if value <= 0 or usual <= 0:
            return None
        logs.append(math.log(value) - math.log(usual))  # the quotient may be 0 or infinite
    return float(ratios_of(np.mean(logs))) if logs else None


def _provenance(leaderboard: Leaderboard) -> Markup:
    columns = ["policy", "workload", "seed", "command", "source", "content", "commit", "versions"]
    rows = []
    for row in leaderboard.all_rows:
        codes = (row.command, row.source, row.workload_hash, row.commit or MISSING)
        versions = ", ".join(f"{name} {value}" for name, value in row.versions.items())
        cells = [Cell(row.policy), Cell(row.workload), Cell(row.seed)]
        cells += [Cell(element("code", text)) for text in codes]
        rows.append((None, [*cells, Cell(versions)]))
    explanation = (
        "The command makes a run again, the jobs come from the source, and the hash of their "
        "content shows whether they are the same."
    )
    return join(
        [
            element("p", explanation),
            element(
                "details",
                element("summary", f"{len(rows):,} runs"),
                table("Provenance of every run", columns, rows, text=(0, 1, 3, 4, 5, 6, 7)),
                class_="provenance",
            ),
        ]
    )
