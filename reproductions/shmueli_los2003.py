"""Shmueli 2003: LOS, its variants, and how far it must look ahead."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from reproductions.examples import PLANES
from reproductions.item import (
    Cell,
    Claim,
    Comparison,
    Content,
    Extreme,
    Item,
    Line,
    Log,
    Panel,
    Paper,
    Value,
    alike,
    curve,
    stand_in,
    value_of,
    workload_value,
)
from reproductions.measures import JOB_COLUMNS

FOUR = Log("four jobs", "thesis-1.1", "thesis-1.1", True, "the paper's own example")
FIVE = Log("five jobs", "thesis-3", "thesis-3", True, "the paper's own example")
CTC = Log(
    "CTC",
    "CTC-SP2-1996-3.1-cln(processors=512)",
    stand_in(512),
    True,
    "77,205 jobs of the cleaned edition; the thesis has 79,302. On 512 processors, as in the "
    "thesis",
)
SDSC = Log(
    "SDSC",
    "SDSC-SP2-1998-4.2-cln",
    stand_in(128),
    False,
    "54,034 jobs of the cleaned edition, which lacks 13,771 jobs of four users' bursts; the thesis "
    "has 67,667",
)
KTH = Log("KTH", "KTH-SP2-1996-2", stand_in(100), True, "28,481 usable jobs of the thesis' 28,490")
LOGS = (CTC, SDSC, KTH)
LOADS = {  # section 4.2: where the logs are not saturated
    "CTC": (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9),
    "SDSC": (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9),
    "KTH": (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
}
BEYOND = (0.95, 1.0)  # loads of Figure 4.1 besides
LOOKAHEADS = (10, 25, 35, 50, 100, 250)


def _loads(log: Log, quick: bool) -> tuple[float, ...]:
    return (0.6, LOADS[log.label][-1]) if quick else LOADS[log.label]


def at(log: Log, policy: str, measure: str, load: float, quick: bool, **options: Any) -> Value:
    """Return a value of a policy at an offered load."""
    return value_of(log, policy, measure, quick, load=load, **options)


def _where(log: Log, load: float) -> str:
    return f"{log.label}, load {load:g}"


# The worked examples ----------------------------------------------------------------------------


def _table_1_1(quick: bool) -> Content:
    cells = [
        Cell(str(job + 1), column, value_of(FOUR, "fcfs", f"job-{job}-{column}", quick), FOUR)
        for job in range(4)
        for column in JOB_COLUMNS
    ]
    return Content(cells)


def _table_3(table: int, quick: bool) -> Content:
    basic = table in (1, 2)
    sizes = ("7", "2", "1", "2", "3") if basic else ("7_7", "2_0", "1_1", "2_2", "3_3")
    rows = ["0 (-)", *(f"{i} ({size})" for i, size in enumerate(sizes, 1))]
    cells = [
        Cell(row, str(j), workload_value(FIVE, f"table-3.{table}-{i}-{j}", quick), FIVE)
        for i, row in enumerate(rows)
        for j in range(6)
    ]
    return Content(cells)


def _table_3_8(quick: bool) -> Content:
    cells = [
        Cell(f"wj {job}", column, workload_value(FIVE, f"table-3.8-{job}-{column}", quick), FIVE)
        for job in range(2, 6)
        for column in ("size", "ssize")
    ]
    return Content(cells)


def _queue_table(log: Log, prefix: str, jobs: Sequence[int], quick: bool) -> list[Cell]:
    """Return size and estimated runtime of waiting jobs, as a figure lists them."""
    return [
        Cell(
            f"{prefix} {job if log is FIVE else job + 1}",
            column,
            workload_value(log, f"job-{job}-{field}", quick),
            log,
        )
        for job in jobs
        for column, field in (("size", "size"), ("time", "estimate"))
    ]


def _boxes(title: str, log: Log, policy: str, measure: str, quick: bool) -> Panel:
    line = Line(policy, [value_of(log, policy, measure, quick)])
    return Panel(title, "time", "processors", [line], "boxes")


def _figure_1_1(quick: bool) -> Content:
    return Content(_queue_table(FOUR, "j", range(4), quick))


def _figure_1_2(quick: bool) -> Content:
    panel = _boxes("The four jobs, first come, first served", FOUR, "fcfs", "boxes", quick)
    cells = [
        Cell(measure, "value", value_of(FOUR, "fcfs", measure, quick), FOUR)
        for measure in ("makespan", "utilization")
    ]
    return Content(cells, [panel], per_row=1)


def _examined(policy: str, facts: Sequence[str], quick: bool) -> Content:
    """Figures 3.1 to 3.6: what runs at 25, the reservation of the head, and what LOS starts."""
    title = f"{policy} at 25; wj 1 is a reservation"
    panel = _boxes(title, FIVE, policy, "examined-boxes", quick)
    cells = [
        Cell(fact, "value", workload_value(FIVE, f"head-{fact}", quick), FIVE)
        for fact in facts
        if fact != "scheduled"
    ]
    if "scheduled" in facts:
        value = value_of(FIVE, policy, "started-at-examination", quick)
        cells.append(Cell("scheduled", "value", value, FIVE))
    return Content(cells, [panel], per_row=1)


def _figure_3_1(quick: bool) -> Content:
    content = _examined("fcfs", ("free",), quick)
    return content._replace(cells=[*content.cells, *_queue_table(FIVE, "wj", range(1, 6), quick)])


def _figure_b(log: Log, quick: bool) -> Content:
    line = curve("jobs", workload_value(log, "sizes", quick))
    panel = Panel(f"{log.label}: jobs by size", "processors", "jobs", [line], "scatter", True, True)
    cells = [
        Cell(name, log.label, workload_value(log, name, quick), log)
        for name in ("processors", "jobs")
    ]
    return Content(cells, [panel], per_row=1)


# Figures against the load -------------------------------------------------------------------------


def _easy_and_los(
    log: Log, measure: str, loads: Sequence[float], quick: bool
) -> tuple[list[Value], list[Value]]:
    easy, los = (
        [at(log, policy, measure, load, quick) for load in loads] for policy in ("easy", "los")
    )
    return easy, los


def _figure_4_1(quick: bool) -> Content:
    panels, claims = [], []
    for log in LOGS:
        loads = sorted({*_loads(log, quick), *BEYOND})
        easy, los = _easy_and_los(log, "utilization", loads, quick)
        lines = [Line("EASY", easy, loads), Line("LOS", los, loads)]
        panels.append(Panel(log.label, "offered load", "utilization", lines))
        claims += [
            Comparison(_where(log, load), a, b, log, strict=False, slack=0.002)
            for load, a, b in zip(loads, easy, los, strict=True)
        ]
    text = "LOS's utilization is at or above EASY's (within 0.2 %)"
    return Content((), panels, [Claim(text, claims)], per_row=3)


SLOWDOWN, RESPONSE = "gain-bounded-slowdown-90", "gain-response-90"
LABELS = {SLOWDOWN: "bounded slowdown", RESPONSE: "response time (s)"}


def _gain(
    measure: str, policy: str, reference: str, facts: Sequence[tuple[str, str]], quick: bool
) -> Content:
    """Draw the mean job differential against the load, with 90 % intervals by batch means."""
    panels, positive, cells = [], [], []
    for log in LOGS:
        loads = _loads(log, quick)
        values = [at(log, policy, measure, load, quick, reference=reference) for load in loads]
        line = Line(f"{reference} - {policy}", values, loads, band=True)
        panels.append(Panel(log.label, "offered load", LABELS[measure], [line], zero=True))
        positive += [
            Comparison(_where(log, load), 0.0, value, log)
            for load, value in zip(loads, values, strict=True)
        ]
        for name, column in facts:
            if name == log.label and column == "maximum":
                cells.append(Cell(name, column, Extreme(values, "max"), log))
            elif name == log.label and float(column) in loads:
                cells.append(Cell(name, column, values[loads.index(float(column))], log))
    claim = Claim("The mean differential is positive at every load", positive)
    return Content(cells, panels, [claim], per_row=3)


def _maximum(measure: str, facts: Sequence[tuple[str, str]], quick: bool) -> Content:
    """Compare Figures 4.7 and 4.8 with 4.3 and 4.2: the curves with max-slowdown are higher."""
    content = _gain(measure, "los-max-slowdown", "easy", facts, quick)
    last = None if measure == SLOWDOWN else -1
    higher = [
        Comparison(
            _where(log, load),
            at(log, "los", measure, load, quick, reference="easy"),
            at(log, "los-max-slowdown", measure, load, quick, reference="easy"),
            log,
        )
        for log in LOGS
        for load in _loads(log, quick)
        if load in LOADS[log.label][:last]
    ]
    text = "The curve of max-slowdown is above that of plain LOS"
    claim = Claim(f"{text}, but for the highest load" if last else text, higher)
    return content._replace(claims=[*content.claims, claim])


def _lookahead(measure: str, y: str, quick: bool) -> Content:
    panels, equal, shorter = [], [], []
    policies = {"EASY": "easy"}
    policies |= {f"LOS{k}": "los" if k == 50 else f"los(lookahead={k})" for k in LOOKAHEADS}
    for log in LOGS:
        loads = _loads(log, quick)
        values = {
            name: [at(log, policy, measure, load, quick) for load in loads]
            for name, policy in policies.items()
        }
        lines = [
            Line(name, points, loads, style="--" if name == "EASY" else "-")
            for name, points in values.items()
        ]
        panels.append(Panel(log.label, "offered load", y, lines))
        for i, load in enumerate(loads):
            ten, fifty, most = (values[name][i] for name in ("LOS10", "LOS50", "LOS250"))
            equal += alike(_where(log, load), fifty, most, log, slack=0.1)
            if load == loads[-1] and log is not SDSC:
                shorter.append(Comparison(_where(log, load), fifty, ten, log))
    claims = [
        Claim("A lookahead of 50 is as good as one of 250 (within 10 %)", equal),
        Claim("At the highest load of CTC and KTH, 10 is worse than 50", shorter),
    ]
    return Content((), panels, claims, per_row=3)


def _queues(quick: bool) -> Content:
    panels, shorter = [], []
    for log in LOGS:
        loads = _loads(log, quick)
        easy, los = _easy_and_los(log, "queue-length", loads, quick)
        lines = [Line("EASY", easy, loads), Line("LOS50", los, loads)]
        panels.append(Panel(log.label, "offered load", "mean queue length", lines))
        shorter += [
            Comparison(_where(log, load), b, a, log)
            for load, a, b in zip(loads, easy, los, strict=True)
        ]
    fits = [
        Comparison(_where(log, 0.9), at(log, "los", "queue-length", 0.9, quick), 50.0, log)
        for log in (CTC, SDSC)
    ]
    top = Comparison(_where(KTH, 0.95), 50.0, at(KTH, "los", "queue-length", 0.95, quick), KTH)
    claims = [
        Claim("The mean queue is shorter with LOS", shorter),
        Claim("Only for KTH, at loads above 0.9, the mean exceeds 50 jobs", [*fits, top]),
    ]
    return Content((), panels, claims, per_row=3)


def _queue_over_time(log: Log, quick: bool) -> Content:
    panels, shorter = [], []
    for load in LOADS[log.label][-2:]:
        for name, policy in (("LOS", "los"), ("LOS, max-slowdown", "los-max-slowdown")):
            lines = [
                curve(label, at(log, drawn_policy, "queue", load, quick))
                for label, drawn_policy in (("EASY", "easy"), (name, policy))
            ]
            panels.append(Panel(f"{_where(log, load)}: {name}", "days", "queue", lines))
            easy, lookahead = (
                at(log, drawn_policy, "queue-length", load, quick)
                for drawn_policy in ("easy", policy)
            )
            shorter.append(Comparison(f"{name}, load {load:g}", lookahead, easy, log))
    claim = Claim("LOS keeps the queue shorter, in the mean over time", shorter)
    return Content((), panels, [claim])


READINGS = {
    "as here": "los",
    "as here, max-slowdown": "los-max-slowdown",
    "counting fitting jobs": "los(counts=fitting)",
    "counting fitting jobs, max-slowdown": "los(merit=slowdown, counts=fitting)",
    "lookahead of 1000": "los(lookahead=1000)",
}


def _readings(quick: bool) -> Content:
    """What LOS gains on EASY under readings of the lookahead and of the estimates."""
    cells = []
    for row, policy in READINGS.items():
        for exact in (False, True):
            steps = {"estimates": "exact"} if exact else {}
            label = f"{row}{', exact estimates' if exact else ''}"
            for log in LOGS:
                for load in LOADS[log.label][-3::2]:
                    value = at(log, policy, SLOWDOWN, load, quick, reference="easy", **steps)
                    cells.append(Cell(label, f"{log.label}, {load:g}", value, log))
    return Content(cells)


MERITS = {
    "most jobs": "los-maxjobs",
    "greatest slowdown": "los-max-slowdown",
    "least slowdown": "los(merit=slowdown, aim=min)",
    "greatest response": "los(merit=response)",
    "least response": "los(merit=response, aim=min)",
}


def _merits(quick: bool) -> Content:
    """Draw what each merit of section 3.4 gains on LOS; the thesis prints two of them."""
    panels, best = [], []
    for measure, label in LABELS.items():
        for log in LOGS:
            loads = _loads(log, quick)
            values = {
                merit: [at(log, policy, measure, load, quick, reference="los") for load in loads]
                for merit, policy in MERITS.items()
            }
            lines = [Line(merit, gains, loads) for merit, gains in values.items()]
            panels.append(Panel(log.label, "offered load", label, lines, zero=True))
            best += [
                Comparison(f"{_where(log, loads[-1])}, {merit}", gains[-1], greatest[-1], log)
                for greatest in [values["greatest slowdown"]]
                for merit, gains in values.items()
                if measure == SLOWDOWN and gains is not greatest
            ]
    text = "At the highest load the greatest total slowdown gains most slowdown"
    return Content((), panels, [Claim(text, best)], per_row=3)


STUDIES = {
    "one reservation": "los",
    **{f"{k} reservations": f"los(reservations={k})" for k in (2, 4, 8)},
    **{f"threshold {u}": f"los(threshold={u})" for u in (0.9, 0.5)},
}


def _studies(quick: bool) -> Content:
    """What LOS gains on EASY in the two studies that chapter 5 names, whose results none prints."""
    return Content(
        [
            Cell(row, f"{log.label}, {load:g}", value, log)
            for row, policy in STUDIES.items()
            for log in LOGS
            for load in _loads(log, quick)[-3::2]
            for value in [at(log, policy, SLOWDOWN, load, quick, reference="easy")]
        ]
    )


_WORKED = {1: "initial values of M", 2: "resulting M", 3: "initial plane k = 0"} | {
    table: f"plane k = {k}" for table, k in PLANES.items()
}
_NEAR = (("CTC", "0.9"), ("SDSC", "0.9"))

ITEMS = (
    Item("figure-1.1", "the waiting queue holds four jobs", "Page 2", _figure_1_1, exact=True,
         digits=0, note="The figure is not available. Sizes and runtimes come from the formula of "
         "the utilization on page 4."),
    Item("figure-1.2", "a possible schedule of the four jobs", "Page 2", _figure_1_2, exact=True),
    Item("table-1.1", "computed values for the example schedule", "Page 3", _table_1_1, exact=True,
         digits=0),
    *(
        Item(f"table-3.{table}", title, "Section 3", partial(_table_3, table), exact=True,
             unit="util, sutil; < selected, ^ bypassed" if table > 2 else "util")
        for table, title in _WORKED.items()
    ),
    Item("figure-3.1", "system state and queue at t = 25", "Page 13", _figure_3_1, exact=True,
         digits=0),
    *(
        Item(f"figure-3.{n}", title, f"Page {page}", partial(_examined, policy, facts), exact=True,
             digits=0)
        for n, title, page, policy, facts in (
            (2, "computing the shadow time", 14, "fcfs", ("shadow",)),
            (3, "what the basic algorithm starts", 18, "los-basic", ("scheduled",)),
            (4, "computing shadow and extra", 19, "fcfs", ("shadow", "extra")),
            (5, "what the full algorithm starts", 24, "los", ("scheduled",)),
            (6, "the other set of full utilization", 24, "los-selected-first", ("scheduled",)),
        )
    ),
    Item("table-3.8", "optimized waiting queue", "Page 34", _table_3_8, exact=True, digits=0),
    Item("figure-4.1", "system utilization vs. load", "Page 37", _figure_4_1),
    Item("figure-4.2", "mean job differential response time vs. load", "Page 38",
         partial(_gain, RESPONSE, "los", "easy", ())),
    Item("figure-4.3", "mean job differential bounded slowdown vs. load", "Page 39",
         partial(_gain, SLOWDOWN, "los", "easy", _NEAR)),
    Item("figure-4.4", "the same for selected-first, against LOS", "Page 42",
         partial(_gain, SLOWDOWN, "los-selected-first", "los", (*_NEAR, ("KTH", "maximum")))),
    Item("figure-4.5", "the same for maxjobs, against LOS", "Page 44",
         partial(_gain, SLOWDOWN, "los-maxjobs", "los", (("KTH", "maximum"),))),
    Item("figure-4.6", "the same for max-slowdown, against LOS", "Page 47",
         partial(_gain, SLOWDOWN, "los-max-slowdown", "los", (("KTH", "maximum"),))),
    Item("figure-4.7", "the same for max-slowdown, against EASY", "Page 48",
         partial(_maximum, SLOWDOWN, ())),
    Item("figure-4.8", "mean job differential response time, max-slowdown against EASY", "Page 49",
         partial(_maximum, RESPONSE, (("SDSC", "0.9"), ("KTH", "0.95"))), digits=0),
    Item("figure-4.9", "limited lookahead: mean response time", "Page 51",
         partial(_lookahead, "response", "response time (s)")),
    Item("figure-4.10", "limited lookahead: mean bounded slowdown", "Page 52",
         partial(_lookahead, "bounded-slowdown", "bounded slowdown")),
    Item("figure-4.11", "limited lookahead: mean wait time", "Page 53",
         partial(_lookahead, "wait", "wait (s)")),
    Item("figure-4.12", "mean queue length vs. load", "Page 55", _queues),
    *(
        Item(f"figure-4.{n}", f"queue length behavior, {log.label} log", f"Page {n + 44}",
             partial(_queue_over_time, log))
        for n, log in ((13, CTC), (14, SDSC), (15, KTH))
    ),
    *(
        Item(f"figure-B.{n}", f"jobs size distribution, {log.label} log", f"Page {n + 68}",
             partial(_figure_b, log), digits=0)
        for n, log in enumerate(LOGS, 1)
    ),
    Item("readings", "mean bounded slowdown gained on EASY, by reading of the lookahead",
         "Figures 4.3 and 4.7", _readings, digits=1),
    Item("section-3.4", "what each merit gains on LOS", "Section 3.4", _merits),
    Item("chapter-5", "mean bounded slowdown gained on EASY, in the studies to come",
         "Chapter 5", _studies, digits=1),
)  # fmt: skip

SHMUELI_LOS2003 = Paper(
    "shmueli-los2003",
    "Backfilling with lookahead to optimize the performance of parallel job scheduling",
    "E. Shmueli, M.A. thesis, University of Haifa, 2003.",
    LOGS,
    ITEMS,
)
