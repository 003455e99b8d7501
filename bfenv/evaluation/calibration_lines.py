"""What the logs record, and how well each policy's simulation repeats it, as lines."""

from collections.abc import Sequence

from bfenv.analysis.calibration import verdict
from bfenv.analysis.formatting import alike, percent, ratio, slowdown
from bfenv.analysis.logged import LOGGED
from bfenv.evaluation.row import Row

COLUMNS = (
    "policy",
    "mean wait",
    "median",
    "p95 wait",
    "longest wait",
    "mean / logged",
    "rank correlation",
    "close",
    "repeats the log",
)
WAITS = ("mean_wait", "median_wait", "p95_wait", "max_wait")


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
            line = (
                ratio(value("log_mean_wait_ratio")),
                slowdown(value("log_rank_correlation")),
                percent(value("log_close")),
                verdict(row.metrics) if row.policy == (today or closest[0].policy) else "",
            )
            lines.append(line)
        names = [LOGGED, *(row.policy for row in closest)]
        metrics = [row.metrics for row in (logged, *closest)]
        waits = zip(*alike(*([run.get(name) for run in metrics] for name in WAITS)), strict=True)
        tables[logged.workload] = [
            (name, *wait, *line) for name, wait, line in zip(names, waits, lines, strict=True)
        ]
    return tables
