"""Tsafrir 2010: multiples of runtimes are no model of users' estimates."""

from itertools import pairwise
from typing import Any

from bfenv.core.durations import DAY
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
    by_place,
    by_row,
    curve,
    stand_in,
    value_of,
    workload_value,
)
from reproductions.measures import SWAP_FACTORS

CTC = Log(
    "CTC",
    "CTC-SP2-1996-3.1-cln(processors=512)",
    stand_in(512),
    True,
    "77,205 usable of 77,222 jobs, as many as the paper has; on 512 processors, as in its Table 2",
)
KTH = Log(
    "KTH", "KTH-SP2-1996-2", stand_in(100), True, "28,481 jobs of the 28,490 that the paper has"
)
SDSC = Log(
    "SDSC",
    "SDSC-SP2-1998-4.2-cln",
    stand_in(128),
    True,
    "54,034 usable jobs of 59,715, where the paper has 59,725; 5,671 never ran",
)
BLUE = Log(
    "BLUE",
    "SDSC-BLUE-2000-4.2-cln",
    stand_in(1152, 0.7),
    True,
    "232,536 usable jobs of 243,306, where the paper has 243,314",
)
LOGS = (CTC, KTH, SDSC, BLUE)
LINES = Log("three lines", "tsafrir-table-1", "tsafrir-table-1", True, "the paper's own example")
HOLE = Log("a hole of 2", "tsafrir-1-2", "tsafrir-1-2", True, "four jobs as in the text")
LONGER = Log("job 4 one longer", "tsafrir-1-3", "tsafrir-1-3", True, "four jobs as in the text")
HEEL = Log("heel and toe", "tsafrir-6", "tsafrir-6", True, "the paper's own example")
METRICS = {"wait": ("wait time (h)", 1 / 3600), "bounded-slowdown": ("bounded slowdown", 1.0)}
SEEDS = 100
BACKFILL_SEEDS = 10  # of Figures 5 and 7, for which the paper gives no number
STEPS = tuple(step / 10 for step in range(101))  # f
QUICK_STEPS = (0.0, 0.5, 1.0, 2.0, 4.0, 7.0, 10.0)


def _steps(quick: bool) -> tuple[float, ...]:
    return QUICK_STEPS if quick else STEPS


def deterministic(log: Log, f: float, measure: str, quick: bool, scale: float = 1.0) -> Value:
    """Return a value with estimates of 1 + f / 2 times the runtime, the mean of the random ones.

    With f = 0, estimates are accurate.
    """
    steps: dict[str, Any] = {"estimates": "deterministic", "factor": round(1 + f / 2, 2)}
    if f == 0:
        steps = {"estimates": "exact"}
    return value_of(log, "easy", measure, quick, scale=scale, **steps)


def random(
    log: Log, f: float, measure: str, quick: bool, scale: float = 1.0, seeds: int = SEEDS
) -> Value:
    """Return a value with estimates uniform from the runtime to f + 1 times it (section 3.1)."""
    if f == 0:
        return deterministic(log, 0, measure, quick, scale)
    steps: dict[str, Any] = {"estimates": "uniform-tsafrir", "factor": round(f + 1, 1)}
    seeds = min(5, seeds) if quick else seeds
    return value_of(log, "easy", measure, quick, scale=scale, seeds=seeds, **steps)


def _table_1(quick: bool) -> Content:
    cells = [
        Cell(str(job + 1), column, workload_value(LINES, f"job-{job}-{column}", quick), LINES)
        for job in range(3)
        for column in ("size", "runtime", "estimate")
    ]
    return Content(cells)


def _boxes(title: str, log: Log, policy: str, quick: bool) -> Panel:
    line = Line(policy, [value_of(log, policy, "boxes", quick)])
    return Panel(title, "time", "processors", [line], "boxes")


def _start(log: Log, policy: str, job: int, quick: bool) -> Value:
    return value_of(log, policy, f"job-{job - 1}-start", quick)


