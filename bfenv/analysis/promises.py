"""How schedules keep what jobs were promised: requested start times, and conservative guarantees.

In all functions, `schedule` (Schedule) is judged.
"""

import math

import numpy as np

from bfenv.core.arguments import check_integer
from bfenv.core.schedule import Schedule


def reservation_delays(schedule: Schedule) -> np.ndarray:
    """Compute how late each job starts that requested a start time.

    The delay counts from the requested start time, or from the submit time if that is later (Lawson
    and Smirni 2002, section 3.4). The job misses its reservation if the delay is above 0.

    Returns:
        (k,) int64 seconds, in trace order, of the jobs with a requested start time.
    """
    jobs = schedule.trace.jobs
    requests = jobs.requested_start > 0
    delays: np.ndarray = schedule.start - np.maximum(jobs.requested_start, jobs.submit)
    return delays[requests]


def reservation_tail(schedule: Schedule, points: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Compute the tail of the distribution of `reservation_delays`.

    Lawson and Smirni 2002, Figure 11.

    Args:
        points: Number of delays, over the largest fifth.

    Returns:
        tuple:
        * `delays` (np.ndarray): (points + 1,) float64 seconds, ascending; NaN without reservations.
        * `shares` (np.ndarray): (points + 1,) float64, of the reservations that are delayed more.

    Raises:
        BfenvError: If `points` is not a positive integer.
    """
    points = check_integer("points", points, 1)
    delays = reservation_delays(schedule)
    shares = np.linspace(0.2, 0, points + 1)
    if not len(delays):
        return np.full(points + 1, math.nan), shares
    return np.percentile(delays, 100 * (1 - shares)), shares


def reservation_metrics(schedule: Schedule) -> dict[str, float]:
    """Measure how late jobs start that requested a start time, see `reservation_delays`.

    Lawson and Smirni 2002, Table 2 and Figure 11.

    Returns:
        "reservations" and "missed_reservations" are numbers of jobs. "mean_reservation_delay",
        "p95_reservation_delay", "p99_reservation_delay" and "max_reservation_delay" are in seconds,
        over all jobs with a requested start time, NaN if there are none.
    """
    delays = reservation_delays(schedule)
    any_delays = len(delays) > 0
    return {
        "reservations": float(len(delays)),
        "missed_reservations": float((delays > 0).sum()),
        "mean_reservation_delay": float(delays.mean()) if any_delays else math.nan,
        "p95_reservation_delay": float(np.percentile(delays, 95)) if any_delays else math.nan,
        "p99_reservation_delay": float(np.percentile(delays, 99)) if any_delays else math.nan,
        "max_reservation_delay": float(delays.max()) if any_delays else math.nan,
    }


def guarantee_ratios(schedule: Schedule) -> np.ndarray:
    """Divide the guaranteed delay of each job by its actual delay.

    The guaranteed delay is the time from submission to the start that the job was first promised
    (Zotkin, Keleher and Perkovic 2000, section 8 and Figure 16). A ratio of 4 means that the job
    waited a quarter of what it was told. Ratios are at least 1 if the policy keeps its guarantees.

    Returns:
        (k,) float64, in trace order, of the jobs that wait and have a guarantee. Conservative
        policies record guarantees; with other policies there are none, and k is 0.
    """
    guarantee = schedule.records.get("guarantee")
    if guarantee is None:
        return np.empty(0)
    delayed = (schedule.wait > 0) & (guarantee >= 0)
    ratios: np.ndarray = (guarantee - schedule.trace.jobs.submit)[delayed] / schedule.wait[delayed]
    return ratios


def guarantee_metrics(schedule: Schedule) -> dict[str, float]:
    """Summarize `guarantee_ratios`: how far guaranteed delays exceed actual ones.

    Returns:
        "mean_guarantee_ratio", "median_guarantee_ratio", and "p80_guarantee_ratio", which a fifth
        of the jobs exceeds. NaN if no job has a guarantee and waits.
    """
    ratios = guarantee_ratios(schedule)
    any_ratios = len(ratios) > 0
    return {
        "mean_guarantee_ratio": float(ratios.mean()) if any_ratios else math.nan,
        "median_guarantee_ratio": float(np.median(ratios)) if any_ratios else math.nan,
        "p80_guarantee_ratio": float(np.percentile(ratios, 80)) if any_ratios else math.nan,
    }
