"""Zotkin, Keleher and Perkovic 2000: inaccurate estimates, sorting, randomization, guarantees."""

from functools import partial

from bfenv.reproduce import zotkin2000_figures as figures
from bfenv.reproduce.item import (
    Cell,
    Claim,
    Comparison,
    Content,
    Extreme,
    Item,
    Log,
    Paper,
    Value,
    by_place,
)
from bfenv.reproduce.logs import value_of
from bfenv.reproduce.zotkin2000_runs import (
    CTC,
    CTC_REAL,
    FACTORS,
    KTH,
    LNL,
    SHAKEN,
    SLOWDOWN,
    SUD,
    WAIT,
    inflated,
)

# Tables 2 to 5: estimates of R times the runtime -----------------------------------------------


def _methods(measure: str, scale: float, offline: bool, quick: bool) -> Content:
    cells = []
    for random in (False, True):
        for log in (KTH, LNL, SUD):
            column = f"{log.label} {'rnd' if random else 'dtm'}"
            fcfs = inflated(log, "fcfs", measure, 1, quick, scale=scale, offline=offline)
            cells.append(Cell("FCFS", column, fcfs, log))
            for factor in FACTORS:
                value = inflated(
                    log, "easy", measure, factor, quick,
                    random=random, scale=scale, offline=offline,
                )  # fmt: skip
                cells.append(Cell(f"R = {factor}", column, value, log))
    at = by_place(cells)
    helped = tuple(
        Comparison(f"{log.label}, R = {factor}", value, at["R = 1", f"{log.label} dtm"], log)
        for log in (KTH, LNL)
        for factor in FACTORS[1:]
        for value in [at[f"R = {factor}", f"{log.label} dtm"]]
    )
    claims = [Claim("In the real traces, multiples of the runtime are better than it", helped)]
    if offline:
        halved = tuple(
            Comparison(log.label, at["R = 5", f"{log.label} {how}"]._replace(scale=2 * scale),
                       at["R = 1", f"{log.label} {how}"], log)
            for log in (KTH, LNL)
            for how in ("dtm", "rnd")
        )  # fmt: skip
        limited = tuple(
            Comparison("SUD", at["R = 1", "SUD dtm"]._replace(scale=0.5 * scale),
                       at[f"R = {factor}", "SUD dtm"], SUD)
            for factor in FACTORS[1:]
        )  # fmt: skip
        claims.append(Claim("Off-line, R = 5 more than halves what R = 1 has", halved))
        claims.append(Claim("On SUD the improvement is limited, to less than half", limited))
    return Content(tuple(_by_row(cells)), claims=tuple(claims))


def _by_row(cells: list[Cell]) -> list[Cell]:
    rows = list(dict.fromkeys(cell.row for cell in cells))
    return sorted(cells, key=lambda cell: rows.index(cell.row))


# Tables 6 to 8: sorting ---------------------------------------------------------------------


def _sorting(measure: str, scale: float, quick: bool) -> Content:
    cells, better = [], []
    for log in (KTH, LNL, SUD):

        def one(policy: str, factor: float = 1, log: Log = log) -> Value:
            return inflated(log, policy, measure, factor, quick, scale=scale)

        rows = {"FCFS": one("fcfs")}
        rows |= {f"BF R={factor}": one("easy", factor) for factor in (1, 2, 3, 5)}
        rows |= {"SortFCFS": one("sjf")}
        rows |= {f"SortBF R={factor}": one("easy-sjf", factor) for factor in (1, 2, 3, 5)}
        cells += [Cell(row, log.label, value, log) for row, value in rows.items()]
        for low, high in (("SortFCFS", "FCFS"), ("SortBF R=1", "SortFCFS")):
            better.append(Comparison(f"{log.label}, {low}", rows[low], rows[high], log))
        if measure == SLOWDOWN or log is not SUD:
            for k in (1, 2, 3, 5):
                low, high = f"SortBF R={k}", f"BF R={k}"
                better.append(Comparison(f"{log.label}, {low}", rows[low], rows[high], log))
    return Content(
        tuple(_by_row(cells)),
        claims=(Claim("Sorting by length is better than the order of arrival", tuple(better)),),
    )


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
        for log in (KTH, LNL, SUD)
    ]
    at = by_place(cells)
    between = []
    for log in (KTH, LNL, SUD):
        for row in list(policies)[1:4]:
            value = at[row, log.label]
            between.append(Comparison(row, value, at["BF R=1", log.label], log))
            between.append(Comparison(row, at["SortBF R=1", log.label], value, log))
    claim = Claim(
        "With the guarantee, sorting is better than none, worse than unbound", tuple(between)
    )
    return Content(tuple(cells), claims=(claim,))


# Tables 9 to 11: randomization and guarantees ---------------------------------------------------

ORDERS = {
    "BF": "conservative",
    "LSBF": "conservative-sjf",
    "RBF": "conservative-random",
    "RLBF": "conservative-random-sjf",
}


