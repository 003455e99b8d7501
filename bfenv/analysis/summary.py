"""The numbers of a schedule by name, and everything that a leaderboard row reports about it.

In all functions, `schedule` (Schedule) is judged.
"""

import math
from typing import Any

import numpy as np

import bfenv.analysis.comparison as cmp
import bfenv.analysis.queue_length as ql
import bfenv.analysis.schedule_metrics as sm
from bfenv.analysis.backfills import find_backfills, head_promises
from bfenv.analysis.calibration import calibrate
from bfenv.analysis.fairness import delays, overtaken, user_fairness
from bfenv.analysis.intervals import CONFIDENCE
from bfenv.analysis.job_classes import class_metrics, slowdown_ratios_by_class
from bfenv.analysis.promises import guarantee_metrics, reservation_metrics
from bfenv.core.arguments import check_integer
from bfenv.core.durations import TAU
from bfenv.core.errors import BfenvError
from bfenv.core.schedule import Schedule
from bfenv.workloads.summary import crashed_jobs

OTHER_TAUS = (60, 600)  # seconds, of further mean bounded slowdowns


def metrics(
    schedule: Schedule, reference: Schedule | None = None, *, tau: int = TAU
) -> dict[str, float]:
    """Compute the usual numbers of one schedule.

    For numbers that replay the schedule, see `bfenv.analysis.summarize`.

    Args:
        reference: Another schedule of the same jobs. With it, "slowdown_ratio" compares the mean
            slowdowns, of all jobs and of each class, see `bfenv.analysis.slowdown_ratios_by_class`.
        tau: Bound of the slowdowns whose name does not end in a number: runtimes below this many
            seconds count as this long. It is 10 s to several minutes (Shmueli 2003, section 1.1).

    Returns:
        Values by name. Waits, response times and the makespan are in seconds; slowdowns, the
        utilization and shares have no unit. Percentiles interpolate linearly between jobs.
        "mean_bounded_slowdown_60" has a `tau` of 60 s. "started_at_once" is the share of the jobs
        that do not wait, "crashed_share" that of `bfenv.workloads.crashed_jobs`. The numbers of
        `bfenv.analysis.reservation_metrics` are there if some job requests a start time, those of
        `bfenv.analysis.guarantee_metrics` if the policy records guarantees.

    Raises:
        BfenvError: If it is not a schedule, `tau` is not an integer >= 1, or the reference is of
            other jobs.

    Examples:
        Two jobs need the whole machine, so the second one waits for the first.

        >>> import bfenv
        >>> trace = bfenv.make_trace(submit=[0, 0], size=[4, 4], runtime=[60, 20], processors=4)
        >>> schedule = bfenv.simulate(trace, "easy")
        >>> numbers = bfenv.metrics(schedule)
        >>> numbers["mean_wait"], numbers["mean_bounded_slowdown"], numbers["utilization"]
        (30.0, 2.5, 1.0)
        >>> bfenv.metrics(schedule, tau=40)["mean_bounded_slowdown"]
        1.5
    """
    if not isinstance(schedule, Schedule):
        raise BfenvError(f"expected a Schedule, got {schedule!r:.60}")
    check_integer("tau", tau, 1)
    waits = sm.wait(schedule)
    slowdowns = sm.bounded_slowdown(schedule, tau)
    responses = sm.response(schedule)
    numbers = {
        "mean_wait": float(waits.mean()),
        "mean_bounded_slowdown": float(slowdowns.mean()),
        "utilization": sm.utilization(schedule),
        "max_wait": float(waits.max()),
        "p95_wait": float(np.percentile(waits, 95)),
        "makespan": float(sm.makespan(schedule)),
        "median_wait": float(np.median(waits)),
        "p99_wait": float(np.percentile(waits, 99)),
        "mean_response": float(responses.mean()),
        "p95_bounded_slowdown": float(np.percentile(slowdowns, 95)),
        "median_bounded_slowdown": float(np.median(slowdowns)),
        "p99_bounded_slowdown": float(np.percentile(slowdowns, 99)),
        "max_bounded_slowdown": float(slowdowns.max()),
        "mean_slowdown": float(sm.slowdown(schedule).mean()),
        "mean_delay_slowdown": float(sm.delay_slowdown(schedule, tau).mean()),
        "mean_width_slowdown": float(sm.width_slowdown(schedule, tau).mean()),
        "area_weighted_wait": sm.area_weighted(schedule, waits),
        "area_weighted_response": sm.area_weighted(schedule, responses),
        "p95_response": float(np.percentile(responses, 95)),
        "max_response": float(responses.max()),
        "p95_bounded_slowdown_60": float(np.percentile(sm.bounded_slowdown(schedule, 60), 95)),
        "started_at_once": float((waits == 0).mean()),
        "crashed_share": float(crashed_jobs(schedule.trace).mean()),
    }
    for seconds in OTHER_TAUS:
        mean = float(sm.bounded_slowdown(schedule, seconds).mean())
        numbers[f"mean_bounded_slowdown_{seconds}"] = mean
    if schedule.trace.jobs.requested_start.any():
        numbers |= reservation_metrics(schedule)
    if "guarantee" in schedule.records:
        numbers |= guarantee_metrics(schedule)
    if reference is not None:
        cmp.check_comparable(schedule, reference)
        numbers["slowdown_ratio"] = cmp.slowdown_ratio(schedule, reference)
        for name, ratio in slowdown_ratios_by_class(schedule, reference).items():
            numbers[f"slowdown_ratio_{name.replace(' ', '_')}"] = ratio
    return numbers


