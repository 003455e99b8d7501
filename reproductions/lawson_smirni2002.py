"""Lawson and Smirni 2002: multiple queues against a single one, both with trials."""

from functools import partial
from itertools import product
from typing import Any

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
from reproductions.measures import CLASSES

CTC = Log(
    "CTC",
    "CTC-SP2-1996-3.1-cln(processors=430)",
    stand_in(430),
    True,
    "77,205 jobs of the cleaned edition; the paper has 79,302. On the 430 processors of the batch "
    "partition, see the notes: the machine has 512 nodes",
)
KTH = Log("KTH", "KTH-SP2-1996-2", stand_in(100), True, "28,481 usable jobs of the paper's 28,487")
PAR = Log(
    "PAR",
    "SDSC-Par-1996-3.1-cln",
    stand_in(400),
    False,
    "32,128 jobs of the cleaned edition on 400 processors; the paper has 38,723 on 416",
)
SP2 = Log(
    "SP2",
    "SDSC-SP2-1998-4.2-cln",
    stand_in(128),
    False,
    "54,034 jobs of the cleaned edition, which lacks 13,771 jobs of four users' bursts; the paper "
    "has 67,665",
)
LOGS = (CTC, KTH, PAR, SP2)
EXAMPLE = Log(
    "30 processors",
    "lawson-1",
    "lawson-1",
    True,
    "eight jobs that move the boundaries; the figure shows no jobs",
)
SDSC = (PAR, SP2)
MULTIPLE, SINGLE = "multiqueue", "easy-speculative"
OWN_PIVOT_ONLY = "reproductions.readings:own_pivot_only"
NEW_PROMISES = "reproductions.readings:new_promises"
SEEDS = 5
SHAKEN = 10  # seeds
SHARES = (0.01, 0.05, 0.25)  # of jobs with a requested start


def ratio(log: Log, measure: str, quick: bool, seeds: int = 1, **steps: Any) -> Value:
    """Return R, or curves of it, of multiple queues relative to a single one."""
    seeds = min(2, seeds) if quick else seeds
    return value_of(log, MULTIPLE, measure, quick, reference=SINGLE, seeds=seeds, **steps)


def _bars(title: str, values: dict[str, list[Value]]) -> Panel:
    """Return bars of R, by the name of a line, for each log."""
    lines = [Line(name, heights, [log.label for log in LOGS]) for name, heights in values.items()]
    return Panel(title, "", "R", lines, "bar", zero=True)


def _title(group: str) -> str:
    return "all classes" if group == "all" else f"{group} jobs"


def _positive(values: dict[str, tuple[Value, Log]], text: str) -> Claim:
    return Claim(text, [Comparison(k, 0.0, v, log) for k, (v, log) in values.items()])


def _table_1(quick: bool) -> Content:
    columns = {"Jobs": "jobs", "Crashed": "crashed", "Proportion": "crashed-share"}
    cells = [
        Cell(log.label, column, workload_value(log, measure, quick), log)
        for log in (CTC, KTH, SP2)
        for column, measure in columns.items()
    ]
    return Content(cells)


def _figure_1(quick: bool) -> Content:
    lines = [
        curve(name, workload_value(EXAMPLE, f"partition-{p}", quick))
        for p, name in enumerate(("small jobs", "medium jobs", "long jobs"))
    ]
    title = "Processors of three partitions"
    panel = Panel(title, "seconds", "processors", lines, "step")
    first = workload_value(EXAMPLE, "partitions-at-first", quick)
    largest = workload_value(EXAMPLE, "partitions-largest", quick)
    cells = [
        Cell("processors of each partition at first", "30 processors", first, EXAMPLE),
        Cell("largest partition later", "30 processors", largest, EXAMPLE),
    ]
    moves = Comparison("the largest partition", first, largest, EXAMPLE)
    return Content(cells, [panel], [Claim("Boundaries adapt to the jobs", [moves])], per_row=1)


def _figure_3(quick: bool) -> Content:
    panels, signs = [], {}
    for group in CLASSES:
        values = [ratio(log, f"ratio-{group}", quick) for log in LOGS]
        panels.append(_bars(_title(group), {"R": values}))
        for log, value in zip(LOGS, values, strict=True):
            if group != "long" or log not in SDSC:
                signs[f"{log.label}, {group}"] = (value, log)
    text = "R > 0 for all jobs and for each class, but for the long jobs of the SDSC logs"
    return Content((), panels, [_positive(signs, text)])


