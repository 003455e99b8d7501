"""The leaderboard as one self-contained page of HTML.

The ranked table is sorted already, and every chart is inline SVG, so the page is complete without
its script. The script sorts by another column, filters, and highlights other policies.
"""

import math
from collections.abc import Sequence

import bfenv.evaluation.summary as sm
import bfenv.leaderboard.report.other_metrics as om
import bfenv.leaderboard.report.ranking as rk
from bfenv.analysis.formatting import MISSING, ratio
from bfenv.analysis.intervals import Interval
from bfenv.core.policy import CLAIRVOYANT, COMPLETION, TRIALS
from bfenv.core.text import counted
from bfenv.evaluation.calibration_lines import calibration_lines
from bfenv.evaluation.row import Row
from bfenv.leaderboard.report.gantt_selection import GanttSelection
from bfenv.leaderboard.report.sections import Section, sections_of
from bfenv.leaderboard.standings import Standing
from bfenv.leaderboard.store import Leaderboard
from bfenv_site.page import charts, plot
from bfenv_site.page.as_it_ran import as_it_ran
from bfenv_site.page.charts import Slots, Summaries, legend, swatch
from bfenv_site.page.document import document, failed_runs
from bfenv_site.page.first_screen import Line, first_screen, picture
from bfenv_site.page.gantt import gantt_section
from bfenv_site.page.markup import Cell, Markup, element, join, table
from bfenv_site.page.panel import panels

SHOWN = 9  # policies in the picture of the first screen
LEAST = 1e-9  # ratio that has a place there
DOES = {
    COMPLETION: "run jobs to completion",
    TRIALS: "kill and requeue jobs",
    CLAIRVOYANT: "know all runtimes",
}  # the policies of a division
HIGHLIGHTED = 5  # policies of the ranking that are highlighted at first, besides the reference


def render_page(
    leaderboard: Leaderboard, selection: GanttSelection, more: Sequence[rk.Column] = ()
) -> str:
    """Return the page of a leaderboard, with the selected Gantt chart and `more` columns."""
    lines = rk.ranked(leaderboard)
    numbers = {line.policy: n for n, line in enumerate(lines)}
    slots: Slots = {n: "ref" for n, line in enumerate(lines) if line.policy == sm.REFERENCE}
    candidates = [n for n, line in enumerate(lines) if line.policy != sm.REFERENCE and line.rows]
    slots |= {n: str(slot) for slot, n in enumerate(candidates[:HIGHLIGHTED])}
    summaries: dict[str, Summaries] = {
        workload: {
            numbers[summary.policy]: summary for summary in sm.summarize(leaderboard.rows, workload)
        }
        for workload in dict.fromkeys(row.workload for row in leaderboard.rows)
    }
    page_summaries = summaries.get(selection.workload, {}).values()
    starving = {summary.policy for summary in page_summaries if summary.starves}
    hours = "Some hours job by job"
    if len(selection.schedules) > 1:
        hours = "The same hours under two policies"
    sections = [
        ("ranking", "Ranking", _ranking(leaderboard, lines, slots, more)),
        ("trade-off", "Mean against longest wait", _trade_off(lines, slots)),
        ("metrics", "The same under other metrics", _other_metrics(leaderboard.rows)),
        *((section.name, section.title, _section(section)) for section in sections_of(leaderboard)),
        ("workloads", "Workload by workload", panels(summaries, slots)),
        ("gantt", hours, gantt_section(*selection, starving=starving)),
        ("failed", "Failed runs", failed_runs(leaderboard.failed)),
        ("provenance", "Where every number comes from", _provenance(leaderboard)),
        (
            "logged",
            "Log and simulation",
            as_it_ran(calibration_lines(leaderboard.rows, leaderboard.logged)),
        ),
    ]
    return document(
        "Leaderboard of backfilling schedulers",
        rk.title(leaderboard),
        _first(lines),
        sections,
        unfolded=["ranking"],
    )


def _first(lines: list[Standing]) -> Markup:
    """Make the first screen: who has the least penalized slowdown."""
    ranked = [
        standing
        for standing in lines
        if standing.score is not None and LEAST < standing.score < 1 / LEAST
    ]
    starving = sum(standing.starves for standing in lines)
    figures = [(f"{len(ranked)}", "policies ranked"), (f"{starving}", "starve jobs")]
    if not ranked:
        return first_screen("No policy can be compared with EASY.", figures, None)
    best = ranked[0]
    alike = [standing for standing in ranked if standing.division == best.division]
    shared = sum(standing.rank == best.rank for standing in alike) - 1
    verdict = (
        f"{best.policy} has the least penalized slowdown of the "
        f"{counted(len(alike), 'policy', 'policies')} that {DOES[best.division]}: "
        f"{ratio(best.score)} of EASY's"
        + (f" (95 %: {rk.interval_text(best)})" if best.low is not None else "")
        + (f"; {counted(shared, 'other')} cannot be told from it." if shared else ".")
    )
    intervals = []
    for standing in ranked[:SHOWN]:
        known_ends = (standing.score, standing.low, standing.high)
        value, low, high = (math.nan if end is None else end for end in known_ends)
        intervals.append(Interval(value, low, high))
    picture_lines = [
        Line(
            standing.policy + f" ({standing.division})" * (standing.division != COMPLETION),
            interval,
            ratio(standing.score),
            f" ({rk.interval_text(standing)})" if standing.low is not None else "",
            standing is best,
        )
        for standing, interval in zip(ranked, intervals, strict=False)
    ]
    ends = [end for interval in intervals for end in interval[:3] if LEAST < end < 1 / LEAST]
    heading = "Penalized slowdown, with 95 % intervals"
    drawing = picture(
        "first",
        heading,
        "To the left is better.",
        picture_lines,
        plot.ratios(ends, "penalized slowdown"),
        (1.0, "EASY"),
    )
    figures.insert(0, (ratio(best.score), f"penalized slowdown, {best.policy}"))
    return first_screen(verdict, figures, drawing)


