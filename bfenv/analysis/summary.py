"""All that a leaderboard's row says about a schedule, ready for JSON."""

import math
from typing import Any

import numpy as np

from bfenv.analysis.backfills import backfills, head_promises
from bfenv.analysis.comparison import (
    check_comparable,
    differences,
    longest_wait_ratio,
    slowdown_ratio,
    slowdown_ratios,
)
from bfenv.analysis.fairness import delays, overtaken, user_fairness
from bfenv.analysis.intervals import CONFIDENCE
from bfenv.analysis.job_classes import class_metrics
from bfenv.analysis.queue_length import loss_of_capacity, mean_queue_length, queue_curve
from bfenv.analysis.schedule_metrics import metrics
from bfenv.core.schedule import Schedule


def result(
    schedule: Schedule, reference: Schedule | None = None, *, fcfs: Schedule | None = None
) -> dict[str, Any]:
    """Metrics, classes, differences to a reference and curves; NaN and infinite become None.

    `reference` is the schedule to compare with, commonly EASY's, and `fcfs` one that is held to
    be fair, commonly first come, first served without backfilling; without them, what needs them
    is left out. "versus" and the seconds of "curves" are as in `differences`, `queue_curve` and
    `slowdown_ratios`; "wait_quantiles" are the waits (s) at 0, 1 ... 100 % of the jobs.

    Raises BfenvError when the schedules are not of the same jobs.
    """
    for other in (reference, fcfs):
        if other is not None:
            check_comparable(schedule, other)
    numbers = (
        metrics(schedule)
        | {"loss_of_capacity": loss_of_capacity(schedule)}
        | {"mean_queue_length": mean_queue_length(schedule)}
        | user_fairness(schedule)
        | {"overtaken": float(overtaken(schedule).mean())}
        | backfill_metrics(schedule)
        | head_metrics(schedule)
        | reservation_metrics(schedule)
    )
    cuts, jobs = queue_curve(schedule)
    curves = {
        "wait_quantiles": np.percentile(schedule.wait, np.arange(101)),
        "queue_length": {"time": cuts, "jobs": jobs},
    }
    versus: dict[str, Any] = {}
    if reference is not None:
        numbers["slowdown_ratio"] = slowdown_ratio(schedule, reference)
        numbers["longest_wait_ratio"] = longest_wait_ratio(schedule, reference)
        versus = _versus(schedule, reference)
        times, ratios = slowdown_ratios(schedule, reference)
        curves["per_1000"] = {"time": times, "slowdown_ratio": ratios}
    if fcfs is not None:
        late = delays(schedule, fcfs)
        numbers["later_than_fcfs"] = float((late > 0).mean())
        numbers["mean_delay_to_fcfs"] = float(late.mean())
    classes = class_metrics(schedule)
    return _plain({"metrics": numbers, "classes": classes, "versus": versus, "curves": curves})


def backfill_metrics(schedule: Schedule) -> dict[str, float]:
    """Share of jobs backfilled, share of these that were wild, and stolen seconds per job.

    NaN for the wild ones where nothing was backfilled.
    """
    found = backfills(schedule)
    count = int(found.backfilled.sum())
    return {
        "backfilled": count / len(found.backfilled),
        "wild_backfills": int(found.wild.sum()) / count if count else math.nan,
        "mean_stolen_time": float(found.stolen.mean()),
    }


def head_metrics(schedule: Schedule) -> dict[str, float]:
    """Head delay: seconds by which heads start later than promised, as in `head_promises`.

    The jobs that waited as the head, the share of them whose promise was broken, and the mean
    and longest delay of them all; NaN where no job ever did.
    """
    promises = head_promises(schedule)
    heads = promises >= 0
    late = np.maximum(0, schedule.start - promises)[heads]
    return {
        "heads": float(len(late)),
        "broken_promises": float((late > 0).mean()) if len(late) else math.nan,
        "mean_head_delay": float(late.mean()) if len(late) else math.nan,
        "max_head_delay": float(late.max()) if len(late) else math.nan,
    }


def reservation_metrics(schedule: Schedule) -> dict[str, float]:
    """Jobs with a requested start time, how many missed it, and by how many seconds on average.

    Missed is started later (Lawson and Smirni 2002, section 3.4 and Table 2). The mean is over
    all such jobs; NaN without any. A job submitted after that time could start at its submit time.
    """
    jobs = schedule.trace.jobs
    asked = jobs.requested_start > 0
    late = (schedule.start - np.maximum(jobs.requested_start, jobs.submit))[asked]
    return {
        "reservations": float(len(late)),
        "missed_reservations": float((late > 0).sum()),
        "mean_reservation_delay": float(late.mean()) if len(late) else math.nan,
    }


def _versus(schedule: Schedule, reference: Schedule) -> dict[str, Any]:
    intervals = {
        name: {
            "difference": found.value,
            "low": found.low,
            "high": found.high,
            "confidence": CONFIDENCE,
            "batches": found.batches,
            "jobs": len(schedule.trace),
        }
        for name, found in differences(schedule, reference).items()
    }
    return {"reference": reference.policy, **intervals}


def _plain(value: Any) -> Any:
    """The same in what JSON has."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return [_plain(part) for part in value.tolist()]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
