"""Tsafrir 2010: multiples of runtimes are no model of users' estimates."""

from functools import partial
from itertools import pairwise

from bfenv.reproduce.item import (
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
)
from bfenv.reproduce.logs import curve, stand_in, value_of, workload_value

CTC = Log(
    "CTC", "CTC-SP2-1996-3.1-cln(processors=512)", stand_in(512), True,
    "77,205 usable of 77,222 jobs, as many as the paper has; on 512 processors, as in its Table 2",
)  # fmt: skip
KTH = Log(
    "KTH", "KTH-SP2-1996-2", stand_in(100), True, "28,481 jobs of the 28,490 that the paper has"
)
SDSC = Log(
    "SDSC", "SDSC-SP2-1998-4.2-cln", stand_in(128), True,
    "54,034 usable jobs of 59,715, where the paper has 59,725; 5,671 never ran",
)  # fmt: skip
BLUE = Log(
    "BLUE", "SDSC-BLUE-2000-4.2-cln", stand_in(1152, 0.7), True,
    "232,536 usable jobs of 243,306, where the paper has 243,314",
)  # fmt: skip
LOGS = (CTC, KTH, SDSC, BLUE)
METRICS = {"wait": ("wait time (h)", 1 / 3600), "bounded-slowdown": ("bounded slowdown", 1.0)}
SEEDS = 100
BACKFILL_SEEDS = 10  # of Figures 5 and 7, for which the paper gives no number
STEPS = tuple(step / 10 for step in range(101))  # f
QUICK_STEPS = (0.0, 0.5, 1.0, 2.0, 4.0, 7.0, 10.0)


def _steps(quick: bool) -> tuple[float, ...]:
    return QUICK_STEPS if quick else STEPS


def perfect(log: Log, measure: str, quick: bool, scale: float = 1.0) -> Value:
    """Return a value under EASY with accurate estimates."""
    return value_of(log, "easy", measure, quick, scale=scale, estimates="exact")


def doubled(log: Log, measure: str, quick: bool, scale: float = 1.0) -> Value:
    """Return a value under EASY with estimates of twice the runtime."""
    steps = {"estimates": "deterministic", "factor": 2.0}
    return value_of(log, "easy", measure, quick, scale=scale, **steps)


def random(
    log: Log, f: float, measure: str, quick: bool, scale: float = 1.0, seeds: int = SEEDS
) -> Value:
    """Return a value with estimates uniform from the runtime to f + 1 times it (section 3.1)."""
    if f == 0:
        return perfect(log, measure, quick, scale)
    steps = {"estimates": "uniform-tsafrir", "factor": round(f + 1, 1)}
    return value_of(
        log, "easy", measure, quick, scale=scale, seeds=min(5, seeds) if quick else seeds, **steps
    )


def deterministic(log: Log, f: float, measure: str, quick: bool, scale: float = 1.0) -> Value:
    """Return a value with estimates of 1 + f / 2 times the runtime, the mean of the random ones."""
    if f == 0:
        return perfect(log, measure, quick, scale)
    steps = {"estimates": "deterministic", "factor": round(1 + f / 2, 2)}
    return value_of(log, "easy", measure, quick, scale=scale, **steps)


def _table_2(quick: bool) -> Content:
    columns = {
        "cpus": ("processors", 1.0),
        "jobs": ("jobs", 1.0),
        "util. (%)": ("offered-load", 100),
    }
    return Content(
        tuple(
            Cell(log.label, column, workload_value(log, measure, quick, scale), log)
            for log in LOGS
            for column, (measure, scale) in columns.items()
        )
    )


def _figure_2(quick: bool) -> Content:
    panels, comparisons = [], []
    labels = tuple(log.label for log in LOGS)
    for measure, (name, scale) in METRICS.items():
        one = tuple(perfect(log, measure, quick, scale) for log in LOGS)
        two = tuple(doubled(log, measure, quick, scale) for log in LOGS)
        lines = (Line("perfect", one, labels), Line("perfect X 2", two, labels))
        panels.append(Panel(f"Mean {name}", "", name, lines, "bar"))
        comparisons += [
            Comparison(f"{log.label}, {name}", b, a, log)
            for log, a, b in zip(LOGS, one, two, strict=True)
        ]
    claim = Claim(
        "Estimates of twice the runtime are better than accurate ones", tuple(comparisons)
    )
    return Content((), tuple(panels), (claim,))


