"""The leaderboard as one page of HTML that asks nothing of any other machine.

All that the page shows stands in it: the ranked table is sorted as it is, every chart is inline
SVG. The script only sorts by another column, filters, and highlights other policies. The content
security policy names the hashes of its one style sheet and its one script and allows nothing else.
"""

import base64
import hashlib
import math
from importlib.resources import files

from bfenv.analysis.formatting import MISSING, duration, percent, ratio, slowdown
from bfenv.leaderboard.report import charts
from bfenv.leaderboard.report.charts import Slots, legend, swatch
from bfenv.leaderboard.report.element import Markup, element, join
from bfenv.leaderboard.report.gantt import machine
from bfenv.leaderboard.report.gantt_selection import Choice
from bfenv.leaderboard.report.grid import Cell, table
from bfenv.leaderboard.report.markdown import notes, ranked, title
from bfenv.leaderboard.report.panel import Summaries, panels
from bfenv.leaderboard.report.summary import Result, results
from bfenv.leaderboard.standings import REFERENCE, Standing
from bfenv.leaderboard.store import Board

HIGHLIGHTED = 5  # of the ranking at first, besides the reference


def page(board: Board, choice: Choice) -> str:
    """The page of a board, its Gantt chart of the hours chosen."""
    lines = ranked(board)
    numbers = {line.policy: n for n, line in enumerate(lines)}
    slots = _slots(lines)
    workloads = list(dict.fromkeys(row["workload"] for row in board.rows))
    summaries = {
        workload: {numbers[one.policy]: one for one in results(board, workload)}
        for workload in workloads
    }
    starving = {one.policy for one in summaries.get(choice.workload, {}).values() if one.starves}
    sections = [
        ("ranking", "Ranking", _ranking(board, lines, slots)),
        ("trade-off", "Mean against longest wait", _trade_off(lines, summaries, slots)),
        ("workloads", "Workload by workload", panels(summaries, slots)),
        ("machine", "The same hours under two policies", machine(choice, starving)),
        ("failed", "Failed runs", _failed(board)),
        ("provenance", "Where every number comes from", _provenance(board)),
    ]
    return _document(board, [section for section in sections if section[2] is not None])


def _slots(lines: list[Standing]) -> Slots:
    """The reference and the first of the others."""
    slots: Slots = {n: "ref" for n, line in enumerate(lines) if line.policy == REFERENCE}
    others = [n for n, line in enumerate(lines) if line.policy != REFERENCE]
    return slots | {n: str(slot) for slot, n in enumerate(others[:HIGHLIGHTED])}


def _document(board: Board, sections: list[tuple[str, str, Markup]]) -> str:
    style, script = (Markup(files(__package__).joinpath(name).read_text(encoding="utf-8"))
                     for name in ("page.css", "page.js"))  # fmt: skip
    rules = (
        "default-src 'none'", f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'",
        "base-uri 'none'", "form-action 'none'",
    )  # fmt: skip
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content="; ".join(rules)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{board.suite}: leaderboard of backfilling schedulers"),
        element("style", style),
    )
    links = [element("li", element("a", name, href=f"#{key}")) for key, name, _ in sections]
    body = element(
        "body",
        element(
            "header",
            element("h1", "Leaderboard of backfilling schedulers"),
            element("p", title(board), class_="lead"),
            element("nav", element("ul", links), aria_label="Sections"),
        ),
        element(
            "main",
            [
                element("section", element("h2", name, id=f"{key}-h"), content, id=key,
                        aria_labelledby=f"{key}-h")
                for key, name, content in sections
            ],
            element("p", id="said", role="status", class_="hidden"),
        ),
        element("script", script),
    )  # fmt: skip
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _ranking(board: Board, lines: list[Standing], slots: Slots) -> Markup:
    columns = [
        "policy", "rank", "slowdown / EASY's", "95 % interval", "bounded slowdown", "mean wait",
        "p95 wait", "longest wait", "machine used", "runs", "failed",
    ]  # fmt: skip
    rows = [(str(n), _standing(n, line, slots)) for n, line in enumerate(lines)]
    controls = element(
        "p",
        element("label", "Show policies named ", element("input", type="search", id="filter")),
        element("span", id="picked", class_="note"),
        class_="controls",
    )
    said = [element("p", note, class_="note") for note in notes(board, lines)
            if not note.startswith(("Failed:", "*"))]  # fmt: skip
    if any(line.starves for line in lines):
        said.append(
            element(
                "p",
                charts.badge(True),
                " its longest wait on some workload is over twice EASY's: its means are bought by "
                "jobs that hardly start.",
                class_="note",
            )
        )
    return join([controls, table("Ranked policies", columns, rows, sorted_by=1), said])


