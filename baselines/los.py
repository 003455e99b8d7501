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
* The further merits of section 3.4, without an algorithm of their own, take the place of the
  slowdown in Algorithm 7; a response time is the wait so far plus the estimate.

Chapter 5 names two studies to come, and does not spell them out. Here,

* with k reservations, the first k waiting jobs start or have anchor points, one after another. Of
  the jobs behind them, a set may start if it delays none of these. All begin now, so the jobs that
  still run at some time are those with the longer estimates: with a row for each job, the longest
  first, a set is allowed if in each of its rows the processors used so far are free for as long as
  that row's job runs. So one number per row, `most`, takes the place of the extra nodes. Those of
  the first reservation remain what the sets that use as many processors are compared by.
* with a threshold, no further row is filled once some set uses that share of the free processors.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bfenv.baselines.policy_names import expression
from bfenv.baselines.queue_order import (
    QueueOrder,
    find_order_or_expression,
    learn_ends,
    must_see_all,
    order_unless_none,
    sort,
)
from bfenv.core.arguments import check_choice, check_integer, check_number
from bfenv.core.cluster import free, now, shadow, start, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import Profile, least_free, new_profile, place, rebuild
from bfenv.knowledge.priorities import FCFS, Order, sort_by_merging

LOOKAHEAD = 50  # jobs, section 4.2
LARGEST_TABLE = 2**31  # bytes
SELECTED, BYPASSED = 1, 2  # the trace markers
IMPOSSIBLE = FOREVER // 2  # extra nodes needed for a number of processors that no set uses
MERITS = ("none", "jobs", "slowdown", "response")
AIMS = {"max": 1.0, "min": -1.0}
COUNTS = ("selectable", "fitting")
# Of a set: Algorithms 3, 6 (maxjobs) and 7 (max-slowdown), and section 3.4
NO_MERIT, NUM_JOBS, TOT_SLOWDOWN, TOT_RESPONSE = range(4)


class Memory(NamedTuple):
    """The options, and room for the table of one pass."""

    lookahead: np.ndarray  # (1,) int64 jobs
    counts_fitting: np.ndarray  # (1,) bool: the lookahead counts jobs that delay the head, too
    basic: np.ndarray  # (1,) bool: no job may run past the shadow time
    selected_first: np.ndarray  # (1,) bool: trace back by Algorithm 5, else by 4
    merit: np.ndarray  # (1,) int64: NO_MERIT, NUM_JOBS, TOT_SLOWDOWN or TOT_RESPONSE
    aim: np.ndarray  # (1,) float64: 1 for the greatest merit, -1 for the least
    candidate: np.ndarray  # (2c,) int64 jobs, and room to sort them in
    size: np.ndarray  # (c,) int64 processors, of the candidates
    ssize: np.ndarray  # (c,) int64 processors at the shadow time, of the candidates
    gain: np.ndarray  # (c,) float64: what each candidate adds to the merit of a set
    need: np.ndarray  # (P + 1,) int64 extra nodes, of the row filled last
    total: np.ndarray  # (P + 1,) float64 merit of the set that has this need
    markers: np.ndarray  # (c, P + 1) uint8, of every row
    order: QueueOrder | None  # of the queue; None for the order of arrival
    threshold: np.ndarray | None  # (1,) float64 share of the free processors; None for no threshold
    profile: Profile | None  # of what runs and the reservations; None for one reservation
    reservations: np.ndarray  # (1,) int64 jobs
    most: np.ndarray | None  # (c,) int64 processors free while the candidate runs; None for one
    # reservation
    shortness: np.ndarray | None  # (2c,) float64: minus the estimates; None for one reservation


@kernel
def decide(cluster, jobs, memory):
    """Start the head, or keep its reservation; start the best set of the jobs behind it."""
    queue = waiting(cluster)
    if memory.order is not None:
        learn_ends(memory.order, cluster, jobs)
    if len(queue) == 0 or free(cluster) == 0:
        return
    if memory.order is not None:
        count = sort(memory.order, cluster, jobs)
        queue = memory.order.ranking.line[:count]
    shadow_time, extra = FOREVER, 0
    if memory.profile is not None:
        shadow_time = reserve_first(cluster, jobs, memory, queue)
        extra = free(cluster)  # no limit: what may start is known from the profile
    elif jobs.size[queue[0]] <= free(cluster):
        start(cluster, jobs, queue[0])
    else:
        shadow_time, extra = shadow(cluster, jobs, queue[0])
    if memory.basic[0]:
        extra = 0  # which makes Algorithm 3 Algorithm 1 (section 3.3.3)
    behind = queue[memory.reservations[0] :]
    rows = examine(cluster, jobs, memory, behind, shadow_time, extra)
    start_best(cluster, jobs, memory, rows, extra)


