"""LOS: the set of waiting jobs that leaves the fewest processors idle.

Shmueli 2003, chapter 3. In every pass the head of the queue starts if it fits; if not, it has its
shadow time and extra nodes. Among the jobs behind it, dynamic programming then chooses a set that
uses the most free processors and, of those that do, needs the fewest extra nodes.

The table. The thesis fills a cell (util, sutil, markers) for every row i, free capacity j and
shadow free capacity k. Here row i holds, for every number u of processors, need[u]: the fewest
extra nodes with which some of the first i jobs use exactly u. A cell is read off its row:

    util(i, j, k) = the largest u <= j with need[u] <= k,    sutil(i, j, k) = need[util]

The markers depend on i and util alone, so one per row and u is enough. The documentation page
docs/policies/los.md has the derivation, with the thesis' example of five jobs.

Which reading of the thesis is followed where it leaves one to choose:

* A head that starts hands nothing on: shadow time infinite, extra nodes 0 (sections 3.2.1, 3.3.1),
  so that the job behind it becomes the head, with a reservation, only in the next pass.
* The lookahead counts, behind the head, the jobs that may be selected. Section 3.5.1 says that jobs
  too large for the free processors are left out first. Those that the shadow time excludes are left
  out here as well: otherwise the printed gains do not come out, see
  docs/reproductions/shmueli-los2003.md. With counts="fitting", they count.
* Maxjobs and max-slowdown trace back with the bypassed marker first (Algorithm 4).
* The slowdowns of Algorithm 7 are floating-point numbers, added up from the head to the tail.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.policy_names import expression
from bfenv.core.arguments import check_choice, check_integer
from bfenv.core.cluster import free, now, start, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import shadow

LOOKAHEAD = 50  # jobs, section 4.2
LARGEST_TABLE = 2**31  # bytes
SELECTED, BYPASSED = 1, 2  # the trace markers
IMPOSSIBLE = FOREVER // 2  # extra nodes needed for a number of processors that no set uses
MERITS = ("none", "jobs", "slowdown")
COUNTS = ("selectable", "fitting")
NO_MERIT, NUM_JOBS, TOT_SLOWDOWN = range(3)  # of a set: Algorithms 3, 6 (maxjobs), 7 (max-slowdown)


class Memory(NamedTuple):
    """The options, and room for the table of one pass."""

    lookahead: np.ndarray  # (1,) int64 jobs
    counts_fitting: np.ndarray  # (1,) bool: the lookahead counts jobs that delay the head, too
    basic: np.ndarray  # (1,) bool: no job may run past the shadow time
    selected_first: np.ndarray  # (1,) bool: trace back by Algorithm 5, else by 4
    merit: np.ndarray  # (1,) int64: NO_MERIT, NUM_JOBS or TOT_SLOWDOWN
    candidate: np.ndarray  # (c,) int64 jobs
    size: np.ndarray  # (c,) int64 processors, of the candidates
    ssize: np.ndarray  # (c,) int64 processors at the shadow time, of the candidates
    gain: np.ndarray  # (c,) float64: what each candidate adds to the merit of a set
    need: np.ndarray  # (P + 1,) int64 extra nodes, of the row filled last
    total: np.ndarray  # (P + 1,) float64 merit of the set that has this need
    markers: np.ndarray  # (c, P + 1) uint8, of every row


@kernel
def decide(cluster, jobs, memory):
    """Start the head, or keep its reservation; start the best set of the jobs behind it."""
    queue = waiting(cluster)
    if len(queue) == 0 or free(cluster) == 0:
        return
    shadow_time, extra = FOREVER, 0
    if jobs.size[queue[0]] <= free(cluster):
        start(cluster, jobs, queue[0])
    else:
        shadow_time, extra = shadow(cluster, jobs, queue[0])
        if memory.basic[0]:
            extra = 0  # which makes Algorithm 3 Algorithm 1 (section 3.3.3)
    start_best(cluster, jobs, memory, examine(cluster, jobs, memory, shadow_time, extra), extra)


@kernel
def start_best(cluster, jobs, memory, rows, extra):
    """Start the best set of the first `rows` candidates."""
    if memory.size[:rows].sum() <= free(cluster) and memory.ssize[:rows].sum() <= extra:
        for job in memory.candidate[:rows]:  # no other set uses as many processors
            start(cluster, jobs, job)
        return
    j = free(cluster)
    i = fill(memory, rows, j, extra)
    while memory.need[j] > extra:  # util of the last cell
        j -= 1
    while j > 0:  # Algorithms 2, 4 and 5
        i -= 1
        markers = memory.markers[i, j]
        if markers == SELECTED or (markers & SELECTED and memory.selected_first[0]):
            start(cluster, jobs, memory.candidate[i])
            j -= memory.size[i]


@kernel
def examine(cluster, jobs, memory, shadow_time, extra):
    """Note the jobs that may be selected, with their shadow sizes; return their number."""
    rows, examined = 0, 0
    for job in waiting(cluster)[1:]:
        size = jobs.size[job]
        if size > free(cluster):
            continue
        if examined == memory.lookahead[0]:
            break
        ssize = 0 if now(cluster) + jobs.estimate[job] <= shadow_time else size
        is_selectable = ssize <= extra
        examined += is_selectable or memory.counts_fitting[0]
        if not is_selectable:
            continue
        memory.candidate[rows] = job
        memory.size[rows] = size
        memory.ssize[rows] = ssize
        memory.gain[rows] = gain_of(cluster, jobs, memory.merit[0], job)
        rows += 1
    return rows


@kernel
def gain_of(cluster, jobs, merit, job):
    """Return what a job adds to num_jobs (Algorithm 6) or tot_slowdown (Algorithm 7)."""
    if merit == TOT_SLOWDOWN:
        return (now(cluster) - jobs.submit[job] + jobs.estimate[job]) / jobs.estimate[job]
    return 1.0 if merit == NUM_JOBS else 0.0


@kernel
def fill(memory, rows, n, extra):
    """Algorithms 1, 3, 6 and 7: fill the table row by row; return the number of rows filled.

    Without a merit all sets have the same, which makes Algorithm 6 Algorithm 3.
    """
    need, merit = memory.need, memory.total
    need[: n + 1] = IMPOSSIBLE
    need[0], merit[0] = 0, 0.0
    # Once all processors can be used without extra nodes, each further row bypasses that cell.
    may_stop = memory.merit[0] == NO_MERIT and not memory.selected_first[0]
    reach = 0  # the most processors that the jobs of the rows so far use
    for i in range(rows):
        if may_stop and need[n] == 0:
            return i
        size, ssize, gain = memory.size[i], memory.ssize[i], memory.gain[i]
        markers = memory.markers[i]
        reach = min(reach + size, n)
        markers[: reach + 1] = BYPASSED
        for u in range(reach, size - 1, -1):  # downwards: need[u - size] is of the row above
            sutil = need[u - size] + ssize  # sutil' of Algorithm 3; util' is u
            if sutil > extra or sutil > need[u]:
                continue
            total = merit[u - size] + gain
            if sutil < need[u] or total > merit[u]:
                need[u], merit[u], markers[u] = sutil, total, SELECTED
            elif total == merit[u]:
                markers[u] = SELECTED | BYPASSED
    return rows


@kernel
def run(cluster, jobs, truth, memory):
    """The event loop with this policy in it."""
    while advance(cluster, jobs, truth):
        decide(cluster, jobs, memory)


def new_memory(
    jobs: Jobs,
    processors: int,
    generator: np.random.Generator | None,
    *,
    lookahead: int | None = LOOKAHEAD,
    basic: bool = False,
    selected_first: bool = False,
    merit: str = "none",
    counts: str = "selectable",
) -> Memory:
    """Return room for as many candidates as the lookahead lets be examined.

    Raises PolicyError if the table would be too large.
    """
    rows = len(jobs.submit) if lookahead is None else min(lookahead, len(jobs.submit))
    if rows * (processors + 1) > LARGEST_TABLE:
        most = LARGEST_TABLE // (processors + 1)
        raise PolicyError(
            f"los: a table of {rows:,} jobs by {processors + 1:,} numbers of processors takes more "
            f"than {LARGEST_TABLE >> 30} GiB; on this machine lookahead can be at most {most:,}"
        )
    return Memory(
        lookahead=np.array([rows]),
        counts_fitting=np.array([counts == "fitting"]),
        basic=np.array([basic], dtype=np.bool_),
        selected_first=np.array([selected_first], dtype=np.bool_),
        merit=np.array([MERITS.index(merit)]),
        candidate=np.empty(rows, dtype=np.int64),
        size=np.empty(rows, dtype=np.int64),
        ssize=np.empty(rows, dtype=np.int64),
        gain=np.empty(rows),
        need=np.empty(processors + 1, dtype=np.int64),
        total=np.empty(processors + 1),
        markers=np.empty((rows, processors + 1), dtype=np.uint8),
    )


def los(
    basic: bool = False,
    selected_first: bool = False,
    merit: str | None = "none",
    lookahead: int | None = LOOKAHEAD,
    counts: str = "selectable",
) -> Policy:
    """Make a policy of LOS, by the full algorithm of the thesis unless you choose otherwise.

    Args:
        basic: If true, start only jobs that end by the shadow time (the basic algorithm, section
            3.2).
        selected_first: Of sets that are as good, prefer jobs nearer the tail of the queue
            (Algorithm 5); if false, nearer the head (bypassed first, Algorithm 4).
        merit: Of sets that use as many processors and extra nodes, prefer the one with the most
            "jobs" (maxjobs, Algorithm 6), or with the greatest total "slowdown" (max-slowdown,
            Algorithm 7).
        lookahead: Number of jobs to examine in a pass; None for the whole queue.
        counts: Which jobs count: "selectable", those that may start beside the head's reservation;
            or "fitting", all that fit on the free processors.

    Raises:
        PolicyError: If an option is out of its range.
    """
    merit = merit or "none"  # which an expression reads as None
    check_choice("basic", basic, (True, False), error=PolicyError)
    check_choice("selected_first", selected_first, (True, False), error=PolicyError)
    check_choice("merit", merit, MERITS, error=PolicyError)
    check_choice("counts", counts, COUNTS, error=PolicyError)
    if lookahead is not None:
        check_integer("lookahead", lookahead, 1, error=PolicyError)
    options: dict[str, Any] = {
        "basic": basic, "selected_first": selected_first, "merit": merit, "lookahead": lookahead,
        "counts": counts,
    }  # fmt: skip
    plain = merit == "none"
    construct = {"none": 1 if basic else 3, "jobs": 6, "slowdown": 7}[merit]
    trace = 5 if selected_first else 2 if basic and plain else 4
    return Policy(
        name=expression(los, options),
        decide=decide,
        run=run,
        memory=partial(new_memory, **options),
        summary="packs the free processors as full as the head's reservation allows",
        source=f"Shmueli 2003, Algorithms {construct} and {trace}",
    )


LOS = los()
LOS_BASIC = replace(
    los(basic=True), name="los-basic", summary="los with jobs only that end by the shadow time"
)
LOS_SELECTED_FIRST = replace(
    los(selected_first=True),
    name="los-selected-first",
    summary="los that prefers, of sets as good, jobs nearer the tail of the queue",
)
LOS_MAXJOBS = replace(
    los(merit="jobs"),
    name="los-maxjobs",
    summary="los that prefers, of sets as good, the one with most jobs",
)
LOS_MAX_SLOWDOWN = replace(
    los(merit="slowdown"),
    name="los-max-slowdown",
    summary="los that prefers, of sets as good, the one with the greatest total slowdown",
)
POLICIES = (LOS, LOS_BASIC, LOS_SELECTED_FIRST, LOS_MAXJOBS, LOS_MAX_SLOWDOWN)
FAMILIES = (los,)