def _figure_1(quick: bool) -> Content:
    panels = [
        _boxes("(a) first come, first served", HOLE, "fcfs", quick),
        _boxes("(b) EASY", HOLE, "easy", quick),
        _boxes("EASY, with job 4 one unit longer", LONGER, "easy", quick),
    ]
    cells = [
        Cell(f"start of job {job}", label, _start(log, policy, job, quick), log)
        for job in (3, 4)
        for label, log, policy in (
            ("FCFS", HOLE, "fcfs"),
            ("EASY", HOLE, "easy"),
            ("EASY, job 4 longer", LONGER, "easy"),
        )
    ]
    at = by_place(cells)
    earlier = [
        Comparison("length 2", at["start of job 4", "EASY"], at["start of job 4", "FCFS"], HOLE)
    ]
    not_earlier = alike(
        "length 3", at["start of job 4", "EASY, job 4 longer"], at["start of job 4", "FCFS"], LONGER
    )
    claims = [
        Claim("Job 4 jumps over job 3", earlier),
        Claim("Had it been longer than 2, it could not have been backfilled", not_earlier),
    ]
    return Content(cells, panels, claims, per_row=3)


def _figure_6(quick: bool) -> Content:
    starts = {f"start of job {job}": _start(HEEL, "easy", job, quick) for job in (4, 5, 6, 3)}
    values = {
        "reservation of job 3": value_of(HEEL, "easy", "promise-2", quick),
        **starts,
        "stolen from job 3": value_of(HEEL, "easy", "stolen-from-head", quick),
    }
    panel = _boxes("Runtimes, and estimates of twice as much (dashed)", HEEL, "easy", quick)
    return Content(
        [Cell(row, "time", value, HEEL) for row, value in values.items()], [panel], per_row=1
    )


def _table_2(quick: bool) -> Content:
    columns = {
        "cpus": ("processors", 1.0),
        "jobs": ("jobs", 1.0),
        "util. (%)": ("offered-load", 100),
    }
    cells = [
        Cell(log.label, column, workload_value(log, measure, quick, scale), log)
        for log in LOGS
        for column, (measure, scale) in columns.items()
    ]
    return Content(cells)


def _figure_2(quick: bool) -> Content:
    panels, comparisons = [], []
    labels = [log.label for log in LOGS]
    for measure, (name, scale) in METRICS.items():
        perfect = [deterministic(log, 0, measure, quick, scale) for log in LOGS]
        doubled = [deterministic(log, 2, measure, quick, scale) for log in LOGS]
        lines = (Line("perfect", perfect, labels), Line("perfect X 2", doubled, labels))
        panels.append(Panel(f"Mean {name}", "", name, lines, "bar"))
        comparisons += [
            Comparison(f"{log.label}, {name}", b, a, log)
            for log, a, b in zip(LOGS, perfect, doubled, strict=True)
        ]
    text = "Estimates of twice the runtime are better than accurate ones"
    return Content((), panels, [Claim(text, comparisons)])


def _figure_3(quick: bool) -> Content:
    return Content((), _sensitivity(quick, 1), per_row=4)


def _sensitivity(quick: bool, seeds: int) -> list[Panel]:
    steps = _steps(quick)
    panels = []
    for measure, (name, scale) in METRICS.items():
        for log in LOGS:
            drawn = [random(log, f, measure, quick, scale, seeds) for f in steps]
            fixed = [deterministic(log, f, measure, quick, scale) for f in steps]
            label = "random" if seeds == 1 else "random, 5th to 95th percentile"
            lines = [
                Line(label, drawn, steps, band=seeds > 1),
                Line("deterministic", fixed, steps),
            ]
            panels.append(Panel(f"{log.label}: {name}", "f", name, lines))
    return panels


def _figure_4(quick: bool) -> Content:
    steps = _steps(quick)[1:]
    drops, rises, flat, best = [], [], [], []
    for measure, (name, scale) in METRICS.items():
        for log in LOGS:
            drawn = [random(log, f, measure, quick, scale) for f in steps]
            fixed = [deterministic(log, f, measure, quick, scale) for f in steps]
            label, lowest = f"{log.label}, {name}", Extreme(drawn, "min")
            accurate = deterministic(log, 0, measure, quick, scale)
            drops.append(Comparison(label, lowest, accurate, log))
            if log is CTC:
                flat.append(Comparison(label, drawn[-1], lowest, log, strict=False, slack=0.02))
            else:
                rises.append(Comparison(label, lowest, drawn[-1], log, slack=-0.02))
            best.append(Comparison(label, Extreme(fixed, "mean"), Extreme(drawn, "mean"), log))
    claims = [
        Claim("Performance first improves: the lowest mean is below f = 0", drops),
        Claim("But for CTC it then worsens, by over 2 % up to f = 10 (V shape)", rises),
        Claim("CTC stays within 2 % of its lowest mean (L shape)", flat),
        Claim(
            "Over all f the deterministic model is below the mean of the random one, "
            "as it follows its best case",
            best,
        ),
    ]
    return Content((), _sensitivity(quick, SEEDS), claims, per_row=4)


