"""What the page shows of each workload: charts, and the policies beside the reference."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import bfenv.analysis.formatting as fmt
from bfenv.analysis.intervals import Interval
from bfenv.evaluation.summary import COMPARED, REFERENCE
from bfenv_site.page import charts
from bfenv_site.page.charts import Slots, Summaries, legend
from bfenv_site.page.markup import Cell, Markup, element, join, table

WAITS = ("mean_wait", "p95_wait", "max_wait")
COLUMNS = (
    "policy",
    "bounded slowdown",
    "− {}, 95 %",
    "mean wait",
    "− {}, 95 %",
    "p95 wait",
    "longest wait",
    "machine used",
)
# By policy: the differences of bounded slowdown and of wait from a reference, job by job
Differences = Mapping[str, tuple[Interval | None, Interval | None]]


class Reference(NamedTuple):
    """What the policies of a table are compared with."""

    policy: str
    caption: str  # its name in the caption
    column: str  # and at the head of a column
    differences: Mapping[str, Differences]  # by workload


def panels(
    summaries: dict[str, Summaries], slots: Slots, reference: Reference | None = None
) -> Markup | None:
    """Make a panel for each workload, the first unfolded; None without any.

    * `summaries`: of the policies, by workload.
    * `slots`: the colours of policies.
    * `reference`: what the tables compare with; None for EASY.
    """
    parts = [
        _panel(f"w{i}", workload, of_workload, slots, reference, is_open=i == 0)
        for i, (workload, of_workload) in enumerate(summaries.items())
    ]
    return join(parts) if parts else None


def _panel(
    key: str,
    workload: str,
    summaries: Summaries,
    slots: Slots,
    reference: Reference | None,
    *,
    is_open: bool,
) -> Markup:
    row = next(iter(summaries.values())).rows[0]
    load = "" if row.offered_load is None else f", offered load {row.offered_load:.2f}"
    heading = f"{row.jobs:,} jobs on {row.processors:,} processors{load}"
    names = {n: summary.policy for n, summary in summaries.items()}
    starving = {n for n, summary in summaries.items() if summary.starves}
    drawings = [
        charts.wait_distribution(key, summaries, slots),
        charts.queue_length(key, summaries, slots),
    ]
    return element(
        "details",
        element("summary", element("h3", workload), " ", element("span", heading, class_="note")),
        legend(names, starving, slots),
        element("div", drawings, class_="pair"),
        _comparison(workload, summaries, reference or _easy(workload, summaries)),
        class_="workload",
        open=is_open,
    )


def _easy(workload: str, summaries: Summaries) -> Reference:
    versus = {
        summary.policy: summary.versus
        for summary in summaries.values()
        if summary.policy != REFERENCE
    }
    differences = {policy: (of[COMPARED[0]], of[COMPARED[1]]) for policy, of in versus.items()}
    return Reference(REFERENCE, "EASY", "EASY's", {workload: differences})


def _comparison(workload: str, summaries: Summaries, reference: Reference) -> Markup:
    columns = [[summary.metrics.get(name) for summary in summaries.values()] for name in WAITS]
    like = [fmt.typical_duration(value for column in columns for value in column)]
    waits = zip(*(fmt.durations(column, like) for column in columns), strict=True)
    rows = []
    for (n, summary), (mean_wait, p95_wait, max_wait) in zip(summaries.items(), waits, strict=True):
        value = summary.metrics.get
        slower, longer = reference.differences[workload].get(summary.policy, (None, None))
        rows.append(
            (
                str(n),
                [
                    charts.named(summary),
                    Cell(fmt.slowdown(value(COMPARED[0])), value(COMPARED[0])),
                    _difference(slower, lambda end: fmt.slowdown(end).replace("-", "−")),
                    Cell(mean_wait, value("mean_wait")),
                    _difference(longer, lambda end: fmt.signed_durations([end], like)[0]),
                    Cell(p95_wait, value("p95_wait")),
                    Cell(max_wait, value("max_wait")),
                    Cell(fmt.percent(value("utilization")), value("utilization")),
                ],
            )
        )
    caption = (
        f"Policies on {workload}, with 95 % intervals of differences from {reference.caption} "
        "job by job"
    )
    heads = [name.format(reference.column) for name in COLUMNS]
    return table(caption, heads, rows, sorted_by=1)


def _difference(versus: Interval | None, words: Callable[[float], str]) -> Cell:
    """Write the interval of a difference from the reference; bold if it is surely better."""
    if versus is None:
        return Cell(fmt.MISSING)
    kind = "best" if versus.high < 0 else None
    return Cell(f"{words(versus.low)} to {words(versus.high)}", versus.value, kind)