def guaranteed(log: Log, order: str, factor: int, measure: str, quick: bool) -> Value:
    """Return a value of Table 9; a factor of 0 stands for the users' estimates."""
    steps: dict[str, object] = {} if factor == 0 else {"estimates": "exact"}
    if factor > 1:
        steps = {"estimates": "deterministic", "factor": float(factor)}
    seeds = 1 if order in ("BF", "LSBF") or factor == 1 else (3 if quick else 10)
    return value_of(log, ORDERS[order], measure, quick, seeds=seeds, **steps)


def _randomized(quick: bool) -> Content:
    cells, equal, better = [], [], []
    for order in ORDERS:
        for factor in (1, 5, 15, 0):
            for log in (KTH, LNL, CTC):
                used = CTC_REAL if log is CTC and factor == 0 else log
                if factor == 0 and log is not CTC:
                    continue
                for column, measure in (("B-SD", SLOWDOWN), ("WT", WAIT)):
                    value = guaranteed(used, order, factor, measure, quick)
                    row = f"{order}-{factor or 'real'}"
                    cells.append(Cell(row, f"{log.label} {column}", value, used))
    at = by_place(cells)
    for log in (KTH, LNL, CTC):
        for column in (f"{log.label} B-SD", f"{log.label} WT"):
            plain = at["BF-1", column]
            for order in list(ORDERS)[1:]:
                value = at[f"{order}-1", column]
                equal += [
                    Comparison(f"{column}, {order}", value, plain, log, strict=False),
                    Comparison(f"{column}, {order}", plain, value, log, strict=False),
                ]
                for factor in (5, 15):
                    own = at[f"{order}-{factor}", column]
                    other = at[f"BF-{factor}", column]
                    better.append(Comparison(f"{column}, {order}-{factor}", own, other, log))
    real = [at[f"{order}-real", "CTC B-SD"] for order in ("RLBF", "RBF", "LSBF", "BF")]
    chain = tuple(
        Comparison(f"{low} and {high}", a, b, CTC_REAL)
        for (low, a), (high, b) in zip(
            zip(("RLBF", "RBF", "LSBF"), real[:3], strict=True),
            zip(("RBF", "LSBF", "BF"), real[1:], strict=True),
            strict=True,
        )
    )
    return Content(
        tuple(cells),
        claims=(
            Claim("With exact estimates all orders make the same schedule", tuple(equal)),
            Claim("With multiples, every order is better than that of arrival", tuple(better)),
            Claim("With real estimates randomization is better than sorting by length, "
                  "and the combination is best", chain),
        ),
    )  # fmt: skip


def _guarantees(measure: str, quick: bool) -> Content:
    names = ("FIFO-backfilling", "Shortest-first", "Randomized", "Combination")
    replans = ("", "-sjf", "-random", "-random-sjf")
    cells = []
    for name, order, suffix in zip(names, ORDERS, replans, strict=True):
        with_ = guaranteed(CTC_REAL, order, 0, measure, quick)
        seeds = 1 if "random" not in suffix else (3 if quick else 10)
        policy = f"conservative-replan{suffix}"
        without = value_of(CTC_REAL, policy, measure, quick, seeds=seeds)
        cells += [
            Cell(name, "Guarantees", with_, CTC_REAL),
            Cell(name, "No-guarantees", without, CTC_REAL),
        ]
    at = by_place(cells)
    better = tuple(
        Comparison(name, at[name, "No-guarantees"], at[name, "Guarantees"], CTC_REAL)
        for name in names[1:]
    )
    best = tuple(
        Comparison(f"below {name}", at["Combination", "No-guarantees"],
                   at[name, "No-guarantees"], CTC_REAL)
        for name in names[:3]
    )  # fmt: skip
    return Content(
        tuple(cells),
        claims=(
            Claim("Sorted queues are better without guarantees", better),
            Claim("Without guarantees the combination is best", best),
        ),
    )


# The open question ------------------------------------------------------------------------------


