"""The gap between the reference policy and the best possible, of one trace and metric.

A file of it holds the schedules and the prices, so anyone can check every number in one pass.
"""

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bfenv.analysis.comparison import STARVES
from bfenv.analysis.summary import metrics
from bfenv.baselines import simulate
from bfenv.core.errors import BfenvError
from bfenv.core.files import load_arrays, write_atomically
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv_judge.bounds.certificate import COSTS, Certificate, certify, job_costs
from bfenv_judge.bounds.offline import offline_schedule
from bfenv_judge.bounds.prices import lower_bound

REFERENCE = "easy"
FORMAT = "bfenv-gap-2"
PARTS = ("offline_wait", "fair_wait", "intervals", "price")  # they compress well


class GapNumbers(NamedTuple):
    """What a file of a gap says, without its schedules; `check_gap` verifies it."""

    workload_hash: str
    metric: str
    bound: float
    offline: float  # the metric of the best schedule found
    fair: float
    reference: float

    def closed(self, value: float) -> float:
        """Return the share of the gap that a value of the metric closes.

        It is 0 for the reference and 1 for the best schedule found; nan if these are equal.
        """
        gap = self.reference - self.offline
        return (self.reference - value) / gap if gap else float("nan")

    def stricter(self, other: "GapNumbers") -> "GapNumbers":
        """Return the higher bound and the better schedules of two searches on the same jobs."""
        return self._replace(
            bound=max(self.bound, other.bound),
            offline=min(self.offline, other.offline),
            fair=min(self.fair, other.fair),
        )


class Gap(NamedTuple):
    """The certified bound, the best schedules found, and the reference."""

    metric: str  # one of COSTS
    bound: float  # no non-preemptive schedule is below
    certificate: Certificate  # prices that prove the bound
    offline: Schedule  # the best found
    fair: Schedule  # the best found in which no job waits over twice the reference's longest wait
    reference: Schedule  # of EASY

    @property
    def numbers(self) -> GapNumbers:
        """The bound and the metric of each schedule."""
        offline, fair, reference = (
            metrics(schedule)[self.metric] for schedule in (self.offline, self.fair, self.reference)
        )
        return GapNumbers(
            self.reference.trace.content_hash, self.metric, self.bound, offline, fair, reference
        )


def find_gap(
    trace: Trace,
    metric: str = COSTS[0],
    *,
    moves: int = 100,
    steps: int = 200,
    seed: int = 0,
    done: Callable[[str], None] = lambda part: None,
) -> Gap:
    """Search for the lower bound and the best schedules of a trace.

    Args:
        trace: The jobs, with their true runtimes.
        metric: What the schedules minimize: "mean_bounded_slowdown" or "mean_wait".
        moves: Moves of the local search per job.
        steps: The most steps of the bound's ascent at each of its resolutions.
        seed: Of the moves. The same seed gives the same schedules.
        done: Called with the name of each part when it is ready: "reference", "bound", "offline",
            "fair".

    Returns:
        The bound with its certificate, and the best schedules that were found.

    Raises:
        BfenvError: If an argument is out of range.
    """
    job_costs(trace, metric)
    reference = simulate(trace, REFERENCE)
    done("reference")
    bound, certificate = lower_bound(trace, metric, steps=steps)
    done("bound")
    offline = offline_schedule(trace, metric, moves=moves, seed=seed)
    done("offline")
    limit = _fair_wait(reference)
    try:
        fair = offline_schedule(trace, metric, longest_wait=limit, moves=moves, seed=seed)
    except BfenvError:  # the reference itself is within the limit
        fair = reference
    fair = min(fair, reference, key=lambda schedule: metrics(schedule)[metric])
    if offline.wait.max() <= limit:
        fair = min(fair, offline, key=lambda schedule: metrics(schedule)[metric])
    offline = min(offline, fair, key=lambda schedule: metrics(schedule)[metric])
    done("fair")
    return Gap(metric, bound, certificate, offline, fair, reference)


def _fair_wait(reference: Schedule) -> float:
    return STARVES * float(reference.wait.max())