def _figure_3(quick: bool) -> Content:
    return Content((), _sensitivity(quick, 1), per_row=4)


def _sensitivity(quick: bool, seeds: int) -> tuple[Panel, ...]:
    steps = _steps(quick)
    return tuple(
        Panel(
            f"{log.label}: {name}",
            "f",
            name,
            (
                Line(
                    "random" if seeds == 1 else "random, 5th to 95th percentile",
                    tuple(random(log, f, measure, quick, scale, seeds) for f in steps),
                    steps,
                    band=seeds > 1,
                ),
                Line(
                    "deterministic",
                    tuple(deterministic(log, f, measure, quick, scale) for f in steps),
                    steps,
                ),
            ),
        )
        for measure, (name, scale) in METRICS.items()
        for log in LOGS
    )


def _figure_4(quick: bool) -> Content:
    steps = _steps(quick)[1:]
    drops, rises, flat, best = [], [], [], []
    for measure, (name, scale) in METRICS.items():
        for log in LOGS:
            drawn = tuple(random(log, f, measure, quick, scale) for f in steps)
            fixed = tuple(deterministic(log, f, measure, quick, scale) for f in steps)
            where, lowest = f"{log.label}, {name}", Extreme(drawn, "min")
            accurate = perfect(log, measure, quick, scale)
            drops.append(Comparison(where, lowest, accurate, log))
            if log is CTC:
                flat.append(Comparison(where, drawn[-1], lowest, log, strict=False, slack=0.02))
            else:
                rises.append(Comparison(where, lowest, drawn[-1], log, slack=-0.02))
            best.append(Comparison(where, Extreme(fixed, "mean"), Extreme(drawn, "mean"), log))
    return Content(
        (),
        _sensitivity(quick, SEEDS),
        (
            Claim("Performance first improves: the lowest mean is below f = 0", tuple(drops)),
            Claim("But for CTC it then worsens, by over 2 % up to f = 10 (V shape)", tuple(rises)),
            Claim("CTC stays within 2 % of its lowest mean (L shape)", tuple(flat)),
            Claim("Over all f the deterministic model is below the mean of the random one, "
                  "as it follows its best case", tuple(best)),
        ),
        per_row=4,
    )  # fmt: skip


def _figure_5(quick: bool) -> Content:
    steps = _steps(quick)
    lines = tuple(
        Line(
            log.label,
            tuple(random(log, f, "backfilled", quick, 100, BACKFILL_SEEDS) for f in steps),
            steps,
        )
        for log in LOGS
    )
    few = (0.0, 1.0, 2.0, 4.0, 7.0, 10.0)
    monotone = tuple(
        Comparison(f"{log.label}, f = {a:g} and {b:g}",
                   random(log, a, "backfilled", quick, 100, BACKFILL_SEEDS),
                   random(log, b, "backfilled", quick, 100, BACKFILL_SEEDS), log)
        for log in LOGS
        for a, b in pairwise(few)
    )  # fmt: skip
    panel = Panel("Backfilled jobs", "f", "% of jobs", lines)
    return Content((), (panel,), (Claim("The percentage increases with f", monotone),))


def _figure_7(quick: bool) -> Content:
    steps = _steps(quick)[1:]
    wild = tuple(random(SDSC, f, "wild", quick, 100, BACKFILL_SEEDS) for f in steps)
    stolen = tuple(
        random(SDSC, f, "stolen-from-head", quick, 1 / 3600, BACKFILL_SEEDS) for f in steps
    )
    panels = (
        Panel("SDSC: wild backfills", "f", "% of jobs", (Line("wild", wild, steps, band=True),)),
        Panel("SDSC: stolen time", "f", "hours", (Line("stolen", stolen, steps, band=True),)),
    )
    cells = (
        Cell("wild backfills, at most (% of jobs)", "SDSC", Extreme(wild, "max"), SDSC),
        Cell("mean stolen time, at most (h)", "SDSC", Extreme(stolen, "max"), SDSC),
    )
    grows = (
        Comparison("wild backfills", wild[0], wild[-1], SDSC),
        Comparison("stolen time", stolen[0], stolen[-1], SDSC),
    )
    return Content(cells, panels, (Claim("Both grow with f", grows),))