@kernel
def reserve_first(cluster, jobs, memory, queue):
    """Start the first jobs of the queue, or reserve their anchor points; return the first one (s).

    Chapter 5: reservations for more than a single job.
    """
    shadow_time = FOREVER
    rebuild(memory.profile, cluster, jobs)
    for job in queue[: memory.reservations[0]]:
        anchor = place(memory.profile, jobs.size[job], jobs.estimate[job], now(cluster))
        if anchor == now(cluster):
            start(cluster, jobs, job)
        else:
            shadow_time = min(shadow_time, anchor)
    return shadow_time


@kernel
def start_best(cluster, jobs, memory, rows, extra):
    """Start the best set of the first `rows` candidates."""
    if memory.most is None and memory.threshold is None:
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
def examine(cluster, jobs, memory, queue, shadow_time, extra):
    """Note the jobs of a queue that may be selected, with their shadow sizes; return their number.

    `queue` lacks the jobs that have reservations.
    """
    rows, examined = 0, 0
    for job in queue:
        size = jobs.size[job]
        if size > free(cluster):
            continue
        if examined == memory.lookahead[0]:
            break
        is_selectable = shadow_size(cluster, jobs, job, shadow_time) <= extra
        if memory.profile is not None:
            room = least_free(memory.profile, jobs.estimate[job], now(cluster))
            is_selectable = is_selectable and size <= room
        examined += is_selectable or memory.counts_fitting[0]
        if is_selectable:
            memory.candidate[rows] = job
            rows += 1
    if memory.shortness is not None:  # the longest first
        for i in range(rows):
            memory.shortness[i] = -jobs.estimate[memory.candidate[i]]
        sort_by_merging(memory.shortness, memory.candidate, rows)
    for i in range(rows):
        job = memory.candidate[i]
        memory.size[i] = jobs.size[job]
        memory.ssize[i] = shadow_size(cluster, jobs, job, shadow_time)
        memory.gain[i] = memory.aim[0] * gain_of(cluster, jobs, memory.merit[0], job)
        if memory.profile is not None and memory.most is not None:
            memory.most[i] = least_free(memory.profile, jobs.estimate[job], now(cluster))
    return rows


@kernel
def shadow_size(cluster, jobs, job, shadow_time):
    """Return the processors that a job which starts now uses at the shadow time."""
    return 0 if now(cluster) + jobs.estimate[job] <= shadow_time else jobs.size[job]


@kernel
def gain_of(cluster, jobs, merit, job):
    """Return what a job adds to num_jobs (Algorithm 6), tot_slowdown (7) or the response (3.4)."""
    response = now(cluster) - jobs.submit[job] + jobs.estimate[job]
    if merit == TOT_SLOWDOWN:
        return response / jobs.estimate[job]
    if merit == TOT_RESPONSE:
        return float(response)
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
        largest = reach
        if memory.most is not None:
            largest = min(reach, memory.most[i])
        for u in range(largest, size - 1, -1):  # downwards: need[u - size] is of the row above
            sutil = need[u - size] + ssize  # sutil' of Algorithm 3; util' is u
            if sutil > extra or sutil > need[u]:
                continue
            total = merit[u - size] + gain
            if sutil < need[u] or total > merit[u]:
                need[u], merit[u], markers[u] = sutil, total, SELECTED
            elif total == merit[u]:
                markers[u] = SELECTED | BYPASSED
        if memory.threshold is not None:
            if is_reached(need, n, extra, memory.threshold[0]):
                return i + 1
    return rows


@kernel
def is_reached(need, n, extra, threshold):
    """Return whether some set so far uses a share of the n free processors (chapter 5)."""
    for u in range(n, -1, -1):
        if u < threshold * n:
            return False
        if need[u] <= extra:
            return True
    return False


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
    aim: str = "max",
    reservations: int = 1,
    threshold: float | None = None,
    order: Order | None = None,
) -> Memory:
    """Return room for as many candidates as the lookahead lets be examined.

    Raises PolicyError if the table would be too large.
    """
    count = len(jobs.submit)
    rows = count if lookahead is None else min(lookahead, count)
    if rows * (processors + 1) > LARGEST_TABLE:
        most = LARGEST_TABLE // (processors + 1)
        raise PolicyError(
            f"los: a table of {rows:,} jobs by {processors + 1:,} numbers of processors takes more "
            f"than {LARGEST_TABLE >> 30} GiB; on this machine lookahead can be at most {most:,}"
        )
    reservations = min(reservations, count)
    plans = reservations > 1
    return Memory(
        lookahead=np.array([rows]),
        counts_fitting=np.array([counts == "fitting"]),
        basic=np.array([basic], dtype=np.bool_),
        selected_first=np.array([selected_first], dtype=np.bool_),
        merit=np.array([MERITS.index(merit)]),
        aim=np.array([AIMS[aim]]),
        candidate=np.empty(2 * rows, dtype=np.int64),
        size=np.empty(rows, dtype=np.int64),
        ssize=np.empty(rows, dtype=np.int64),
        gain=np.empty(rows),
        need=np.empty(processors + 1, dtype=np.int64),
        total=np.empty(processors + 1),
        markers=np.empty((rows, processors + 1), dtype=np.uint8),
        order=order_unless_none(order, jobs, generator),
        threshold=None if threshold is None else np.array([threshold], dtype=np.float64),
        profile=new_profile(min(count, processors), reservations) if plans else None,
        reservations=np.array([reservations]),
        most=np.empty(rows, dtype=np.int64) if plans else None,
        shortness=np.empty(2 * rows) if plans else None,
    )