def _sort_fcfs(quick: bool) -> Content:
    """SortFCFS and FCFS on KTH, by edition and with runtimes a little longer."""
    cleaned = KTH._replace(label="cleaned", workload="KTH-SP2-1996-2.1-cln(overrun=extend)")
    clipped = KTH._replace(label="cut at estimates", workload="KTH-SP2-1996-2")
    logs = {"as recorded": KTH, "cleaned": cleaned, "cut at the estimates": clipped}
    cells = []
    for row, log in logs.items():
        cells += _readings(row, log, 1.0, quick)
    shaken = {
        (policy, measure): value_of(
            KTH, policy, measure, quick, scale=scale, seeds=3 if quick else SHAKEN,
            estimates="exact", shake_seconds=60,
        )
        for policy in ("sjf", "fcfs", "easy")
        for measure, scale in ((SLOWDOWN, 1.0), (WAIT, 1e-3))
    }  # fmt: skip
    names = {"sjf": "SortFCFS", "fcfs": "FCFS", "easy": "BF"}
    for (policy, measure), value in shaken.items():
        column = f"{names[policy]} {'wait' if measure == WAIT else 'slowdown'}"
        for row, kind in (("5th", "low"), ("95th", "high")):
            label = f"submit times shaken by a minute, {row} percentile"
            cells.append(Cell(label, column, Extreme((value,), kind), KTH))
    for percent in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0):
        row = f"cleaned, runtimes {percent:g} % longer"
        cells += _readings(row, cleaned, 1 + percent / 100, quick)
    inside = []
    for (policy, measure), printed in (
        (("sjf", SLOWDOWN), 36.55), (("sjf", WAIT), 14.26), (("easy", SLOWDOWN), 70.78),
        (("easy", WAIT), 6.34), (("fcfs", SLOWDOWN), 8800.0), (("fcfs", WAIT), 459.0),
    ):  # fmt: skip
        ends = (Extreme((shaken[policy, measure],), kind) for kind in ("low", "high"))
        where = f"{names[policy]} {measure}"
        low, high = ends
        inside += [Comparison(where, low, printed, KTH), Comparison(where, printed, high, KTH)]
    text = "The printed number is within what shaking the submit times by a minute gives"
    return Content(tuple(cells), claims=(Claim(text, tuple(inside)),))


def _readings(row: str, log: Log, factor: float, quick: bool) -> list[Cell]:
    steps: dict[str, object] = {"estimates": "exact"}
    if factor != 1:
        steps = {"runtime_factor": factor}
    return [
        Cell(row, column, value_of(log, policy, measure, quick, scale=scale, **steps), log)
        for column, policy, measure, scale in (
            ("SortFCFS slowdown", "sjf", SLOWDOWN, 1.0),
            ("SortFCFS wait", "sjf", WAIT, 1e-3),
            ("FCFS slowdown", "fcfs", SLOWDOWN, 1.0),
            ("FCFS wait", "fcfs", WAIT, 1e-3),
            ("BF slowdown", "easy", SLOWDOWN, 1.0),
            ("BF wait", "easy", WAIT, 1e-3),
        )
    ]


_FIGURE_LOGS = {3: KTH, 4: KTH, 5: LNL, 6: LNL, 7: SUD, 8: SUD}

ITEMS = (
    Item("table-2", "average slowdown, on-line", "Section 4",
         partial(_methods, SLOWDOWN, 1, False)),
    Item("table-3", "average waiting time, on-line", "Section 4",
         partial(_methods, WAIT, 1e-3, False), unit="1000 s"),
    Item("table-4", "average slowdown, off-line", "Section 4",
         partial(_methods, SLOWDOWN, 1e-3, True), unit="thousands"),
    Item("table-5", "average waiting time, off-line", "Section 4",
         partial(_methods, WAIT, 1e-6, True), unit="million s"),
    Item("table-6", "slowdown of sorted and unsorted queues", "Section 5",
         partial(_sorting, SLOWDOWN, 1), order="rows"),
    Item("table-7", "average waiting time of sorted and unsorted queues", "Section 5",
         partial(_sorting, WAIT, 1e-3), order="rows", unit="1000 s"),
    Item("table-8", "slowdown with a guarantee of shadow times", "Section 5", _shadows,
         order="rows"),
    Item("table-9", "bounded slowdown and waiting time of randomized algorithms", "Section 6",
         _randomized, order="rows"),
    Item("table-10", "average bounded slowdown with and without guarantees", "Section 8",
         partial(_guarantees, SLOWDOWN), order="rows"),
    Item("table-11", "average delay with and without guarantees", "Section 8",
         partial(_guarantees, WAIT), order="rows", digits=0, unit="s"),
    Item("figure-1", "KTH job length distribution", "Section 3", partial(figures.lengths, KTH)),
    Item("figure-2", "LNL job length distribution", "Section 3", partial(figures.lengths, LNL)),
    *(
        Item(f"figure-{n}",
             f"{log.label} average {'bounded slowdown' if n % 2 else 'waiting time'} vs. R",
             "Section 4",
             partial(figures.by_factor, log, SLOWDOWN if n % 2 else WAIT, 1.0 if n % 2 else 1e-3))
        for n, log in _FIGURE_LOGS.items()
    ),
    Item("figure-9", "LNL, number of short jobs at time T, R = 1", "Section 4.1",
         partial(figures.short_jobs, 1)),
    Item("figure-10", "LNL, number of short jobs at time T, R = 5", "Section 4.1",
         partial(figures.short_jobs, 5)),
    Item("figure-11", "job estimate distribution", "Section 7", figures.popular),
    Item("figure-12", "distributions of actual and estimated running times", "Section 7",
         figures.distributions,
         note="The caption in the text is that of Figure 16; section 7 says what is drawn."),
    *(
        Item(f"figure-{n}", f"actual running times for {name} estimates", "Section 7",
             partial(figures.runtimes_of, name))
        for n, name in ((13, "15min"), (14, "2h"), (15, "18h"))
    ),
    Item("figure-16", "ratio of initial guarantees and actual delays", "Section 8", figures.ratios),
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
