"""What is measured, by name: a number, (value, low, high), or curves (x, y).

A measure of one schedule takes the schedule; one that compares takes the reference's as well. A
measure of a workload takes the trace.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from bfenv.analysis.backfills import Backfills, find_backfills
from bfenv.analysis.comparison import slowdown_ratio
from bfenv.analysis.intervals import batch_means
from bfenv.analysis.job_classes import classify_jobs
from bfenv.analysis.promises import guarantee_ratios, reservation_delays, reservation_tail
from bfenv.analysis.queue_length import mean_queue_length, queue_curve
from bfenv.analysis.schedule_metrics import (
    bounded_slowdown,
    delay_slowdown,
    makespan,
    response,
    slowdown,
    utilization,
)
from bfenv.core.durations import DAY, HOUR, MINUTE
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.workloads.models.simple_estimates import swap_probability
from bfenv.workloads.summary import crashed_jobs, popular_estimates
from reproductions.diagrams import (
    boxes,
    examined_boxes,
    head_promise,
    partition_sizes,
    started_at_examination,
)
from reproductions.examples import PLANES, queue_cell, shadow_of_head, table_cell

CLASSES = ("all", "small", "medium", "long")  # of jobs, by estimate
PRIORITIES = ("", "-high", "-low")
POINTS = 200  # of a curve, at most
BATCH = 1000  # jobs, Lawson and Smirni 2002, Figure 4
REQUESTS = ("size", "runtime", "estimate")
SWAP_FACTORS = (2, 3, 5, 8, 11)  # F, Tsafrir 2010, section 3.3
ASKED = {"15min": 15 * MINUTE, "2h": 2 * HOUR, "18h": 18 * HOUR}  # Zotkin et al., Figures 13-15
OfJobs = Callable[[Schedule], np.ndarray]  # a quantity of each job


def cdf(values: np.ndarray) -> tuple[Any, Any]:
    """Return quantiles and the percent of the values up to each, (POINTS + 1,) each."""
    percent = np.linspace(0, 100, POINTS + 1)
    return np.percentile(values, percent, method="inverted_cdf"), percent


def members(trace: Trace, group: str, priority: str = "") -> np.ndarray:
    """Return which jobs are of a class of estimates and of a priority, (n,) bool."""
    chosen = np.ones(len(trace), dtype=np.bool_)
    if group != "all":
        chosen &= classify_jobs(trace)[f"{group} estimate"]
    if priority:
        chosen &= (trace.jobs.priority > 0) == (priority == "-high")
    return chosen


# Of one schedule -----------------------------------------------------------------------------


def _mean(of: OfJobs, schedule: Schedule, *_: Schedule) -> float:
    return float(of(schedule).mean())


@lru_cache(maxsize=1)
def _backfills(schedule: Schedule) -> Backfills:
    return find_backfills(schedule)


def _short_starts(schedule: Schedule) -> tuple[Any, Any]:
    """Jobs of less than a minute that start, over 100 equal parts of the makespan, in days."""
    begin, length = schedule.trace.jobs.submit[0], makespan(schedule)
    counts, edges = np.histogram(
        (schedule.start - begin)[schedule.trace.runtime < MINUTE], 100, (0, length)
    )
    return edges[:-1] / DAY, counts


def _short_starts_early(schedule: Schedule) -> float:
    """Share of the jobs of less than a minute that start in the first fifth of the makespan."""
    begin, length = schedule.trace.jobs.submit[0], makespan(schedule)
    starts = (schedule.start - begin)[schedule.trace.runtime < MINUTE]
    return float((starts < length / 5).mean())


def _tail(schedule: Schedule) -> tuple[Any, Any]:
    """Return delays (h) and the percent of the reservations delayed by more."""
    delays, shares = reservation_tail(schedule, POINTS)
    return delays / HOUR, 100 * shares


def _queue(schedule: Schedule) -> tuple[Any, Any]:
    cuts, jobs = queue_curve(schedule, POINTS)
    return cuts[:-1] / DAY, jobs


JOB_COLUMNS: Mapping[str, OfJobs] = {
    "arrival": lambda schedule: schedule.trace.jobs.submit,
    "start": lambda schedule: schedule.start,
    "termination": lambda schedule: schedule.end,
    "response": response,
    "runtime": lambda schedule: schedule.trace.runtime,
    "wait": lambda schedule: schedule.wait,
    "slowdown": slowdown,
}


# Of a schedule and a reference ----------------------------------------------------------------


def _class_slowdown(group: str, schedule: Schedule) -> float:
    return float(slowdown(schedule)[members(schedule.trace, group)].mean())


def _gain(of: OfJobs, confidence: float, schedule: Schedule, reference: Schedule) -> list[float]:
    """How much smaller than the reference's, job by job, with an interval by batch means."""
    interval = batch_means(of(reference) - of(schedule), confidence=confidence)
    return [interval.value, interval.low, interval.high]