def summarize(
    schedule: Schedule,
    reference: Schedule | None = None,
    *,
    fcfs: Schedule | None = None,
    logged: Schedule | None = None,
    tau: int = TAU,
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
        tau: Bound of the slowdowns in seconds, see `metrics`.

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
    for baseline in (reference, fcfs):
        if baseline is not None:
            cmp.check_comparable(schedule, baseline)
    numbers = (
        metrics(schedule, reference, tau=tau)
        | {
            "mean_queue_length": ql.mean_queue_length(schedule),
            "throughput_deviation": ql.throughput_deviation(schedule),
        }
        | user_fairness(schedule, tau)
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
            | guarantee_metrics(schedule)
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
        numbers["longest_wait_ratio"] = cmp.longest_wait_ratio(schedule, reference)
        versus = _versus(schedule, reference, tau)
        times, ratios = cmp.slowdown_ratios(schedule, reference)
        curves["per_1000"] = {"time": times, "slowdown_ratio": ratios}
    if fcfs is not None:
        late = delays(schedule, fcfs)
        numbers["later_than_fcfs"] = float((late > 0).mean())
        numbers["mean_delay_to_fcfs"] = float(late.mean())
    parts = {
        "metrics": numbers,
        "classes": class_metrics(schedule, tau),
        "versus": versus,
        "curves": curves,
    }
    return {name: json_ready(part) for name, part in parts.items()}


def backfill_metrics(schedule: Schedule) -> dict[str, float]:
    """Count backfilled jobs, and what they cost the head of the queue.

    Returns:
        "backfilled" is the share of jobs that are backfilled. "wild_backfills" is the share of
        these that delay the head, NaN if no job is backfilled. "stolen_time_per_delayed_head" is in
        seconds, see `Backfills.stolen_per_delayed_head`.
    """
    backfills = find_backfills(schedule)
    count = int(backfills.backfilled.sum())
    return {
        "backfilled": count / len(backfills.backfilled),
        "wild_backfills": int(backfills.wild.sum()) / count if count else math.nan,
        "stolen_time_per_delayed_head": backfills.stolen_per_delayed_head,
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


def _versus(schedule: Schedule, reference: Schedule, tau: int) -> dict[str, Any]:
    intervals = {
        name: {
            "difference": interval.value,
            "low": interval.low,
            "high": interval.high,
            "confidence": CONFIDENCE,
            "batches": interval.batches,
            "jobs": len(schedule.trace),
        }
        for name, interval in cmp.differences(schedule, reference, tau).items()
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