def _snapshots(priorities: tuple[str, ...], quick: bool, **steps: Any) -> Content:
    panels, majority = [], []
    for log in LOGS:
        lines = []
        for name in priorities:
            label = name.removeprefix("-")
            lines.append(curve(label or "R", ratio(log, f"snapshots{name}", quick, **steps)))
            value = ratio(log, f"positive{name}", quick, **steps)
            title = f"{log.label}, {label}" if label else log.label
            majority.append(Comparison(title, 0.5, value, log))
        panels.append(Panel(log.label, "days", "R per 1000 jobs", lines, "scatter", zero=True))
    return Content((), panels, [Claim("R is positive in the majority of the batches", majority)])


def _figure_5(quick: bool) -> Content:
    rates = (1.0, 1.25, 1.5)
    panels, signs = [], {}
    for group in CLASSES:
        values = {}
        for rate in rates:
            steps: dict[str, Any] = {} if rate == 1 else {"arrival_rate": rate}
            values[rate] = [ratio(log, f"ratio-{group}", quick, **steps) for log in LOGS]
        lines = {f"arrival rate x {rate:g}": ratios for rate, ratios in values.items()}
        panels.append(_bars(_title(group), lines))
        if group != "long":
            for (i, log), rate in product(enumerate(LOGS), rates[1:]):
                signs[f"{log.label}, {group}, x {rate:g}"] = (values[rate][i], log)
    text = "With more arrivals R > 0 for all jobs, the small and the medium ones"
    return Content((), panels, [_positive(signs, text)])


def _priorities(share: float, quick: bool) -> Content:
    kinds = {"all": "", "high priority": "-high", "low priority": "-low"}
    panels, signs, classes = [], {}, {}
    for group in CLASSES:
        values = {
            kind: [
                ratio(log, f"ratio-{group}{suffix}", quick, SEEDS, high_priority_share=share)
                for log in LOGS
            ]
            for kind, suffix in kinds.items()
        }
        panels.append(_bars(_title(group), values))
        if group == "all":
            for kind, (i, log) in product(kinds, enumerate(LOGS)):
                signs[f"{log.label}, {kind}"] = (values[kind][i], log)
        else:
            for log, value in zip(LOGS, values["all"], strict=True):
                if group != "long" or (share > 0.9 and log not in SDSC):
                    classes[f"{log.label}, {group}"] = (value, log)
    long = ", and of long jobs but for SDSC" if share > 0.9 else ""
    claims = [
        _positive(signs, "R > 0 for all classes together, for either priority and for both"),
        _positive(classes, f"R > 0 within the classes of small and medium jobs{long}"),
    ]
    return Content((), panels, claims)


def _asked(log: Log, policy: str, measure: str, share: float, quick: bool) -> Value:
    seeds = 2 if quick else SEEDS
    return value_of(log, policy, measure, quick, seeds=seeds, requested_start_share=share)


def _table_2(quick: bool) -> Content:
    cells, rough = [], []
    for log, share in product(LOGS, SHARES):
        row = f"{log.label} {share:g}"
        single, multiple = (
            _asked(log, policy, "missed", share, quick) for policy in (SINGLE, MULTIPLE)
        )
        asked = _asked(log, SINGLE, "reservations", share, quick)
        cells += [
            Cell(row, "Number of Reservations", asked, log),
            Cell(row, "Single-Queue Missed", single, log),
            Cell(row, "Multiple-Queue Missed", multiple, log),
        ]
        if share == SHARES[-1]:
            rough += alike(row, multiple, single, log, slack=0.15)
    text = "With a quarter of reservations, both miss about as many (within 15 %)"
    return Content(cells, claims=[Claim(text, rough)])


def _figure_10(quick: bool) -> Content:
    values = {
        share: [ratio(log, "ratio-all", quick, SEEDS, requested_start_share=share) for log in LOGS]
        for share in SHARES
    }
    lines = {f"proportion {share:g}": ratios for share, ratios in values.items()}
    signs = {
        f"{log.label}, {share:g}": (value, log)
        for share in SHARES[:2]
        for log, value in zip(LOGS, values[share], strict=True)
    }
    claim = _positive(signs, "R > 0 for proportions of 0.01 and 0.05")
    return Content((), [_bars("R with reservations", lines)], [claim], per_row=1)


def _figure_11(quick: bool) -> Content:
    panels = []
    for log in LOGS:
        lines = [
            curve(name, _asked(log, policy, "reservation-tail", 0.25, quick), style)
            for name, policy, style in (
                ("single queue", SINGLE, "-"),
                ("multiple queues", MULTIPLE, "--"),
            )
        ]
        panels.append(Panel(log.label, "delay (h)", "% of reservations delayed by more", lines))
    return Content((), panels)