def _figure_8(quick: bool) -> Content:
    panels = tuple(
        Panel(
            log.label,
            "seconds",
            "% of jobs",
            (
                curve("runtime", workload_value(log, "runtimes", quick)),
                curve("estimate", workload_value(log, "estimates", quick)),
            ),
            "step",
            log_x=True,
        )
        for log in LOGS
    )
    popular = [workload_value(log, "popular-share", quick, 100) for log in LOGS]
    row = "jobs with one of the 20 most popular estimates (%)"
    cells = [Cell(row, log.label, v, log) for log, v in zip(LOGS, popular, strict=True)]
    maximal = workload_value(CTC, "share-18h", quick, 100)
    cells.append(Cell("jobs with the maximal estimate (%)", "CTC", maximal, CTC))
    return Content(tuple(cells), panels, per_row=4)


SHARES = (0.05, 0.25, 0.5, 0.8)  # of jobs with the maximal estimate


def _section_4(quick: bool) -> Content:
    cells, worse, more, helps = [], [], [], []
    for log in LOGS:
        measure = "bounded-slowdown"
        accurate, twice = perfect(log, measure, quick), doubled(log, measure, quick)
        users = value_of(log, "easy", measure, quick)
        cells += [
            Cell("perfect", log.label, accurate, log),
            Cell("perfect X 2", log.label, twice, log),
            Cell("users' estimates", log.label, users, log),
        ]
        modal = [
            value_of(log, "easy", measure, quick, seeds=3 if quick else 20,
                     estimates="tsafrir", emax_share=share)
            for share in SHARES
        ]  # fmt: skip
        cells += [
            Cell(f"modal, {share:.0%} at the maximum", log.label, value, log)
            for share, value in zip(SHARES, modal, strict=True)
        ]
        worse.append(Comparison(log.label, accurate, users, log))
        more.append(Comparison(log.label, modal[1], modal[-1], log))
        helps.append(Comparison(log.label, twice, accurate, log))
    rows = list(dict.fromkeys(cell.row for cell in cells))
    cells.sort(key=lambda cell: rows.index(cell.row))
    return Content(
        tuple(cells),
        claims=(
            Claim("Users' estimates are worse than accurate ones", tuple(worse)),
            Claim("With more jobs at the maximum it becomes worse, from 25 % to 80 %", tuple(more)),
            Claim("While multiples of the runtime help", tuple(helps)),
        ),
    )


ITEMS = (
    Item("table-2", "the logs", "Section 1", _table_2, digits=0),
    Item("figure-2", "perfect estimates and their double", "Section 3.2", _figure_2),
    Item("figure-3", "performance as a function of the badness factor, one run each",
         "Section 3.2", _figure_3),
    Item("figure-4", "averaging multiple experiments exposes a clear trend", "Section 3.3",
         _figure_4),
    Item("figure-5", "percent of backfilled jobs", "Section 3.3", _figure_5),
    Item("figure-7", "impact of the heel-and-toe dynamic", "Section 3.3", _figure_7),
    Item("figure-8", "distributions of runtimes and estimates", "Section 4", _figure_8),
    Item("section-4", "users' and modal estimates against multiples of the runtime", "Section 4",
         partial(_section_4)),
)  # fmt: skip

TSAFRIR2010 = Paper(
    "tsafrir2010",
    "Using inaccurate estimates accurately",
    "D. Tsafrir, Job Scheduling Strategies for Parallel Processing (JSSPP), 2010.",
    LOGS,
    ITEMS,
)
