"""What a leaderboard says about a schedule (bench layer)."""

from typing import Any

from bfenv.bench.metrics import metrics
from bfenv.core.schedule import Schedule


def result(
    schedule: Schedule, reference: Schedule | None = None, *, fcfs: Schedule | None = None
) -> dict[str, Any]:
    """Metrics of a schedule, ready for JSON: metrics, classes, versus, curves."""
    return {"metrics": metrics(schedule), "classes": {}, "versus": {}, "curves": {}}