# The open questions -----------------------------------------------------------------------------


def _readings(quick: bool) -> Content:
    """R of each class under readings of Figure 2, of the metric and of the machine."""
    readings = {
        "as here: no start delays any pivot": (MULTIPLE, "ratio"),
        "the same, slowdown of mean delay and mean service time": (MULTIPLE, "ratio-of-means"),
        "lines 7a and 7b as printed: the job's own pivot only": (OWN_PIVOT_ONLY, "ratio"),
        "new promises in each pass": (NEW_PROMISES, "ratio"),
    }
    logs = (CTC, KTH, SP2)
    cells = []
    for reading, (policy, measure) in readings.items():
        for log, group in product(logs, CLASSES):
            value = value_of(log, policy, f"{measure}-{group}", quick, reference=SINGLE)
            cells.append(Cell(reading, f"{log.label}, {group}", value, log))
    for processors in (338, 400, 512):
        resized = CTC._replace(workload=f"CTC-SP2-1996-3.1-cln(processors={processors})")
        row = f"as here, CTC on {processors} processors"
        for group in CLASSES:
            value = ratio(resized, f"ratio-{group}", quick)
            cells.append(Cell(row, f"CTC, {group}", value, resized))
    for log, group in product(logs, CLASSES):
        value = ratio(log, f"ratio-{group}", quick, SHAKEN, shake_seconds=60)
        for row, kind in (("5th", "low"), ("95th", "high")):
            label = f"as here, submit times shaken by a minute, {row} percentile"
            cells.append(Cell(label, f"{log.label}, {group}", Extreme([value], kind), log))
    return Content(cells)


def _slowdowns(quick: bool) -> Content:
    policies = {
        "single queue": SINGLE,
        "multiple queues, as here": MULTIPLE,
        "lines 7a and 7b as printed": OWN_PIVOT_ONLY,
        "new promises in each pass": NEW_PROMISES,
    }
    measures = {group: (f"slowdown-{group}", 1.0) for group in CLASSES}
    measures["longest wait (h)"] = ("longest-wait", 1 / 3600)
    cells = [
        Cell(name, f"{log.label}, {column}", value_of(log, policy, of, quick, scale=scale), log)
        for name, policy in policies.items()
        for log in (CTC, KTH, SP2)
        for column, (of, scale) in measures.items()
    ]
    return Content(cells)


ITEMS = (
    Item("table-1", "proportion of (possibly) crashed jobs", "Section 2", _table_1),
    Item("figure-1", "initial partition boundaries adapt", "Section 2.1", _figure_1, exact=True,
         digits=0),
    Item("figure-3", "slowdown ratio R, overall and per class", "Section 3.1", _figure_3),
    Item("figure-4", "R per 1000 job submissions", "Section 3.1", partial(_snapshots, ("",))),
    Item("figure-5", "R with increasing load", "Section 3.2", _figure_5),
    Item("figure-6", "R with 75 % high priority jobs", "Section 3.3", partial(_priorities, 0.75)),
    Item("figure-7", "R per 1000 submissions with 75 % high priority jobs", "Section 3.3",
         partial(_snapshots, ("-high", "-low"), high_priority_share=0.75)),
    Item("figure-8", "R with 95 % high priority jobs", "Section 3.3", partial(_priorities, 0.95)),
    Item("figure-9", "R per 1000 submissions with 95 % high priority jobs", "Section 3.3",
         partial(_snapshots, ("-high", "-low"), high_priority_share=0.95)),
    Item("figure-10", "R with reservations", "Section 3.4", _figure_10),
    Item("table-2", "missed reservations", "Section 3.4", _table_2, digits=0,
         note="The paper does not state which start times are requested. Here they are uniform "
         "within a day of submission. So the numbers of missed reservations need not agree, and "
         "only the claim can be judged. The ratios show how close the numbers are."),
    Item("figure-11", "distribution tails of reservation delays, proportion 0.25", "Section 3.4",
         _figure_11),
    Item("readings", "R under other readings of Figure 2 and of the metric", "Figures 2 and 3",
         _readings),
    Item("readings-slowdown", "mean slowdowns under other readings", "Figures 2 and 3", _slowdowns,
         digits=1),
)  # fmt: skip

LAWSON_SMIRNI2002 = Paper(
    "lawson-smirni2002",
    "Multiple-queue backfilling scheduling with priorities and reservations for parallel systems",
    "B. G. Lawson and E. Smirni, Job Scheduling Strategies for Parallel Processing (JSSPP), LNCS "
    "2537, 72-87, 2002.",
    LOGS,
    ITEMS,
)
