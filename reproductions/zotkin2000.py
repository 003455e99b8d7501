"""Zotkin, Keleher and Perkovic 2000: inaccurate estimates, sorting, randomization, guarantees."""

from functools import partial
from itertools import pairwise
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
    by_place,
    by_row,
    curve,
    stand_in,
    value_of,
    workload_value,
)

KTH = Log(
    "KTH",
    "KTH-SP2-1996-2(overrun=extend)",
    stand_in(100),
    True,
    "28,481 jobs of the uncleaned edition; the paper has 28,456. Runtimes are those recorded, not "
    "cut at the log's estimates, which the paper did not have",
)
LNL = Log(
    "LNL",
    "LLNL-T3D-1996-2",
    "LLNL-T3D-1996-2",
    True,
    "the archive's edition has 22,779 jobs; the paper has 22,076",
)
SUD = Log("SUD", "sud", "sud(jobs=1500)", False, "ours: sizes and arrivals were not published")
CTC = Log(
    "CTC",
    "CTC-SP2-1996-3.1-cln(processors=430, overrun=extend)",
    stand_in(430),
    True,
    "77,205 jobs of the cleaned edition; the paper has 79,302, with a burst of one user's jobs "
    "that cleaning removes. On 430 processors, as in the paper. Estimates are derived from the "
    "runtimes recorded",
)
CTC_REAL = Log(
    "CTC, real estimates",
    "CTC-SP2-1996-3.1-cln(processors=430)",
    stand_in(430),
    True,
    "the same with the users' estimates; jobs are killed at them",
)
KTH_FOR_LNL = KTH._replace(label="KTH in place of LNL", comparable=False)
LOGS = (KTH, LNL, SUD)
REAL = (KTH, LNL)