def los(
    basic: bool = False,
    selected_first: bool = False,
    merit: str | None = "none",
    lookahead: int | None = LOOKAHEAD,
    counts: str = "selectable",
    aim: str = "max",
    reservations: int = 1,
    threshold: float | None = None,
    order: str = "fcfs",
) -> Policy:
    """Make a policy of LOS, by the full algorithm of the thesis unless you choose otherwise.

    Args:
        basic: If true, start only jobs that end by the shadow time (the basic algorithm, section
            3.2).
        selected_first: Of sets that are as good, prefer jobs nearer the tail of the queue
            (Algorithm 5); if false, nearer the head (bypassed first, Algorithm 4).
        merit: Of sets that use as many processors and extra nodes, prefer the one with the most
            "jobs" (maxjobs, Algorithm 6), with the greatest total "slowdown" (max-slowdown,
            Algorithm 7), or with the greatest total "response" time (section 3.4).
        lookahead: Number of jobs to examine in a pass; None for the whole queue.
        counts: Which jobs count: "selectable", those that may start beside the reservations; or
            "fitting", all that fit on the free processors.
        aim: "max" prefers the greatest merit, "min" the least (section 3.4).
        reservations: Number of jobs, from the head on, that no set may delay (chapter 5). With more
            than one, `selected_first` prefers jobs with shorter estimates, and else longer ones.
        threshold: Share of the free processors, above 0 and up to 1. Once a set of the first jobs
            uses that share, no further job is looked at (chapter 5). None for no threshold.
        order: The order of the queue: a name of `bfenv.knowledge.priorities.ORDERS`, or an
            expression as `easy` takes it.

    Raises:
        PolicyError: If an option is out of its range.
    """
    merit = merit or "none"  # which an expression reads as None
    options: dict[str, Any] = dict(locals())
    for name in ("basic", "selected_first"):
        check_choice(name, options[name], (True, False), error=PolicyError)
    for name, choices in (("merit", MERITS), ("counts", COUNTS), ("aim", AIMS)):
        check_choice(name, options[name], choices, error=PolicyError)
    if lookahead is not None:
        check_integer("lookahead", lookahead, 1, error=PolicyError)
    check_integer("reservations", reservations, 1, error=PolicyError)
    if threshold is not None:
        check_number("threshold", threshold, 0, 1, positive=True, error=PolicyError)
    if aim == "min" and merit == "none":
        raise PolicyError("aim needs a merit: merit=jobs, merit=slowdown or merit=response")
    queue_order = find_order_or_expression(order)
    by_arrival = queue_order.code == FCFS
    return Policy(
        name=expression(los, options),
        decide=decide,
        run=run,
        memory=partial(new_memory, **options | {"order": None if by_arrival else queue_order}),
        summary="packs the free processors as full as the head's reservation allows",
        source="Shmueli 2003, " + _place(options),
        stochastic=queue_order.stochastic,
        stateful=must_see_all(queue_order),
    )


def _place(options: dict[str, Any]) -> str:
    """Return where the thesis has what these options choose."""
    if options["reservations"] > 1 or options["threshold"] is not None:
        return "chapter 5"
    if options["merit"] == "response" or options["aim"] == "min":
        return "section 3.4"
    plain = options["merit"] == "none"
    construct = {"none": 1 if options["basic"] else 3, "jobs": 6, "slowdown": 7}[options["merit"]]
    trace = 5 if options["selected_first"] else 2 if options["basic"] and plain else 4
    return f"Algorithms {construct} and {trace}"


LOS = los()
LOS_BASIC = replace(
    los(basic=True), name="los-basic", summary="los, but only with jobs that end by the shadow time"
)
LOS_SELECTED_FIRST = replace(
    los(selected_first=True),
    name="los-selected-first",
    summary="los; of equally full sets, it prefers the one nearest the tail of the queue",
)
LOS_MAXJOBS = replace(
    los(merit="jobs"),
    name="los-maxjobs",
    summary="los; of equally full sets, it prefers the one with most jobs",
)
LOS_MAX_SLOWDOWN = replace(
    los(merit="slowdown"),
    name="los-max-slowdown",
    summary="los; of equally full sets, it prefers the one with the greatest total slowdown",
)
POLICIES = (LOS, LOS_BASIC, LOS_SELECTED_FIRST, LOS_MAXJOBS, LOS_MAX_SLOWDOWN)
FAMILIES = (los,)