def _ratio(group: str, priority: str, schedule: Schedule, reference: Schedule) -> float:
    """R of the mean slowdowns of some jobs."""
    return slowdown_ratio(schedule, reference, members(schedule.trace, group, priority))


def _ratio_of_means(group: str, schedule: Schedule, reference: Schedule) -> float:
    """R of 1 + mean delay / mean service time."""
    chosen = members(schedule.trace, group)
    service = schedule.trace.runtime[chosen].mean()
    value, reference_value = (
        1 + compared.wait[chosen].mean() / service for compared in (schedule, reference)
    )
    return float((reference_value - value) / min(reference_value, value))


def _snapshots(priority: str, schedule: Schedule, reference: Schedule) -> tuple[Any, Any]:
    """Submit time (days) and R of each batch of BATCH submissions."""
    jobs = schedule.trace.jobs
    chosen = members(schedule.trace, "all", priority)
    begins = np.arange(0, len(jobs.submit) - BATCH + 1, BATCH)
    if not len(begins) or not chosen.any():
        return [], []
    counts = np.add.reduceat(chosen.astype(float), begins)
    values, reference_values = (
        np.add.reduceat(np.where(chosen, slowdown(compared), 0), begins) / np.maximum(counts, 1)
        for compared in (schedule, reference)
    )
    ratios = (reference_values - values) / np.minimum(reference_values, values)
    return jobs.submit[begins] / DAY, ratios


def _positive_share(priority: str, schedule: Schedule, reference: Schedule) -> float:
    """Share of the batches with R > 0."""
    values = np.asarray(_snapshots(priority, schedule, reference)[1])
    return float((values > 0).mean()) if len(values) else float("nan")


# Of a workload --------------------------------------------------------------------------------


def _request(job: int, column: str, trace: Trace) -> float:
    return float({**trace.jobs._asdict(), "runtime": trace.runtime}[column][job])


def _swaps(factor: int, trace: Trace) -> float:
    """Mean probability that the shorter of two jobs gets the longer estimate, by F.

    The pairs are of jobs of unlike runtimes that are neighbours in order of submission.
    """
    pairs = np.sort(np.stack([trace.runtime[:-1], trace.runtime[1:]]), axis=0)
    shorter, longer = pairs[:, pairs[0] < pairs[1]]
    return float(swap_probability(shorter, longer, float(factor)).mean())


def _lengths(trace: Trace) -> tuple[Any, Any]:
    """Jobs by runtime, in steps of 5 minutes: runtimes (s) and counts."""
    step = 5 * MINUTE
    longest = float(np.percentile(trace.runtime, 99.5)) + step
    counts, edges = np.histogram(trace.runtime, np.arange(0, longest + step, step))
    return edges[:-1], counts


def _popular(trace: Trace) -> tuple[Any, Any]:
    """The 20 most popular estimates (s), ascending, and their jobs."""
    estimates = sorted(popular_estimates(trace, 20), key=lambda row: row["estimate"])
    labels = [
        f"{seconds / HOUR:g} h" if seconds >= HOUR else f"{seconds / MINUTE:g} min"
        for seconds in (row["estimate"] for row in estimates)
    ]
    return labels, [round(row["share"] * len(trace)) for row in estimates]


def _round_share(trace: Trace) -> float:
    """Share of estimates that are multiples of 5 minutes below an hour, or of an hour."""
    estimate = trace.jobs.estimate
    step = np.where(estimate < HOUR, 5 * MINUTE, HOUR)
    return float((estimate % step == 0).mean())


def _runtimes_of(estimate: int, trace: Trace) -> tuple[Any, Any]:
    runtime = trace.runtime[trace.jobs.estimate == estimate]
    return cdf(runtime) if len(runtime) else ([], [])


def _overestimation(estimate: int, percent: float, trace: Trace) -> float:
    runtime = trace.runtime[trace.jobs.estimate == estimate]
    return float(np.percentile(estimate / runtime, percent)) if len(runtime) else float("nan")