FACTORS = (1, 2, 3, 5, 20, 50)
GRID = (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
SLOWDOWN, WAIT = "delay-slowdown", "wait"
SEEDS = 20
SHAKEN = 50  # seeds


def inflated(
    log: Log,
    policy: str,
    measure: str,
    factor: float,
    quick: bool,
    *,
    random: bool = False,
    scale: float = 1.0,
    offline: bool = False,
) -> Value:
    """Return a value with estimates of R times the runtime, by either method of section 4."""
    steps: dict[str, Any] = {"estimates": "exact"}
    seeds = 1
    if factor != 1:
        model = "uniform-zotkin" if random else "deterministic"
        steps = {"estimates": model, "factor": float(factor)}
        seeds = (3 if quick else SEEDS) if random else 1
    if offline:
        steps["all_at_once"] = True
    return value_of(log, policy, measure, quick, scale=scale, seeds=seeds, **steps)


def _table_1(quick: bool) -> Content:
    rows = {"Number of processors": "processors", "Total number of jobs": "jobs"}
    cells = [
        Cell(row, log.label, workload_value(log, measure, quick), log)
        for row, measure in rows.items()
        for log in (*LOGS, CTC)
    ]
    cells += [
        Cell("Average load (in jobs)", log.label, inflated(log, "easy", SLOWDOWN, 1, quick), log)
        for log in LOGS
    ]
    return Content(cells)


# Tables 2 to 5: estimates of R times the runtime -----------------------------------------------


def _methods(measure: str, scale: float, offline: bool, quick: bool) -> Content:
    cells = []
    options: dict[str, Any] = {
        "measure": measure,
        "quick": quick,
        "scale": scale,
        "offline": offline,
    }
    for random in (False, True):
        for log in LOGS:
            column = f"{log.label} {'rnd' if random else 'dtm'}"
            cells.append(Cell("FCFS", column, inflated(log, "fcfs", factor=1, **options), log))
            for factor in FACTORS:
                value = inflated(log, "easy", factor=factor, random=random, **options)
                cells.append(Cell(f"R = {factor}", column, value, log))
    at = by_place(cells)
    helped = [
        Comparison(
            f"{log.label}, R = {factor}",
            at[f"R = {factor}", f"{log.label} dtm"],
            at["R = 1", f"{log.label} dtm"],
            log,
        )
        for log in REAL
        for factor in FACTORS[1:]
    ]
    claims = [Claim("In the real traces, multiples of the runtime are better than it", helped)]
    if offline:
        halved = [
            Comparison(
                log.label,
                at["R = 5", f"{log.label} {way}"]._replace(scale=2 * scale),
                at["R = 1", f"{log.label} {way}"],
                log,
            )
            for log in REAL
            for way in ("dtm", "rnd")
        ]
        limited = [
            Comparison(
                "SUD",
                at["R = 1", "SUD dtm"]._replace(scale=0.5 * scale),
                at[f"R = {factor}", "SUD dtm"],
                SUD,
            )
            for factor in FACTORS[1:]
        ]
        claims.append(Claim("Off-line, R = 5 more than halves what R = 1 has", halved))
        claims.append(Claim("On SUD the improvement is limited, to less than half", limited))
    return Content(by_row(cells), claims=claims)


# Tables 6 to 8: sorting ---------------------------------------------------------------------


def _sorting(measure: str, scale: float, quick: bool) -> Content:
    policies = {"FCFS": ("fcfs", 1), **{f"BF R={k}": ("easy", k) for k in (1, 2, 3, 5)}}
    policies |= {"SortFCFS": ("sjf", 1), **{f"SortBF R={k}": ("easy-sjf", k) for k in (1, 2, 3, 5)}}
    cells = [
        Cell(row, log.label, inflated(log, policy, measure, factor, quick, scale=scale), log)
        for row, (policy, factor) in policies.items()
        for log in LOGS
    ]
    at = by_place(cells)
    better = []
    for log in LOGS:
        pairs = [("SortFCFS", "FCFS"), ("SortBF R=1", "SortFCFS")]
        if measure == SLOWDOWN or log is not SUD:
            pairs += [(f"SortBF R={k}", f"BF R={k}") for k in (1, 2, 3, 5)]
        better += [
            Comparison(f"{log.label}, {low}", at[low, log.label], at[high, log.label], log)
            for low, high in pairs
        ]
    claim = Claim("Sorting by length is better than the order of arrival", better)
    return Content(cells, claims=[claim])


def _shadows(quick: bool) -> Content:
    policies = {
        "BF R=1": "easy",
        "SortBF, 1 shadow time": "easy-sjf-shadow1",
        "SortBF, 2 shadow times": "easy-sjf-shadow2",
        "SortBF, 3 shadow times": "easy-sjf-shadow3",
        "SortBF R=1": "easy-sjf",
    }
    cells = [
        Cell(row, log.label, inflated(log, policy, SLOWDOWN, 1, quick), log)
        for row, policy in policies.items()
        for log in LOGS
    ]
    at = by_place(cells)
    between = [
        Comparison(row, low, high, log)
        for log in LOGS
        for row in list(policies)[1:4]
        for low, high in (
            (at[row, log.label], at["BF R=1", log.label]),
            (at["SortBF R=1", log.label], at[row, log.label]),
        )
    ]
    text = "With the guarantee, sorting is better than none, worse than unbound"
    return Content(cells, claims=[Claim(text, between)])


# Tables 9 to 11: randomization and guarantees ---------------------------------------------------

ORDERS = {
    "BF": "conservative",
    "LSBF": "conservative-sjf",
    "RBF": "conservative-random",
    "RLBF": "conservative-random-sjf",
}


def guaranteed(log: Log, order: str, factor: int, measure: str, quick: bool) -> Value:
    """Return a value of Table 9; a factor of 0 means the users' estimates."""
    steps: dict[str, Any] = {} if factor == 0 else {"estimates": "exact"}
    if factor > 1:
        steps = {"estimates": "deterministic", "factor": float(factor)}
    seeds = 1 if order in ("BF", "LSBF") or factor == 1 else (3 if quick else 10)
    return value_of(log, ORDERS[order], measure, quick, seeds=seeds, **steps)


def _randomized(quick: bool) -> Content:
    cells, equal, better = [], [], []
    for order in ORDERS:
        for factor in (1, 5, 15, 0):
            for log in (KTH, LNL, CTC) if factor else (CTC,):
                used = log if factor else CTC_REAL
                for column, measure in (("B-SD", SLOWDOWN), ("WT", WAIT)):
                    value = guaranteed(used, order, factor, measure, quick)
                    row = f"{order}-{factor or 'real'}"
                    cells.append(Cell(row, f"{log.label} {column}", value, used))
    at = by_place(cells)
    for log in (KTH, LNL, CTC):
        for column in (f"{log.label} B-SD", f"{log.label} WT"):
            for order in list(ORDERS)[1:]:
                label = f"{column}, {order}"
                equal += alike(label, at[f"{order}-1", column], at["BF-1", column], log)
                better += [
                    Comparison(
                        f"{label}-{k}", at[f"{order}-{k}", column], at[f"BF-{k}", column], log
                    )
                    for k in (5, 15)
                ]
    chain = [
        Comparison(
            f"{low} and {high}",
            at[f"{low}-real", "CTC B-SD"],
            at[f"{high}-real", "CTC B-SD"],
            CTC_REAL,
        )
        for low, high in pairwise(("RLBF", "RBF", "LSBF", "BF"))
    ]
    claims = [
        Claim("With exact estimates all orders make the same schedule", equal),
        Claim("With multiples, every order is better than that of arrival", better),
        Claim(
            "With real estimates randomization is better than sorting by length, "
            "and the combination is best",
            chain,
        ),
    ]
    return Content(cells, claims=claims)


def _guarantees(measure: str, quick: bool) -> Content:
    names = ("FIFO-backfilling", "Shortest-first", "Randomized", "Combination")
    replans = ("", "-sjf", "-random", "-random-sjf")
    cells = []
    for name, order, suffix in zip(names, ORDERS, replans, strict=True):
        kept = guaranteed(CTC_REAL, order, 0, measure, quick)
        seeds = 1 if "random" not in suffix else (3 if quick else 10)
        policy = f"conservative-replan{suffix}"
        replanned = value_of(CTC_REAL, policy, measure, quick, seeds=seeds)
        cells.append(Cell(name, "Guarantees", kept, CTC_REAL))
        cells.append(Cell(name, "No-guarantees", replanned, CTC_REAL))
    at = by_place(cells)
    better = [
        Comparison(name, at[name, "No-guarantees"], at[name, "Guarantees"], CTC_REAL)
        for name in names[1:]
    ]
    best = [
        Comparison(
            f"below {name}", at["Combination", "No-guarantees"], at[name, "No-guarantees"], CTC_REAL
        )
        for name in names[:3]
    ]
    claims = [
        Claim("Sorted queues are better without guarantees", better),
        Claim("Without guarantees the combination is best", best),
    ]
    return Content(cells, claims=claims)


# The open question ------------------------------------------------------------------------------

READ = {"SortFCFS": "sjf", "FCFS": "fcfs", "BF": "easy"}
IN_UNITS = {"slowdown": (SLOWDOWN, 1.0), "wait": (WAIT, 1e-3)}


def _sort_fcfs(quick: bool) -> Content:
    """SortFCFS and FCFS on KTH, by edition and with runtimes a little longer."""

    def values(log: Log, **options: Any) -> dict[str, Value]:
        return {
            f"{name} {kind}": value_of(log, policy, measure, quick, scale=scale, **options)
            for name, policy in READ.items()
            for kind, (measure, scale) in IN_UNITS.items()
        }

    exact = {"estimates": "exact"}
    cleaned = KTH._replace(label="cleaned", workload="KTH-SP2-1996-2.1-cln(overrun=extend)")
    clipped = KTH._replace(label="cut at estimates", workload="KTH-SP2-1996-2")
    rows = [("as recorded", KTH, exact), ("cleaned", cleaned, exact)]
    rows += [("cut at the estimates", clipped, exact)]
    shaken = values(KTH, seeds=3 if quick else SHAKEN, **exact, shake_seconds=60)
    ends = {kind: {k: Extreme((v,), kind) for k, v in shaken.items()} for kind in ("low", "high")}
    longer = [
        (f"cleaned, runtimes {percent:g} % longer", cleaned, {"runtime_factor": 1 + percent / 100})
        for percent in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
    ]
    cells = [
        Cell(row, k, v, log) for row, log, steps in rows for k, v in values(log, **steps).items()
    ]
    for column in shaken:
        for row, kind in (("5th", "low"), ("95th", "high")):
            label = f"submit times shaken by a minute, {row} percentile"
            cells.append(Cell(label, column, ends[kind][column], KTH))
    cells += [
        Cell(row, k, v, log) for row, log, steps in longer for k, v in values(log, **steps).items()
    ]
    inside = []
    for column, printed in (
        ("SortFCFS slowdown", 36.55), ("SortFCFS wait", 14.26), ("BF slowdown", 70.78),
        ("BF wait", 6.34), ("FCFS slowdown", 8800.0), ("FCFS wait", 459.0),
    ):  # fmt: skip
        label = column.replace("slowdown", SLOWDOWN)
        inside.append(Comparison(label, ends["low"][column], printed, KTH))
        inside.append(Comparison(label, printed, ends["high"][column], KTH))
    text = "The printed number is within what shaking the submit times by a minute gives"
    return Content(cells, claims=[Claim(text, inside)])


# Figures ----------------------------------------------------------------------------------------


def _lengths(log: Log, quick: bool) -> Content:
    line = curve("jobs", workload_value(log, "lengths", quick))
    panel = Panel(f"{log.label}: jobs by length", "runtime (s)", "jobs", [line], "step", log_y=True)
    if log is not KTH:
        return Content((), [panel])
    share = workload_value(log, "below-a-minute", quick, scale=100)
    cells = [Cell("jobs shorter than one minute (%), more than", log.label, share, log)]
    text = "More than a third of the jobs are shorter than a minute"
    return Content(cells, [panel], [Claim(text, [Comparison(log.label, 100 / 3, share, log)])])


def _by_factor(log: Log, measure: str, scale: float, quick: bool) -> Content:
    """Figures 3 to 8: EASY against R, by either method."""
    factors = GRID[::3] if quick else GRID
    fixed, drawn = (
        {k: inflated(log, "easy", measure, k, quick, random=random, scale=scale) for k in factors}
        for random in (False, True)
    )
    lines = [
        Line("deterministic", [*fixed.values()], factors),
        Line("randomized", [*drawn.values()], factors, band=True),
    ]
    title = "bounded slowdown" if measure == SLOWDOWN else "waiting time (1000 s)"
    panel = Panel(f"{log.label}, EASY", "R", f"mean {title}", lines, log_x=True)
    if log is SUD:
        worse = [Comparison(f"R = {k:g}", drawn[1], drawn[k], log) for k in factors if k >= 3]
        better = [Comparison(f"R = {k:g}", fixed[k], fixed[1], log) for k in factors if k >= 2]
        claims = [
            Claim("Randomized estimates are worse than accurate ones from R = 3 on", worse),
            Claim("Deterministic ones are a little better", better),
        ]
        return Content((), [panel], claims)
    improved = [
        Comparison(f"{name}, R = {k:g}", values[k], drawn[1], log)
        for name, values in (("deterministic", fixed), ("randomized", drawn))
        for k in factors
        if k >= 2
    ]
    claims = [Claim("From R = 2 on, both are better than accurate estimates", improved)]
    if measure == SLOWDOWN:  # of waiting times, the paper's own Table 3 says the contrary
        early = [Comparison(f"R = {k:g}", drawn[k], fixed[k], log) for k in factors if 1 < k <= 20]
        claims.insert(0, Claim("Up to R = 25 the randomized method is better", early))
    return Content((), [panel], claims)


def _short_jobs(factor: int, quick: bool) -> Content:
    """Figures 9 and 10: starts of short jobs, all submitted at once."""

    def offline_value(log: Log, measure: str, factor: int) -> Value:
        return inflated(log, "easy", measure, factor, quick, offline=True)

    panels = [
        Panel(
            f"{log.label}: jobs shorter than a minute, R = {factor}",
            "time (days)",
            "starts",
            [curve("starts", offline_value(log, "short-starts", factor))],
            "step",
        )
        for log in (LNL, KTH_FOR_LNL)
    ]
    if factor == 1:
        return Content((), panels)
    early = "short-starts-early"
    sides = [
        Comparison(log.label, offline_value(log, early, 1), offline_value(log, early, factor), log)
        for log in (LNL, KTH_FOR_LNL)
    ]
    text = "With R = 5 more of them start in the first fifth than with R = 1"
    return Content((), panels, [Claim(text, sides)])


def _popular(quick: bool) -> Content:
    share = workload_value(CTC_REAL, "round-share", quick, scale=100)
    line = curve("jobs", workload_value(CTC_REAL, "popular", quick))
    panel = Panel("CTC: the 20 most popular estimates", "estimate", "jobs", [line], "bar")
    cell = Cell("jobs with a round estimate (%), more than", "CTC", share, CTC_REAL)
    text = "More than 92 % of the jobs have a round estimate"
    claim = Claim(text, [Comparison("CTC", 92, share, CTC_REAL)])
    return Content([cell], [panel], [claim], per_row=1)


def _distributions(quick: bool) -> Content:
    lines = [
        curve("runtime", workload_value(CTC_REAL, "runtimes", quick)),
        curve("estimate", workload_value(CTC_REAL, "estimates", quick)),
    ]
    panel = Panel("CTC: runtimes and estimates", "s", "% of jobs", lines, "step")
    share = workload_value(CTC_REAL, "share-18h", quick, scale=100)
    return Content(
        [Cell("jobs with an estimate of 18 h (%), over", "CTC", share, CTC_REAL)], [panel]
    )


def _runtimes_of(name: str, quick: bool) -> Content:
    """Figures 13 to 15: runtimes of the jobs with one estimate."""
    line = curve("runtime", workload_value(CTC_REAL, f"runtimes-{name}", quick))
    panel = Panel(f"CTC: jobs estimated to run {name}", "runtime (s)", "% of them", [line], "step")
    rows = {"median overestimation": 50, "overestimation that 20 % of the jobs exceed": 80}
    cells = [
        Cell(row, "CTC", workload_value(CTC_REAL, f"overestimation-{name}-{k}", quick), CTC_REAL)
        for row, k in rows.items()
    ]
    return Content(cells, [panel])


def _ratios(quick: bool) -> Content:
    """Figure 16: guaranteed over actual delays."""

    def guarantee_value(measure: str, scale: float = 1.0) -> Value:
        return value_of(CTC_REAL, "conservative", measure, quick, scale=scale)

    line = curve("ratio", guarantee_value("guarantees"))
    title = "CTC: guaranteed over actual delay"
    panel = Panel(title, "ratio", "% of delayed jobs", [line], "step", True)
    rows = {
        "jobs started on arrival (%)": guarantee_value("started-at-once", 100),
        "median of guaranteed over actual delay": guarantee_value("guarantees-median"),
        "ratio that 20 % of the jobs reach": guarantee_value("guarantees-80"),
    }
    return Content([Cell(row, "CTC", value, CTC_REAL) for row, value in rows.items()], [panel])


_FIGURE_LOGS = {3: KTH, 4: KTH, 5: LNL, 6: LNL, 7: SUD, 8: SUD}

ITEMS = (
    Item("table-1", "workload trace description", "Section 3", _table_1, digits=1,
         note="The row of loads repeats the slowdowns of BF with R = 1 in Table 6, so it is "
         "compared with these."),
    Item("table-2", "average slowdown, on-line", "Section 4",
         partial(_methods, SLOWDOWN, 1, False)),
    Item("table-3", "average waiting time, on-line", "Section 4",
         partial(_methods, WAIT, 1e-3, False), unit="1000 s"),
    Item("table-4", "average slowdown, off-line", "Section 4",
         partial(_methods, SLOWDOWN, 1e-3, True), unit="thousands"),
    Item("table-5", "average waiting time, off-line", "Section 4",
         partial(_methods, WAIT, 1e-6, True), unit="million s"),
    Item("table-6", "slowdown of sorted and unsorted queues", "Section 5",
         partial(_sorting, SLOWDOWN, 1), ordered=True),
    Item("table-7", "average waiting time of sorted and unsorted queues", "Section 5",
         partial(_sorting, WAIT, 1e-3), ordered=True, unit="1000 s"),
    Item("table-8", "slowdown with a guarantee of shadow times", "Section 5", _shadows,
         ordered=True),
    Item("table-9", "bounded slowdown and waiting time of randomized algorithms", "Section 6",
         _randomized, ordered=True),
    Item("table-10", "average bounded slowdown with and without guarantees", "Section 8",
         partial(_guarantees, SLOWDOWN), ordered=True),
    Item("table-11", "average delay with and without guarantees", "Section 8",
         partial(_guarantees, WAIT), ordered=True, digits=0, unit="s"),
    Item("figure-1", "KTH job length distribution", "Section 3", partial(_lengths, KTH)),
    Item("figure-2", "LNL job length distribution", "Section 3", partial(_lengths, LNL)),
    *(
        Item(f"figure-{n}",
             f"{log.label} average {'bounded slowdown' if n % 2 else 'waiting time'} vs. R",
             "Section 4",
             partial(_by_factor, log, SLOWDOWN if n % 2 else WAIT, 1.0 if n % 2 else 1e-3))
        for n, log in _FIGURE_LOGS.items()
    ),
    Item("figure-9", "LNL, number of short jobs at time T, R = 1", "Section 4.1",
         partial(_short_jobs, 1)),
    Item("figure-10", "LNL, number of short jobs at time T, R = 5", "Section 4.1",
         partial(_short_jobs, 5)),
    Item("figure-11", "job estimate distribution", "Section 7", _popular),
    Item("figure-12", "distributions of actual and estimated running times", "Section 7",
         _distributions,
         note="The caption in the text is that of Figure 16; section 7 says what is drawn."),
    *(
        Item(f"figure-{n}", f"actual running times for {name} estimates", "Section 7",
             partial(_runtimes_of, name))
        for n, name in ((13, "15min"), (14, "2h"), (15, "18h"))
    ),
    Item("figure-16", "ratio of initial guarantees and actual delays", "Section 8", _ratios),
    Item("sort-fcfs", "readings of SortFCFS on KTH", "Tables 6 and 7, the row SortFCFS",
         _sort_fcfs, unit="slowdown, and 1000 s"),
)  # fmt: skip

ZOTKIN2000 = Paper(
    "zotkin2000",
    "Attacking the bottlenecks of backfilling schedulers",
    "D. Zotkin, P. J. Keleher and D. Perkovic, manuscript of February 20, 2000; Cluster Computing "
    "3(4), 245-254, 2000, doi:10.1023/A:1019088401217.",
    (KTH, LNL, SUD, CTC, CTC_REAL),
    ITEMS,
)
