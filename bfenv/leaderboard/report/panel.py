"""What the page shows of each workload: charts, and the policies beside EASY."""

from bfenv.analysis.formatting import MISSING, duration, percent, slowdown
from bfenv.leaderboard.report import charts
from bfenv.leaderboard.report.charts import Slots, legend
from bfenv.leaderboard.report.element import Markup, element, join
from bfenv.leaderboard.report.grid import Cell, table
from bfenv.leaderboard.report.plot import signed, span
from bfenv.leaderboard.report.summary import COMPARED, Interval, Result
from bfenv.leaderboard.standings import REFERENCE

WORDS = {"mean_bounded_slowdown": lambda x: slowdown(x).replace("-", "−"), "mean_wait": span}

Summaries = dict[str, dict[int, Result]]  # by workload, by number of the policy


def panels(summaries: Summaries, slots: Slots) -> Markup | None:
    """A panel for each workload, the first unfolded; None without any."""
    found = [
        _workload(f"w{i}", workload, summary, slots, is_open=i == 0)
        for i, (workload, summary) in enumerate(summaries.items())
    ]
    return join(found) if found else None


def _workload(
    key: str, workload: str, results: dict[int, Result], slots: Slots, *, is_open: bool
) -> Markup:
    row = next(iter(results.values())).rows[0]
    load = row["offered_load"]
    heading = (
        f"{row['jobs']:,} jobs on {row['processors']:,} processors"
        f"{'' if load is None else f', offered load {load:.2f}'}"
    )
    names = {n: one.policy for n, one in results.items()}
    drawings = [draw(key, results, slots) for draw in (charts.wait_distribution,
                                                       charts.queue_length)]  # fmt: skip
    return element(
        "details",
        element(
            "summary",
            element("h3", workload),
            " ",
            element("span", heading, class_="note"),
        ),
        legend(names, {n for n, one in results.items() if one.starves}, slots),
        element("div", drawings, class_="pair"),
        _compared(workload, results),
        _classes(workload, results),
        class_="workload",
        open=is_open,
    )


def _compared(workload: str, results: dict[int, Result]) -> Markup:
    places = {}
    for name in COMPARED:
        ends = [end for one in results.values() for end in one.versus[name] or ()]
        places[name] = signed(ends or [0.0])
    rows = []
    for n, one in results.items():
        starves = charts.badge(one.starves)
        value = {name: one.metrics.get(name) for name in (*COMPARED, "p95_wait", "max_wait",
                                                          "utilization")}  # fmt: skip
        cells = [Cell(one.policy, one.policy.lower())]
        for name, words in zip(COMPARED, (slowdown, duration), strict=True):
            versus = one.versus[name]
            cells.append(Cell([words(value[name]), starves], value[name]))
            cells += _versus(one.policy, versus, places[name], WORDS[name])
        cells += [
            Cell(duration(value["p95_wait"]), value["p95_wait"]),
            Cell(duration(value["max_wait"]), value["max_wait"]),
            Cell(percent(value["utilization"]), value["utilization"]),
        ]
        rows.append((str(n), cells))
    columns = [
        "policy", "bounded slowdown", "difference from EASY", "95 % interval", "mean wait",
        "difference from EASY", "95 % interval", "p95 wait", "longest wait", "machine used",
    ]  # fmt: skip
    return table(f"Policies on {workload}, differences from EASY job by job", columns, rows,
                 sorted_by=1)  # fmt: skip


def _versus(policy: str, versus: Interval | None, place, words) -> list[Cell]:
    """The difference from the reference, as a mark and in words."""
    if policy == REFERENCE:
        return [Cell("the reference", 0.0, "mark note"), Cell(MISSING, 0.0)]
    if versus is None:
        return [Cell(MISSING, None, "mark"), Cell(MISSING)]
    interval = f"{words(versus.low)} to {words(versus.high)}"
    mark = charts.interval(versus, place, words)
    return [Cell(mark, versus.difference, "mark"), Cell(interval, versus.low)]


def _classes(workload: str, results: dict[int, Result]) -> Markup | None:
    first = next(iter(results.values())).rows[0]["classes"]
    if not first:
        return None
    rows = []
    for n, one in results.items():
        found = [one.rows[0]["classes"].get(name, {}).get(COMPARED[0]) for name in first]
        rows.append((str(n), [charts.named(one), *(Cell(slowdown(value)) for value in found)]))
    columns = ["policy"] + [
        f"{name} ({part.get('jobs') or 0:,.0f} jobs)" for name, part in first.items()
    ]
    caption = f"Mean bounded slowdown by class of jobs on {workload}, first seed"
    return element(
        "details", element("summary", "By class of jobs"), table(caption, columns, rows),
        class_="numbers",
    )  # fmt: skip
