"""The figures of Zotkin, Keleher and Perkovic 2000."""

from bfenv.reproduce.item import (
    Cell,
    Claim,
    Comparison,
    Content,
    Line,
    Log,
    Panel,
    Value,
)
from bfenv.reproduce.logs import curve, value_of, workload_value
from bfenv.reproduce.zotkin2000_runs import (
    CTC_REAL,
    GRID,
    KTH,
    KTH_FOR_LNL,
    LNL,
    SLOWDOWN,
    SUD,
    inflated,
)


def lengths(log: Log, quick: bool) -> Content:
    """Figures 1 and 2: jobs by length."""
    line = curve("jobs", workload_value(log, "lengths", quick))
    panel = Panel(
        f"{log.label}: jobs by length", "runtime (s)", "jobs", (line,), "step", log_y=True
    )
    share = workload_value(log, "below-a-minute", quick, scale=100)
    cells = (Cell("jobs shorter than one minute (%), more than", log.label, share, log),)
    claim = Claim(
        "More than a third of the jobs are shorter than a minute",
        (Comparison(log.label, 100 / 3, share, log),),
    )
    return Content(cells if log is KTH else (), (panel,), (claim,) if log is KTH else ())


def by_factor(log: Log, measure: str, scale: float, quick: bool) -> Content:
    """Figures 3 to 8: EASY against R, by either method."""
    factors = GRID[::3] if quick else GRID
    lines = tuple(
        Line(
            "randomized" if random else "deterministic",
            tuple(
                inflated(log, "easy", measure, factor, quick, random=random, scale=scale)
                for factor in factors
            ),
            factors,
            band=random,
        )
        for random in (False, True)
    )
    title = "bounded slowdown" if measure == SLOWDOWN else "waiting time (1000 s)"
    panel = Panel(f"{log.label}, EASY", "R", f"mean {title}", lines, log_x=True)
    fixed, drawn = (dict(zip(factors, line.values, strict=True)) for line in lines)
    claims = []
    if log is SUD:
        worse = tuple(Comparison(f"R = {k:g}", drawn[1], drawn[k], log) for k in factors if k >= 3)
        claims.append(
            Claim("Randomized estimates are worse than accurate ones from R = 3 on", worse)
        )
        better = tuple(Comparison(f"R = {k:g}", fixed[k], fixed[1], log) for k in factors if k >= 2)
        claims.append(Claim("Deterministic ones are a little better", better))
    else:
        early = tuple(
            Comparison(f"R = {k:g}", drawn[k], fixed[k], log) for k in factors if 1 < k <= 20
        )
        if measure == SLOWDOWN:  # of waiting times, the paper's own Table 3 says the contrary
            claims.append(Claim("Up to R = 25 the randomized method is better", early))
        both = tuple(
            Comparison(f"{line.label}, R = {k:g}", one, drawn[1], log)
            for line in lines
            for k, one in zip(factors, line.values, strict=True)
            if k >= 2
        )
        claims.append(Claim("From R = 2 on, both are better than accurate estimates", both))
    return Content((), (panel,), tuple(claims))


def short_jobs(factor: int, quick: bool) -> Content:
    """Figures 9 and 10: starts of short jobs, all submitted at once."""
    panels = tuple(
        Panel(
            f"{log.label}: jobs shorter than a minute, R = {factor}",
            "time (days)",
            "starts",
            (curve("starts", inflated(log, "easy", "short-starts", factor, quick, offline=True)),),
            "step",
        )
        for log in (LNL, KTH_FOR_LNL)
    )
    claims: tuple[Claim, ...] = ()
    if factor > 1:
        sides = tuple(
            Comparison(
                log.label,
                inflated(log, "easy", "short-starts-early", 1, quick, offline=True),
                inflated(log, "easy", "short-starts-early", factor, quick, offline=True),
                log,
            )
            for log in (LNL, KTH_FOR_LNL)
        )
        claims = (Claim("With R = 5 more of them start in the first fifth than with R = 1", sides),)
    return Content((), panels, claims)


def popular(quick: bool) -> Content:
    """Figure 11: the most popular estimates."""
    share = workload_value(CTC_REAL, "round-share", quick, scale=100)
    line = curve("jobs", workload_value(CTC_REAL, "popular", quick))
    panel = Panel("CTC: the 20 most popular estimates", "estimate", "jobs", (line,), "bar")
    row = "jobs with a round estimate (%), more than"
    claim = Claim(
        "More than 92 % of the jobs have a round estimate",
        (Comparison("CTC", 92, share, CTC_REAL),),
    )
    return Content((Cell(row, "CTC", share, CTC_REAL),), (panel,), (claim,), per_row=1)


def distributions(quick: bool) -> Content:
    """Figure 12: runtimes and estimates."""
    lines = (
        curve("runtime", workload_value(CTC_REAL, "runtimes", quick)),
        curve("estimate", workload_value(CTC_REAL, "estimates", quick)),
    )
    panel = Panel("CTC: runtimes and estimates", "s", "% of jobs", lines, "step")
    share = workload_value(CTC_REAL, "share-18h", quick, scale=100)
    row = "jobs with an estimate of 18 h (%), over"
    return Content((Cell(row, "CTC", share, CTC_REAL),), (panel,))


def runtimes_of(name: str, quick: bool) -> Content:
    """Figures 13 to 15: runtimes of the jobs with one estimate."""
    line = curve("runtime", workload_value(CTC_REAL, f"runtimes-{name}", quick))
    panel = Panel(f"CTC: jobs estimated to run {name}", "runtime (s)", "% of them", (line,), "step")
    rows = {"median overestimation": 50, "overestimation that 20 % of the jobs exceed": 80}
    cells = tuple(
        Cell(row, "CTC", workload_value(CTC_REAL, f"overestimation-{name}-{k}", quick), CTC_REAL)
        for row, k in rows.items()
    )
    return Content(cells, (panel,))


def ratios(quick: bool) -> Content:
    """Figure 16: guaranteed over actual delays."""

    def one(measure: str, scale: float = 1.0) -> Value:
        return value_of(CTC_REAL, "conservative", measure, quick, scale=scale)

    line = curve("ratio", one("guarantees"))
    panel = Panel(
        "CTC: guaranteed over actual delay", "ratio", "% of delayed jobs", (line,), "step", True
    )
    rows = {
        "jobs started on arrival (%)": one("started-at-once", 100),
        "median of guaranteed over actual delay": one("guarantees-median"),
        "ratio that 20 % of the jobs reach": one("guarantees-80"),
    }
    return Content(
        tuple(Cell(row, "CTC", value, CTC_REAL) for row, value in rows.items()), (panel,)
    )
