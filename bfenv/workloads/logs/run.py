"""A run: one execution of a job, as any system's log records it."""

from collections.abc import Sequence
from itertools import product
from operator import attrgetter
from typing import NamedTuple

import numpy as np

COMPLETED, FAILED, CANCELLED, UNKNOWN = 1, 0, 5, -1  # SWF field 11


class Run(NamedTuple):
    """One execution of a job. Readers make runs of lines; `convert` makes a trace of runs.

    Lines of the same job id, submit and start time are about the same run.
    """

    submit: int  # seconds since 1970
    start: int  # seconds since 1970; -1 if not known
    runtime: int  # seconds, at least 1
    size: int  # at least 1
    estimate: int = -1  # seconds; -1 for none
    user: str = ""
    group: str = ""
    queue: str = ""
    partition: str = ""
    status: int = UNKNOWN
    job: str = ""  # its id in the log; "" if it is not known
    cluster: str = ""


class Dropped(NamedTuple):
    """Why a line is not a job, and whose it is."""

    why: str  # a key of `bfenv.workloads.logs.cleaning.DROPPED`
    partition: str = ""  # "" if it is not known; several of a waiting job, separated by commas
    cluster: str = ""


def order_times(
    submit: tuple[int, ...], start: tuple[int, ...], end: tuple[int, ...], elapsed: int | None
) -> tuple[int, int, int]:
    """Choose the instants that submit, start and end time mean.

    A local time is ambiguous where the clock was set back. Instants in order are preferred, then
    those that agree with the time elapsed, then the earlier.

    Parameters
    ----------
    submit, start, end
        What each can mean, in seconds since 1970; empty if it is not known.
    elapsed
        end - start, in seconds, as the log has it; None if it is not known.

    Returns
    -------
    tuple
        Submit, start and end time in seconds since 1970, -1 if not known.
    """
    if len(submit) <= 1 and len(start) <= 1 and len(end) <= 1:
        return (submit or (-1,))[0], (start or (-1,))[0], (end or (-1,))[0]

    def implausibility(times: tuple[int, int, int]) -> tuple[int, int]:
        submit, start, end = times
        disorder = (0 <= start < submit) + (0 <= end < start)
        return disorder, 0 if elapsed is None or end < 0 else abs(end - start - elapsed)

    return min(product(submit or (-1,), start or (-1,), end or (-1,)), key=implausibility)


def peak_use(runs: Sequence[Run]) -> int:
    """Return the most processors in use at once by runs whose start is known.

    Processors of a run that ends at an instant are free for one that starts then.
    """
    start = column(runs, "start")
    begin, runtime, size = (
        values[start >= 0] for values in (start, column(runs, "runtime"), column(runs, "size"))
    )
    times, change = np.concatenate([begin, begin + runtime]), np.concatenate([size, -size])
    return int(np.cumsum(change[np.lexsort((change, times))]).max(initial=0))


def column(runs: Sequence[Run], field: str) -> np.ndarray:
    """Return a field of each run: (n,) float64, because a log may have any number."""
    return np.fromiter(map(attrgetter(field), runs), np.float64, len(runs))


def number_names(names: Sequence[str]) -> list[int]:
    """Number names from 1 by first appearance; -1 for no name."""
    numbers = {"": -1}
    return [numbers.setdefault(name, len(numbers)) for name in names]
