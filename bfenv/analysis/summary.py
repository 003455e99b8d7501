"""Everything that a leaderboard row reports about a schedule, ready for JSON.

In all functions, `schedule` (Schedule) is judged.
"""

import math
from typing import Any

import numpy as np

import bfenv.analysis.comparison as cmp
import bfenv.analysis.queue_length as ql
from bfenv.analysis.backfills import find_backfills, head_promises
from bfenv.analysis.calibration import calibrate
from bfenv.analysis.fairness import delays, overtaken, user_fairness
from bfenv.analysis.intervals import CONFIDENCE
from bfenv.analysis.job_classes import class_metrics
from bfenv.analysis.schedule_metrics import metrics
from bfenv.core.schedule import Schedule


def summarize(
    schedule: Schedule,
    reference: Schedule | None = None,
    *,
    fcfs: Schedule | None = None,
    logged: Schedule | None = None,
) -> dict[str, Any]:
    """Return all metrics of a schedule, its job classes, comparison and curves.

    Args:
        reference: The schedule to compare with, usually EASY's. Without it, "versus", "per_1000"
            and the ratios are left out.
        fcfs: The schedule that counts as fair, usually first come, first served without
            backfilling. Without it, the delays to it are left out.
        logged: The schedule that the log records. Without it, the calibration is left out. If it is
            `schedule` itself, what a replay on the machine would tell is left out, because a log
            may start jobs that the machine has no room for.

    Returns:
        summary: "metrics" by name; "classes" as in `class_metrics`; "versus" as in `differences`;
        and "curves": "wait_quantiles", the waits (s) at 0, 1 ... 100 % of the jobs, "queue_length"
        as in `queue_curve`, "per_1000" as in `slowdown_ratios`. NaN and infinite numbers are None.

    Raises:
        BfenvError: If the schedules are not of the same jobs.

    Examples:
        >>> import bfenv
        >>> from bfenv.analysis import summarize
        >>> trace = bfenv.load_workload("lublin:jobs=500,load=0.9")
        >>> easy, fcfs = (bfenv.simulate(trace, name) for name in ("easy", "fcfs"))
        >>> sorted(summarize(easy, reference=fcfs))
        ['classes', 'curves', 'metrics', 'versus']
    """
    for other in (reference, fcfs):
        if other is not None:
            cmp.check_comparable(schedule, other)
    numbers = (
        metrics(schedule)
        | {
            "mean_queue_length": ql.mean_queue_length(schedule),
            "throughput_deviation": ql.throughput_deviation(schedule),
        }
        | user_fairness(schedule)
        | {"overtaken": float(overtaken(schedule).mean())}
    )
    if schedule is not logged:
        numbers |= (
            {
                "loss_of_capacity": ql.loss_of_capacity(schedule),
                "packing_efficiency": ql.packing_efficiency(schedule),
            }
            | backfill_metrics(schedule)
            | head_metrics(schedule)
            | reservation_metrics(schedule)
        )
    if logged is not None:
        numbers |= calibrate(schedule, logged)
    cuts, jobs = ql.queue_curve(schedule)
    curves: dict[str, Any] = {
        "wait_quantiles": np.percentile(schedule.wait, np.arange(101)),
        "queue_length": {"time": cuts, "jobs": jobs},
    }
    versus: dict[str, Any] = {}
    if reference is not None:
        numbers["slowdown_ratio"] = cmp.slowdown_ratio(schedule, reference)
        numbers["longest_wait_ratio"] = cmp.longest_wait_ratio(schedule, reference)
        versus = _versus(schedule, reference)
        times, ratios = cmp.slowdown_ratios(schedule, reference)
        curves["per_1000"] = {"time": times, "slowdown_ratio": ratios}
    if fcfs is not None:
        late = delays(schedule, fcfs)
        numbers["later_than_fcfs"] = float((late > 0).mean())
        numbers["mean_delay_to_fcfs"] = float(late.mean())
    parts = {
        "metrics": numbers,
        "classes": class_metrics(schedule),
        "versus": versus,
        "curves": curves,
    }
    return {name: json_ready(part) for name, part in parts.items()}


def backfill_metrics(schedule: Schedule) -> dict[str, float]:
    """Count backfilled jobs, and what they cost the head of the queue.

    Returns:
        "backfilled" is the share of jobs that are backfilled. "wild_backfills" is the share of
        these that delay the head, NaN if no job is backfilled. "mean_stolen_time" is in seconds per
        job of the trace.
    """
    found = find_backfills(schedule)
    count = int(found.backfilled.sum())
    return {
        "backfilled": count / len(found.backfilled),
        "wild_backfills": int(found.wild.sum()) / count if count else math.nan,
        "mean_stolen_time": float(found.stolen.mean()),
    }


def head_metrics(schedule: Schedule) -> dict[str, float]:
    """Measure how late jobs start that wait as the head of the queue.

    The head delay is the number of seconds by which a job starts later than promised, see
    `head_promises`.

    Returns:
        "heads" is the number of jobs with a promise, "broken_promises" the share of them that start
        later. "mean_head_delay" and "max_head_delay" are in seconds, over all of them. The last
        three are NaN if there are no such jobs.
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
    """Measure how late jobs start that requested a start time.

    A job misses its reservation if it starts later (Lawson and Smirni 2002, section 3.4 and Table
    2). For a job submitted after its requested start, the submit time counts instead.

    Returns:
        "reservations" and "missed_reservations" are numbers of jobs. "mean_reservation_delay" is in
        seconds, over all jobs with a requested start, NaN if there are none.
    """
    jobs = schedule.trace.jobs
    requests = jobs.requested_start > 0
    late = (schedule.start - np.maximum(jobs.requested_start, jobs.submit))[requests]
    return {
        "reservations": float(len(late)),
        "missed_reservations": float((late > 0).sum()),
        "mean_reservation_delay": float(late.mean()) if len(late) else math.nan,
    }


def _versus(schedule: Schedule, reference: Schedule) -> dict[str, Any]:
    intervals = {
        name: {
            "difference": interval.value,
            "low": interval.low,
            "high": interval.high,
            "confidence": CONFIDENCE,
            "batches": interval.batches,
            "jobs": len(schedule.trace),
        }
        for name, interval in cmp.differences(schedule, reference).items()
    }
    return {"reference": reference.policy, **intervals}


def json_ready(value: Any) -> Any:
    """Convert a value to the types of JSON; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {name: json_ready(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return [json_ready(part) for part in value.tolist()]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