def save_gap(gap: Gap, path: Path) -> None:
    """Write the schedules and the certificate to a file, in one step.

    Args:
        gap: What `find_gap` found.
        path: The file; one that is there is replaced.

    Raises:
        BfenvError: If the file cannot be written.
    """
    head = {"format": FORMAT, "exponent": gap.certificate.exponent, **gap.numbers._asdict()}
    edges, price, _ = gap.certificate
    parts = gap.offline.wait, gap.fair.wait, np.diff(edges, prepend=0), price
    memory = io.BytesIO()
    text = np.frombuffer(json.dumps(head, sort_keys=True).encode(), dtype=np.uint8)
    np.savez_compressed(
        memory, allow_pickle=False, head=text, **dict(zip(PARTS, parts, strict=True))
    )
    write_atomically(path, memory.getvalue())


def read_numbers(path: Path) -> GapNumbers:
    """Read the numbers of a file of `save_gap`, without the jobs that they are about.

    Raises BfenvError if the file cannot be read.
    """
    return _read(path)[0]


def load_gap(path: Path, trace: Trace) -> Gap:
    """Read a file of `save_gap`. Use `check_gap` to verify its numbers.

    Args:
        path: The file.
        trace: The jobs that it is about.

    Returns:
        What `save_gap` was given.

    Raises:
        BfenvError: If the file cannot be read, it is not about this trace, or the metrics of its
            schedules are others than it says.
    """
    numbers, exponent, (offline_wait, fair_wait, intervals, price) = _read(path)
    if numbers.workload_hash != trace.content_hash:
        raise BfenvError(
            f"{path}: is about other jobs than {trace.name}: give the workload that it was made for"
        )
    gap = Gap(
        numbers.metric,
        numbers.bound,
        Certificate(np.cumsum(intervals), price, exponent),
        _schedule(trace, "offline", offline_wait),
        _schedule(trace, "fair", fair_wait),
        simulate(trace, REFERENCE),
    )
    if gap.numbers != numbers:
        raise BfenvError(f"{path}: the metrics in the file are not those of its schedules")
    return gap


def _read(path: Path) -> tuple[GapNumbers, int, list[np.ndarray]]:
    try:
        data = load_arrays(path, ("head", *PARTS))
        head = json.loads(bytes(data["head"]))
        arrays = [data[name] for name in PARTS]
        for part in arrays:
            if part.ndim != 1 or part.dtype.kind not in "iu":
                raise ValueError(f"expected a list of integers, got {part.dtype}{list(part.shape)}")
        arrays = [part.astype(np.int64) for part in arrays]
        if head["format"] != FORMAT:
            raise ValueError(f"format {head['format']!r}")
        workload_hash, metric = (str(head[name]) for name in GapNumbers._fields[:2])
        bound, *values = (float(head[name]) for name in GapNumbers._fields[2:])
        numbers, exponent = GapNumbers(workload_hash, metric, bound, *values), head["exponent"]
        if metric not in COSTS or type(exponent) is not int:
            raise ValueError(f"metric {metric!r}, exponent {exponent!r}")
        if not all(map(math.isfinite, (bound, *values))):  # nan is not below anything
            raise ValueError(f"expected finite numbers, got {numbers}")
        return numbers, exponent, arrays
    except OSError as error:
        raise BfenvError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise BfenvError(
            f"{path} is not a file of `bfenv evaluate bound --out`, or damaged"
        ) from error


def _schedule(trace: Trace, name: str, wait: np.ndarray) -> Schedule:
    if len(wait) != len(trace):
        raise BfenvError(f"{name}: {len(wait)} waits of {len(trace)} jobs")
    start = trace.jobs.submit + wait
    none = np.full(len(trace), -1, dtype=np.int64)
    return Schedule(trace, name, 0, start, start + trace.runtime, none, none.copy())


def check_gap(gap: Gap) -> Gap:
    """Return the gap itself if every number in it holds.

    Args:
        gap: What `find_gap` found, or `load_gap` read.

    Raises:
        BfenvError: If the prices certify less than the bound, the machine cannot have run a
            schedule, a schedule is below the bound, or the fair one lets a job wait too long.
    """
    trace = gap.reference.trace
    certified = certify(trace, gap.certificate, gap.metric)
    if not certified >= gap.bound:  # nan, too
        raise BfenvError(f"the prices certify {certified:.6g}, not {gap.bound:.6g}")
    for schedule in (gap.offline, gap.fair):
        schedule.check()
        value = metrics(schedule)[gap.metric]
        if value < gap.bound:
            raise BfenvError(f"{schedule.policy}: {value:.6g} is below the bound {gap.bound:.6g}")
    if gap.fair.wait.max() > max(_fair_wait(gap.reference), 0):
        raise BfenvError(f"fair: a job waits {int(gap.fair.wait.max())} s")
    return gap