def _drawn(log: Log, f: float, measure: str, quick: bool, scale: float = 100) -> Value:
    return random(log, f, measure, quick, scale, BACKFILL_SEEDS)


BURSTS = (("burst", 4.0), ("burst_period", 7 * DAY))  # a week's jobs arrive in 42 hours
BURST_SEEDS = 10
BURST_STEPS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)


def _bursty(quick: bool) -> Content:
    """The experiment that section 3.3 tells of CTC: with bursts of arrivals the L becomes a V."""
    steps = QUICK_STEPS if quick else BURST_STEPS
    panels, rises = [], []
    for measure, (name, scale) in METRICS.items():
        values = []
        for f in steps:
            value = random(CTC, f, measure, quick, scale, BURST_SEEDS)
            run = value.run._replace(steps=(*value.run.steps, *BURSTS))
            values.append(value._replace(run=run))
        line = Line("random, 5th to 95th percentile", values, steps, band=True)
        panels.append(Panel(f"CTC in weekly bursts: {name}", "f", name, [line]))
        label, lowest = f"CTC in bursts, {name}", Extreme(values, "min")
        rises.append(Comparison(f"{label}: drop", lowest, values[0], CTC))
        rises.append(Comparison(f"{label}: rise", lowest, values[-1], CTC, slack=-0.02))
    text = "With bursts, CTC first drops and then rises by over 2 % (V shape)"
    return Content((), panels, [Claim(text, rises)])


def _swaps(quick: bool) -> Content:
    """The argument of section 3.3: a larger F mistakes more short jobs for long ones."""
    values = {
        log.label: [workload_value(log, f"swaps-{factor}", quick, 100) for factor in SWAP_FACTORS]
        for log in LOGS
    }
    lines = [Line(label, shares, SWAP_FACTORS) for label, shares in values.items()]
    panel = Panel("Neighbours in the wrong order", "F", "% of pairs", lines)
    grows = [
        Comparison(f"{log.label}, F = {f} and {g}", a, b, log)
        for log in LOGS
        for (f, a), (g, b) in pairwise(zip(SWAP_FACTORS, values[log.label], strict=True))
    ]
    text = "The probability that the shorter of two jobs has the longer estimate grows with F"
    return Content((), [panel], [Claim(text, grows)], per_row=1)


def _figure_5(quick: bool) -> Content:
    steps = _steps(quick)
    lines = [
        Line(log.label, [_drawn(log, f, "backfilled", quick) for f in steps], steps) for log in LOGS
    ]
    monotone = [
        Comparison(
            f"{log.label}, f = {a:g} and {b:g}",
            _drawn(log, a, "backfilled", quick),
            _drawn(log, b, "backfilled", quick),
            log,
        )
        for log in LOGS
        for a, b in pairwise((0.0, 1.0, 2.0, 4.0, 7.0, 10.0))
    ]
    panel = Panel("Backfilled jobs", "f", "% of jobs", lines)
    return Content((), [panel], [Claim("The percentage increases with f", monotone)])


def _figure_7(quick: bool) -> Content:
    steps = _steps(quick)[1:]
    wild = [_drawn(SDSC, f, "wild", quick) for f in steps]
    stolen = [_drawn(SDSC, f, "stolen-from-head", quick, 1 / 3600) for f in steps]
    panels = [
        Panel("SDSC: wild backfills", "f", "% of jobs", [Line("wild", wild, steps, band=True)]),
        Panel("SDSC: stolen time", "f", "hours", [Line("stolen", stolen, steps, band=True)]),
    ]
    cells = [
        Cell("wild backfills, at most (% of jobs)", "SDSC", Extreme(wild, "max"), SDSC),
        Cell("mean stolen time, at most (h)", "SDSC", Extreme(stolen, "max"), SDSC),
    ]
    grows = [
        Comparison("wild backfills", wild[0], wild[-1], SDSC),
        Comparison("stolen time", stolen[0], stolen[-1], SDSC),
    ]
    return Content(cells, panels, [Claim("Both grow with f", grows)])