def _ranking(
    leaderboard: Leaderboard, lines: list[Standing], slots: Slots, more: Sequence[rk.Column]
) -> Markup:
    controls = element(
        "p",
        element("label", "Show policies named ", element("input", type="search", id="filter")),
        element("span", id="picked", class_="note"),
        class_="controls",
    )
    numbers = {id(line): n for n, line in enumerate(lines)}
    ranking = _standings("Ranked policies", lines, numbers, slots, more)
    texts = rk.notes(leaderboard, lines, failed=False)
    return join([controls, ranking, (element("p", text, class_="note") for text in texts)])


def _standings(
    caption: str,
    lines: list[Standing],
    numbers: dict[int, int],
    slots: Slots,
    more: Sequence[rk.Column],
) -> Markup:
    columns = [*rk.telling_columns(lines, rk.COLUMNS), *more]
    texts = zip(*(column.texts(lines) for column in columns), strict=True)
    rows = []
    for line, row_texts in zip(lines, texts, strict=True):
        n = numbers[id(line)]
        name = [_pick(n, line.policy, slots), charts.badge(line.starves)]
        cells = [Cell(name, columns[0].value(line))]
        for column, text in zip(columns[1:], row_texts[1:], strict=True):
            is_bad = column.heading == "failed" and line.failed
            cells.append(Cell(text, column.value(line), "bad" if is_bad else None))
        rows.append((str(n), cells))
    words = [i for i, column in enumerate(columns) if column.heading in ("policy", "division")]
    headings = [column.heading for column in columns]
    return table(caption, headings, rows, sorted_by=1, text=words)


def _pick(n: int, name: str, slots: Slots) -> Markup:
    """A policy's name, its line, and the checkbox that highlights it in the charts."""
    box = element(
        "input",
        type="checkbox",
        class_="pick",
        data_p=n,
        checked=n in slots,
        aria_label=f"highlight {name} in the charts",
        autocomplete="off",
    )
    line = element("span", swatch(), class_=charts.highlighted(n, slots) + " entry", data_p=n)
    return element("span", box, element("span", name, class_="name"), line, class_="picker")


def _other_metrics(rows: Sequence[Row]) -> Markup | None:
    """Make the section of the page; None if there is only one policy."""
    lines = om.sorted_places(rows)
    if len(lines) < 2:
        return None
    body = [
        (
            None,
            [
                Cell(line.policy, line.policy.lower()),
                *(
                    Cell(
                        om.place_text(place),
                        None if place is None else float(place),
                        "best" if place == 1 else None,
                    )
                    for place in line.places
                ),
                Cell(line.division, line.division),
            ],
        )
        for line in lines
    ]
    columns = (om.COLUMNS[0], *om.COLUMNS[2:], om.COLUMNS[1])
    caption = "Places under several metrics"
    notes = [element("p", text, class_="note") for text in om.metric_notes(rows)]
    return join([table(caption, columns, body, sorted_by=1, text=(0, len(columns) - 1)), notes])


def _section(section: Section) -> Markup:
    """Make the tables of a section that another package adds."""
    parts = []
    for section_table in section.tables:
        body = [
            (None, [Cell(text, number) for text, number in line]) for line in section_table.lines
        ]
        parts.append(
            table(
                section_table.caption,
                section_table.columns,
                body,
                text=tuple(range(section_table.words)),
            )
        )
        if section_table.note:
            parts.append(element("p", section_table.note, class_="note"))
    return join(parts)


def _trade_off(lines: list[Standing], slots: Slots) -> Markup | None:
    points = {
        n: (line.policy, line.wait_ratio, line.longest_ratio)
        for n, line in enumerate(lines)
        if line.wait_ratio and line.longest_ratio
    }
    starving = {n for n, line in enumerate(lines) if line.starves}
    drawing = charts.trade_off(points, starving, slots)
    names = {n: line.policy for n, line in enumerate(lines)}
    return None if drawing is None else join([legend(names, starving, slots), drawing])


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
