"""The worked examples of the papers as workloads, and the tables of LOS on them."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType

import numpy as np

from bfenv.baselines import los
from bfenv.core.cluster import free, now, shadow, start, waiting
from bfenv.core.events import advance, new_cluster
from bfenv.core.jobs import Trace, make_trace

PLANES = {4: 0, 5: 1, 6: 2, 7: 3}  # Table 3.4 is the plane k = 0, and so on
UNKNOWN = "φ"  # of a cell that is not filled yet


def four_jobs() -> Trace:
    """Return the example of section 1.1: four jobs at once on five processors."""
    return make_trace([0] * 4, [3, 2, 4, 3], [2, 4, 2, 2], 5, name="thesis-1.1")


def five_jobs() -> Trace:
    """Return the example of chapter 3: at 25 s, one job runs and five wait, on ten processors."""
    submit, size = [0, 25, 25, 25, 25, 25], [5, 7, 2, 1, 2, 3]
    return make_trace(submit, size, [28, 4, 2, 6, 4, 5], 10, name="thesis-3")


def hole(length: int) -> Trace:
    """Return four jobs as in Tsafrir 2010, Figure 1, on three processors.

    At 2, job 1 has ended, job 3 waits for job 2 until 4, and job 4 of this length is the next. The
    figure's sizes are lost; these fit what the text says.
    """
    return make_trace([0] * 4, [2, 1, 3, 2], [2, 4, 2, length], 3, name=f"tsafrir-1-{length}")


def heel_and_toe() -> Trace:
    """Return six jobs as in Tsafrir 2010, Figure 6: estimates are twice the runtimes."""
    runtime = [6, 4, 1, 4, 3, 2]
    return make_trace(
        [0, 0, 1, 1, 1, 1],
        [1, 1, 2, 1, 1, 1],
        runtime,
        2,
        estimate=[2 * time for time in runtime],
        name="tsafrir-6",
    )


def log_lines() -> Trace:
    """Return the three lines of a log in Tsafrir 2010, Table 1; the first is submitted at 0."""
    return make_trace(
        [0, 336, 5004],
        [2, 128, 49],
        [937, 6601, 64_800],
        128,
        estimate=[1800, 64_800, 64_800],
        user=[1013, 1013, 1237],
        name="tsafrir-table-1",
    )


def three_partitions() -> Trace:
    """Return jobs for 30 processors in three partitions, as in Lawson and Smirni 2002, Figure 1.

    Small jobs come first, then medium ones, then a long one that needs more than a third of the
    machine. The figure shows no jobs; these move the boundaries of the partitions.
    """
    submit = [0, 0, 0, 600, 600, 900, 1200, 3000]
    size = [8, 8, 4, 12, 10, 18, 6, 20]
    runtime = [900, 600, 900, 5000, 2000, 20_000, 900, 12_000]
    return make_trace(submit, size, runtime, 30, name="lawson-1")


EXAMPLES: Mapping[str, Callable[[], Trace]] = MappingProxyType(
    {
        "thesis-1.1": four_jobs,
        "thesis-3": five_jobs,
        "tsafrir-1-2": partial(hole, 2),
        "tsafrir-1-3": partial(hole, 3),
        "tsafrir-6": heel_and_toe,
        "tsafrir-table-1": log_lines,
        "lawson-1": three_partitions,
    }
)


def _examine(trace: Trace, extra: int | None = None) -> tuple[los.Memory, int]:
    """Let LOS examine the queue of chapter 3 at 25 s; return its memory and how many it may select.

    `extra` is the shadow free capacity, by default as the queue's head leaves it.
    """
    cluster, jobs, truth = new_cluster(trace)
    advance(cluster, jobs, truth)
    start(cluster, jobs, 0)
    advance(cluster, jobs, truth)
    assert now(cluster) == 25
    memory = los.new_memory(jobs, trace.processors, None)
    shadow_time, spare = shadow(cluster, jobs, waiting(cluster)[0])
    capacity = int(spare if extra is None else extra)
    return memory, int(
        los.examine(cluster, jobs, memory, waiting(cluster)[1:], shadow_time, capacity)
    )


@cache
def _filled(capacity: int, shadow_capacity: int) -> tuple[list[int], list[np.ndarray], list[int]]:
    """Fill LOS's table at a free and a shadow free capacity.

    Returns:
        tuple:
        * `The examined jobs; after 0`, `1`, `... of them`, `the extra nodes needed for each number
          of`:
        * `processors; and the markers of the last cell after each job.`:
    """
    memory, examined = _examine(five_jobs(), shadow_capacity)
    jobs = memory.candidate[:examined].tolist()
    needs, markers = [], []
    for rows in range(examined + 1):
        filled = los.fill(memory, rows, capacity, shadow_capacity)
        needs.append(memory.need[: capacity + 1].copy())
        util = _best(needs[-1], shadow_capacity)
        last = los.BYPASSED
        if filled == rows > 0 and util > 0:  # fill skips rows that only bypass
            last = int(memory.markers[rows - 1, util])
        markers.append(last)
    return jobs, needs, markers


def _best(need: np.ndarray, shadow_capacity: int) -> int:
    return int(np.flatnonzero(need <= shadow_capacity).max())


def table_cell(table: int, i: int, j: int, trace: Trace) -> str:
    """Return a cell of Tables 3.1 to 3.7 as the thesis has it: util_sutil and the markers.

    `<` is selected, `^` bypassed.
    """
    basic = table in (1, 2)
    if table in (1, 3):  # the initial values
        value = "0" if i == 0 or j == 0 else UNKNOWN
        return value if basic else f"{value}_{value}"
    if i == 0 or j == 0:
        return "0" if basic else "0_0"
    shadow_capacity = 0 if basic else PLANES[table]
    jobs, needs, markers = _filled(j, shadow_capacity)
    row = sum(job <= i for job in jobs)  # of the jobs that may be selected
    util = _best(needs[row], shadow_capacity)
    marker = markers[row] if i in jobs else los.BYPASSED
    text = "<" * bool(marker & los.SELECTED) + "^" * bool(marker & los.BYPASSED)
    return f"{util}{text}" if basic else f"{util}_{needs[row][util]}{text}"


def shadow_of_head(fact: str, trace: Trace) -> float:
    """Return the shadow time (s) or the extra nodes of the head of chapter 3's queue at 25 s."""
    cluster, jobs, truth = new_cluster(trace)
    advance(cluster, jobs, truth)
    start(cluster, jobs, 0)
    advance(cluster, jobs, truth)
    time, extra = shadow(cluster, jobs, waiting(cluster)[0])
    return float({"shadow": time, "extra": extra, "free": free(cluster)}[fact])


def queue_cell(job: int, column: str, trace: Trace) -> float:
    """Return a cell of Table 3.8, the queue that LOS examines; NaN for a job left out."""
    memory, rows = _examine(trace)
    jobs = memory.candidate[:rows].tolist()
    column_of = {"size": memory.size, "ssize": memory.ssize}[column]
    return float(column_of[jobs.index(job)]) if job in jobs else float("nan")