def _figure_8(quick: bool) -> Content:
    panels = []
    for log in LOGS:
        lines = [
            curve("runtime", workload_value(log, "runtimes", quick)),
            curve("estimate", workload_value(log, "estimates", quick)),
        ]
        panels.append(Panel(log.label, "seconds", "% of jobs", lines, "step", log_x=True))
    row = "jobs with one of the 20 most popular estimates (%)"
    cells = [
        Cell(row, log.label, workload_value(log, "popular-share", quick, 100), log) for log in LOGS
    ]
    maximal = workload_value(CTC, "share-18h", quick, 100)
    cells.append(Cell("jobs with the maximal estimate (%)", "CTC", maximal, CTC))
    return Content(cells, panels, per_row=4)


SHARES = (0.05, 0.25, 0.5, 0.8)  # of jobs with the maximal estimate


def _section_4(quick: bool) -> Content:
    cells, worse, more, helps = [], [], [], []
    measure = "bounded-slowdown"
    for log in LOGS:
        accurate, twice = (deterministic(log, f, measure, quick) for f in (0, 2))
        users = value_of(log, "easy", measure, quick)
        values = {"perfect": accurate, "perfect X 2": twice, "users' estimates": users}
        modal = {
            f"modal, {share:.0%} at the maximum": value_of(
                log,
                "easy",
                measure,
                quick,
                seeds=3 if quick else 20,
                estimates="tsafrir",
                emax_share=share,
            )
            for share in SHARES
        }
        cells += [Cell(row, log.label, value, log) for row, value in (values | modal).items()]
        _, quarter, _, most = modal.values()
        worse.append(Comparison(log.label, accurate, users, log))
        more.append(Comparison(log.label, quarter, most, log))
        helps.append(Comparison(log.label, twice, accurate, log))
    claims = [
        Claim("Users' estimates are worse than accurate ones", worse),
        Claim("With more jobs at the maximum it becomes worse, from 25 % to 80 %", more),
        Claim("While multiples of the runtime help", helps),
    ]
    return Content(by_row(cells), claims=claims)


ITEMS = (
    Item("table-1", "a typical log file", "Section 1", _table_1, exact=True, digits=0, unit="s",
         note="bfenv counts arrival times from the first job on, and users from 0 on."),
    Item("figure-1", "FCFS and backfilling", "Section 2", _figure_1, exact=True, digits=0),
    Item("table-2", "the logs", "Section 1", _table_2, digits=0),
    Item("figure-2", "perfect estimates and their double", "Section 3.2", _figure_2),
    Item("figure-3", "performance as a function of the badness factor, one run each",
         "Section 3.2", _figure_3),
    Item("figure-4", "averaging multiple experiments exposes a clear trend", "Section 3.3",
         _figure_4),
    Item("figure-5", "percent of backfilled jobs", "Section 3.3", _figure_5),
    Item("figure-6", "the heel-and-toe backfilling dynamic", "Section 3.3", _figure_6, exact=True,
         digits=0),
    Item("figure-7", "impact of the heel-and-toe dynamic", "Section 3.3", _figure_7),
    Item("swaps", "how often the shorter of two jobs looks longer", "Section 3.3, text", _swaps,
         note="A pair is two consecutive jobs with different runtimes."),
    Item("bursts", "CTC with bursty arrivals", "Section 3.3, text", _bursty,
         note="The paper does not say how burstiness was introduced. Here all jobs of a week "
         "arrive in its first 42 hours, `burst=4,burst_period=7d`."),
    Item("figure-8", "distributions of runtimes and estimates", "Section 4", _figure_8),
    Item("section-4", "users' and modal estimates against multiples of the runtime", "Section 4",
         _section_4),
)  # fmt: skip

TSAFRIR2010 = Paper(
    "tsafrir2010",
    "Using inaccurate estimates accurately",
    "D. Tsafrir, Job Scheduling Strategies for Parallel Processing (JSSPP), 2010.",
    LOGS,
    ITEMS,
)
