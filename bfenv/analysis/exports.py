"""The public names of `bfenv.analysis`, which its `__init__` imports when one is first used."""

from bfenv.analysis.backfills import Backfills, find_backfills, head_promises
from bfenv.analysis.calibration import calibrate, verdict
from bfenv.analysis.comparison import (
    STARVES,
    check_comparable,
    differences,
    longest_wait_ratio,
    slowdown_ratio,
    slowdown_ratios,
)
from bfenv.analysis.fairness import by_user, delays, jain, overtaken, user_fairness
from bfenv.analysis.intervals import (
    Interval,
    batch_means,
    bootstrap,
    geometric_mean_ratio,
    interquartile_mean,
    probability_of_improvement,
    ranks,
    student_quantile,
)
from bfenv.analysis.job_classes import class_metrics, classify_jobs
from bfenv.analysis.logged import LOGGED, cautions, logged_schedule
from bfenv.analysis.placement import Placed, place
from bfenv.analysis.queue_length import (
    loss_of_capacity,
    mean_queue_length,
    packing_efficiency,
    queue_curve,
    queue_steps,
    throughput_deviation,
)
from bfenv.analysis.schedule_metrics import (
    area_weighted,
    bounded_slowdown,
    delay_slowdown,
    makespan,
    metrics,
    response,
    slowdown,
    utilization,
    wait,
    width_slowdown,
)
from bfenv.analysis.summary import (
    backfill_metrics,
    head_metrics,
    reservation_metrics,
    summarize,
)

__all__ = [
    "LOGGED",
    "STARVES",
    "Backfills",
    "Interval",
    "Placed",
    "area_weighted",
    "backfill_metrics",
    "batch_means",
    "bootstrap",
    "bounded_slowdown",
    "by_user",
    "calibrate",
    "cautions",
    "check_comparable",
    "class_metrics",
    "classify_jobs",
    "delay_slowdown",
    "delays",
    "differences",
    "find_backfills",
    "geometric_mean_ratio",
    "head_metrics",
    "head_promises",
    "interquartile_mean",
    "jain",
    "logged_schedule",
    "longest_wait_ratio",
    "loss_of_capacity",
    "makespan",
    "mean_queue_length",
    "metrics",
    "overtaken",
    "packing_efficiency",
    "place",
    "probability_of_improvement",
    "queue_curve",
    "queue_steps",
    "ranks",
    "reservation_metrics",
    "response",
    "slowdown",
    "slowdown_ratio",
    "slowdown_ratios",
    "student_quantile",
    "summarize",
    "throughput_deviation",
    "user_fairness",
    "utilization",
    "verdict",
    "wait",
    "width_slowdown",
]