def _standing(n: int, line: Standing, slots: Slots) -> list[Cell]:
    starves = charts.badge(line.starves)
    interval = MISSING if line.low is None else f"{ratio(line.low)} to {ratio(line.high)}"
    return [
        Cell(_pick(n, line.policy, slots), line.policy.lower()),
        Cell(MISSING if line.rank is None else line.rank, _number(line.rank)),
        Cell([ratio(line.ratio), starves], line.ratio),
        Cell(interval, line.low),
        Cell([slowdown(line.mean_bounded_slowdown), starves], line.mean_bounded_slowdown),
        Cell([duration(line.mean_wait), starves], line.mean_wait),
        Cell(duration(line.p95_wait), line.p95_wait),
        Cell(duration(line.max_wait), line.max_wait),
        Cell(percent(line.utilization), line.utilization),
        Cell(line.rows, float(line.rows)),
        Cell(line.failed, float(line.failed), "bad" if line.failed else None),
    ]


def _number(rank: int | None) -> float | None:
    return None if rank is None else float(rank)


def _pick(n: int, name: str, slots: Slots) -> Markup:
    """A policy's name, its line, and the box that highlights it in the charts."""
    box = element(
        "input", type="checkbox", class_="pick", data_p=n, checked=n in slots,
        aria_label=f"highlight {name} in the charts", autocomplete="off",
    )  # fmt: skip
    line = element("span", swatch(), class_=charts.highlighted(n, slots) + " entry", data_p=n)
    return element("span", box, element("span", name, class_="name"), line, class_="picker")


def _trade_off(lines: list[Standing], summaries: Summaries, slots: Slots) -> Markup | None:
    points = {}
    for n, line in enumerate(lines):
        pairs = [
            (one[n].metrics, _reference(one).metrics)
            for one in summaries.values()
            if n in one and _reference(one) is not None
        ]
        mean, longest = (_ratio(pairs, name) for name in ("mean_wait", "max_wait"))
        if mean and longest:
            points[n] = (line.policy, mean, longest)
    starving = {n for n, line in enumerate(lines) if line.starves}
    drawing = charts.trade_off(points, starving, slots)
    names = {n: line.policy for n, line in enumerate(lines)}
    return None if drawing is None else join([legend(names, starving, slots), drawing])


def _reference(results: dict[int, Result]) -> Result | None:
    return next((one for one in results.values() if one.policy == REFERENCE), None)


def _ratio(pairs: list[tuple[dict, dict]], name: str) -> float | None:
    """The geometric mean of ratios; None where one of them cannot be had."""
    logs = []
    for parts in pairs:
        mine, reference = (part.get(name) or 0 for part in parts)
        if mine <= 0 or reference <= 0:
            return None
        logs.append(math.log(mine / reference))
    return math.exp(sum(logs) / len(logs)) if logs else None


def _failed(board: Board) -> Markup | None:
    if not board.failed:
        return None
    rows = [
        (None, [Cell(row["policy"]), Cell(row["workload"]), Cell(row["seed"]),
                Cell(row["error"] or "no reason given", None, "error")])
        for row in board.failed
    ]  # fmt: skip
    return table("Runs that failed", ["policy", "workload", "seed", "error"], rows, text=(0, 1, 3))


def _provenance(board: Board) -> Markup:
    columns = ["policy", "workload", "seed", "made again by", "source", "content", "commit",
               "versions"]  # fmt: skip
    rows = [
        (
            None,
            [
                Cell(row["policy"]),
                Cell(row["workload"]),
                Cell(row["seed"]),
                *(
                    Cell(element("code", text))
                    for text in (
                        row["command"],
                        row["source"],
                        row["workload_hash"],
                        row["commit"] or MISSING,
                    )
                ),
                Cell(", ".join(f"{name} {value}" for name, value in row["versions"].items())),
            ],
        )
        for row in [*board.rows, *board.failed]
    ]
    told = (
        "Each run has a file of its own, DIR/rows/*.json; the command makes it again, the source "
        "its jobs, and the hash says whether they are the same."
    )
    return join(
        [
            element("p", told),
            element(
                "details",
                element("summary", f"{len(rows):,} runs"),
                table("Provenance of every run", columns, rows, text=(0, 1, 3, 4, 5, 6, 7)),
                class_="provenance",
            ),
        ]
    )