MEASURES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "wait": partial(_mean, lambda schedule: schedule.wait),
        "bounded-slowdown": partial(_mean, bounded_slowdown),
        "delay-slowdown": partial(_mean, delay_slowdown),
        "slowdown": partial(_mean, slowdown),
        "response": partial(_mean, response),
        "makespan": makespan,
        "utilization": utilization,
        "longest-wait": lambda schedule, *_: float(schedule.wait.max()),
        "p95-bounded-slowdown-60": lambda schedule: float(
            np.percentile(bounded_slowdown(schedule, 60), 95)
        ),
        "queue-length": mean_queue_length,
        "queue": _queue,
        "backfilled": lambda schedule: float(_backfills(schedule).backfilled.mean()),
        "wild": lambda schedule: float(_backfills(schedule).wild.mean()),
        "stolen-from-head": lambda schedule: _backfills(schedule).stolen_per_delayed_head,
        "short-starts": _short_starts,
        "short-starts-early": _short_starts_early,
        "guarantees": lambda schedule: cdf(guarantee_ratios(schedule)),
        "guarantees-median": lambda schedule: float(np.percentile(guarantee_ratios(schedule), 50)),
        "guarantees-80": lambda schedule: float(np.percentile(guarantee_ratios(schedule), 80)),
        "started-at-once": lambda schedule: float((schedule.wait == 0).mean()),
        "missed": lambda schedule: float((reservation_delays(schedule) > 0).sum()),
        "reservations": lambda schedule: float(len(reservation_delays(schedule))),
        "reservation-tail": _tail,
        "gain-wait": partial(_gain, lambda schedule: schedule.wait, 0.95),
        "gain-bounded-slowdown": partial(_gain, bounded_slowdown, 0.95),
        "gain-response-90": partial(_gain, response, 0.90),
        "gain-bounded-slowdown-90": partial(_gain, bounded_slowdown, 0.90),
        **{f"slowdown-{group}": partial(_class_slowdown, group) for group in CLASSES},
        **{f"ratio-of-means-{group}": partial(_ratio_of_means, group) for group in CLASSES},
        **{f"snapshots{priority}": partial(_snapshots, priority) for priority in PRIORITIES},
        **{f"positive{priority}": partial(_positive_share, priority) for priority in PRIORITIES},
        **{
            f"ratio-{group}{priority}": partial(_ratio, group, priority)
            for group in CLASSES
            for priority in PRIORITIES
        },
        **{
            f"job-{job}-{column}": lambda schedule, job=job, of=of: float(of(schedule)[job])
            for job in range(6)
            for column, of in JOB_COLUMNS.items()
        },
        "boxes": boxes,
        "examined-boxes": examined_boxes,
        "started-at-examination": started_at_examination,
        "promise-2": partial(head_promise, 2),
    }
)
WORKLOAD_MEASURES: Mapping[str, Callable[[Trace], Any]] = MappingProxyType(
    {
        "jobs": lambda trace: float(len(trace)),
        "processors": lambda trace: float(trace.processors),
        "offered-load": lambda trace: float(trace.offered_load),
        "crashed": lambda trace: float(crashed_jobs(trace).sum()),
        "crashed-share": lambda trace: float(crashed_jobs(trace).mean()),
        "lengths": _lengths,
        # Sizes (processors) that jobs have, and the jobs of each
        "sizes": lambda trace: np.unique(trace.jobs.size, return_counts=True),
        **{
            f"job-{job}-{column}": partial(_request, job, column)
            for job in range(6)
            for column in REQUESTS
        },
        **{f"head-{fact}": partial(shadow_of_head, fact) for fact in ("shadow", "extra", "free")},
        **{f"partition-{p}": partial(partition_sizes, p) for p in range(3)},
        "partitions-at-first": lambda trace: float(partition_sizes(0, trace)[1][0]),
        "partitions-largest": lambda trace: float(
            max(max(partition_sizes(p, trace)[1]) for p in range(3))
        ),
        **{f"swaps-{factor}": partial(_swaps, factor) for factor in SWAP_FACTORS},
        "below-a-minute": lambda trace: float((trace.runtime < MINUTE).mean()),
        "runtimes": lambda trace: cdf(trace.runtime),
        "estimates": lambda trace: cdf(trace.jobs.estimate),
        "popular": _popular,
        "popular-share": lambda trace: sum(row["share"] for row in popular_estimates(trace, 20)),
        "round-share": _round_share,
        "share-18h": lambda trace: float((trace.jobs.estimate == ASKED["18h"]).mean()),
        **{f"runtimes-{name}": partial(_runtimes_of, seconds) for name, seconds in ASKED.items()},
        **{
            f"overestimation-{name}-{percent}": partial(_overestimation, seconds, percent)
            for name, seconds in ASKED.items()
            for percent in (50, 80)
        },
        **{
            f"table-3.{table}-{i}-{j}": partial(table_cell, table, i, j)
            for table in (1, 2, 3, *PLANES)
            for i in range(6)
            for j in range(6)
        },
        **{
            f"table-3.8-{job}-{column}": partial(queue_cell, job, column)
            for job in range(2, 6)
            for column in ("size", "ssize")
        },
    }
)
