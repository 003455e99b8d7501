"""What the logs record, and beside it how well each policy's simulation repeats it."""

from collections.abc import Mapping, Sequence

from bfenv.analysis.calibration import VERDICTS_MEANING, verdict
from bfenv.analysis.formatting import alike, percent, ratio, slowdown
from bfenv.evaluation.page.markup import Cell, Markup, element, join, table
from bfenv.evaluation.row import Row

COLUMNS = (
    "policy", "mean wait", "median", "p95 wait", "longest wait", "mean / logged",
    "rank correlation", "close", "repeats the log",
)  # fmt: skip
WAITS = ("mean_wait", "median_wait", "p95_wait", "max_wait")
AS_IT_RAN = "as it ran"


def calibration_lines(
    rows: Sequence[Row], logs: Sequence[Row], today: str = ""
) -> dict[str, list[tuple[str, ...]]]:
    """Return, for each workload that has one of the `logs`, the cells of COLUMNS.

    The first line is the log as it ran, the others are the first runs of the policies on it. Only
    the policy `today` is judged, or else the closest: others should differ from the log.
    """
    tables = {}
    for logged in logs:
        lines: list[tuple[str, ...]] = [("", "", "", "")]
        first: dict[str, Row] = {}
        for row in rows:
            if row.workload == logged.workload and row.workload_hash == logged.workload_hash:
                first.setdefault(row.policy, row)
        closest = sorted(
            first.values(), key=lambda row: (-(row.metrics.get("log_close") or 0.0), row.policy)
        )
        for row in closest:
            value = row.metrics.get
            how = (
                ratio(value("log_mean_wait_ratio")),
                slowdown(value("log_rank_correlation")),
                percent(value("log_close")),
                verdict(row.metrics) if row.policy == (today or closest[0].policy) else "",
            )
            lines.append(how)
        names = [AS_IT_RAN, *(row.policy for row in closest)]
        metrics = [row.metrics for row in (logged, *closest)]
        waits = zip(*alike(*([one.get(name) for one in metrics] for name in WAITS)), strict=True)
        tables[logged.workload] = [
            (name, *wait, *how) for name, wait, how in zip(names, waits, lines, strict=True)
        ]
    return tables


def as_it_ran(tables: Mapping[str, list[tuple[str, ...]]]) -> Markup | None:
    """Make a page's tables of `calibration_lines`; None without any."""
    if not tables:
        return None
    explanation = (
        "The first line is what the log records. The other lines are simulations of the same "
        f"jobs, those closest to it first. Only the policy that should repeat the log is judged. "
        f"{VERDICTS_MEANING}"
    )
    parts = [
        table(
            f"{workload}: logged and simulated waits",
            COLUMNS,
            [(None, [Cell(cell) for cell in line]) for line in lines],
            text=(0, 8),
        )
        for workload, lines in tables.items()
    ]
    return join([*parts, element("p", explanation, class_="note")])
