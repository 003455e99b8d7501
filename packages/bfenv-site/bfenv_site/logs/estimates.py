"""Estimates of jobs for which the log has none, and a check of their unit."""

import os
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from bfenv.core.arguments import check_integer
from bfenv.core.durations import DAY, HOUR, MINUTE, format_duration, parse_limit
from bfenv.core.errors import WorkloadError
from bfenv.workloads.logs.times import LATEST
from bfenv_site.logs.run import Run, number_names

GRACE = 60  # seconds that a scheduler gives a job to end
FEW_BEYOND, MOST_LONGER = 2, 0.1  # jobs, and their share, that may run beyond their limits
# What a column is likely in if most jobs ran longer than their limits: the limits, or the runtimes
LIMIT_UNITS = ("min", "h")
RUNTIME_UNITS = ("ms", "us")
UNITS = {"s": 1.0, "min": MINUTE, "h": HOUR, "ms": 1e-3, "us": 1e-6}  # seconds in each
UNIT_NAMES = {"min": "minutes", "h": "hours", "ms": "milliseconds", "us": "microseconds"}
LONGEST_LIMIT = 60 * DAY  # of half of the jobs, anywhere
FEW = 50  # jobs that may exceed their estimates without a word
EVERYWHERE = ""  # the key of the estimate for all partitions


def read_longest(longest: int | str | None) -> dict[str, int]:
    """Read the estimate of jobs without one: seconds by partition, EVERYWHERE for all.

    It is a number of seconds; or text, a duration such as "2d", or one for each partition, like
    "gpu=2d,long=7-00:00:00". Raises WorkloadError if it is none of these, or out of range.
    """
    if longest is None:
        return {}
    if not isinstance(longest, str) or "=" not in longest:
        return {EVERYWHERE: _seconds(longest)}
    limits: dict[str, int] = {}
    for item in longest.split(","):
        name, equals, text = (part.strip() for part in item.partition("="))
        if not equals or not name or name in limits:
            raise WorkloadError(
                f"longest: {item.strip()!r:.60} is not one partition's limit, like gpu=2d"
            )
        limits[name] = _seconds(text)
    return limits


def fill_estimates(
    runs: Sequence[Run], estimate: np.ndarray, limits: Mapping[str, int]
) -> np.ndarray:
    """Return the estimates, with those that are missing filled in: (n,) int64 seconds.

    A run whose estimate is below 1 gets its partition's limit, which `read_longest` returns, or its
    runtime if that is longer. Without such a limit it gets the longest estimate seen in its
    partition, or else in the log; -1 if there is none at all.
    """
    names = [run.partition for run in runs]
    number = np.maximum(np.array(number_names(names)), 0)  # 0 for no partition
    longest = np.zeros(number.max() + 1, dtype=np.int64)
    np.maximum.at(longest, number, estimate)
    longest[longest < 1] = longest.max()
    for name, partition in dict(zip(names, number.tolist(), strict=True)).items():
        longest[partition] = limits.get(name, limits.get(EVERYWHERE, longest[partition]))
    runtime = np.array([run.runtime for run in runs])
    missing = (estimate < 1) & (longest[number] > 0)
    filled: np.ndarray = np.where(missing, np.maximum(runtime, longest[number]), estimate)
    return filled


def check_unit(
    path: str | os.PathLike[str],
    runtime: np.ndarray,
    estimate: np.ndarray,
    columns: Mapping[str, tuple[str, float]],
    overrun: str = "kill",
) -> None:
    """Stop if many jobs ran well beyond their limits: a column is then in another unit.

    Beyond are jobs that ran longer than a limit by GRACE and a tenth. Of a table whose columns you
    name, a share of them above MOST_LONGER is an error; of other logs, and with overrun="extend",
    most jobs beyond are a warning. So are limits of which half are above LONGEST_LIMIT.

    Args:
        path: The log.
        runtime, estimate: (n,) int64 seconds.
        columns: Of "estimate" and "runtime", as far as you name them: the column, and the seconds
            in the unit in which it was read.
        overrun: As of `read_columns`.

    Raises:
        WorkloadError: With the likely unit, and the option.
    """
    if not len(runtime):
        return
    longer = int(np.sum(runtime > estimate))
    beyond = int(np.sum(_is_beyond(runtime, estimate)))
    is_named = "estimate" in columns and overrun == "kill"
    if is_named and beyond > max(FEW_BEYOND, MOST_LONGER * len(runtime)):
        likely = _likely_unit(runtime, estimate, columns)
        advice = "a column is likely in another unit; add its unit, as in time_limit:min"
        if likely:
            field, column, unit = likely
            advice = (
                f"the column {column!r} is likely in {UNIT_NAMES[unit]}; give --map "
                f"{field}={column}:{unit}"
            )
        raise WorkloadError(
            f"{path}: {beyond:,} of {len(runtime):,} jobs ran longer than their limit: {advice}, "
            "or --overrun extend if jobs really outlive their limits"
        )
    if longer >= FEW and 2 * longer > len(runtime):
        warnings.warn(
            f"{path}: {longer:,} of {len(runtime):,} jobs ran longer than their limit: are the "
            "limits in another unit, such as hours instead of minutes?",
            stacklevel=5,
        )
    if (middle := int(np.median(estimate))) > LONGEST_LIMIT:
        subject = (
            f"the column {columns['estimate'][0]!r}" if "estimate" in columns else "their column"
        )
        warnings.warn(
            f"{path}: half of the limits are above {format_duration(middle)}: is {subject} in "
            "another unit, such as milliseconds?",
            stacklevel=5,
        )


def _is_beyond(runtime: np.ndarray, estimate: np.ndarray) -> np.ndarray:
    """Tell which jobs ran well beyond their limits, (n,) bool."""
    beyond: np.ndarray = runtime > 1.1 * estimate + GRACE
    return beyond


def _likely_unit(
    runtime: np.ndarray, estimate: np.ndarray, columns: Mapping[str, tuple[str, float]]
) -> tuple[str, str, str] | None:
    """Return field, column and unit such that few jobs would run longer than likely limits."""
    column, unit = columns["estimate"]
    for name in LIMIT_UNITS:
        likely = estimate / unit * UNITS[name]
        is_limit = np.median(likely) <= LONGEST_LIMIT
        if is_limit and np.mean(_is_beyond(runtime, likely)) <= MOST_LONGER:
            return "estimate", column, name
    if "runtime" in columns:
        column, runtime_unit = columns["runtime"]
        for name in RUNTIME_UNITS:
            likely = runtime / runtime_unit * UNITS[name]
            if np.mean(_is_beyond(likely, estimate)) <= MOST_LONGER:
                return "runtime", column, name
    return None


def check_longest(
    path: str | os.PathLike[str], runtime: np.ndarray, limits: Mapping[str, int]
) -> None:
    """Warn if most of the jobs without an estimate ran longer than the one that you give them."""
    longest = max(limits.values(), default=0)
    longer = int(np.sum(runtime > longest))
    if longest and 2 * longer > len(runtime):
        warnings.warn(
            f"{path}: {longer:,} of {len(runtime):,} jobs without a limit ran longer than the one "
            f"given for them, {format_duration(longest)}; their runtime stands in for it",
            stacklevel=5,
        )


def _seconds(value: int | str) -> int:
    if isinstance(value, str):
        value = parse_limit("longest", value, WorkloadError)
    return check_integer("longest", value, 1, LATEST - 1, error=WorkloadError)
