"""LOS: the set of waiting jobs that leaves the fewest processors idle.

Shmueli 2003, chapter 3. In every pass the head of the queue starts if it fits; if not, it has its
shadow time and extra nodes. Among the jobs behind it, dynamic programming then chooses a set that
uses the most free processors and, of those that do, needs the fewest extra nodes.

Which reading of the thesis is followed where it leaves one to choose:

* A head that starts hands nothing on: shadow time infinite, extra nodes 0 (sections 3.2.1, 3.3.1),
  so that the job behind it becomes the head, with a reservation, only in the next pass.
* The lookahead counts, behind the head, the jobs that fit on the free processors; those too large
  are left out first (section 3.5.1: of five jobs, 3 examined are the second to the fourth). It does
  count jobs that only the shadow time excludes.
* Maxjobs and max-slowdown trace back with the bypassed marker first (Algorithm 4).
* The slowdowns of Algorithm 7 are floating-point numbers, added up from the head to the tail.

The table. The thesis fills a cell (util, sutil, markers) for every row i, free capacity j and
shadow free capacity k. Here row i has, for every number u of processors, need(u): the fewest extra
nodes with which some of the first i jobs use exactly u. A cell is read off it:

    util(i, j, k) = the largest u <= j with need(u) <= k,    sutil(i, j, k) = need(util)

for both are the largest and the least over all sets of size <= j and shadow size <= k. As the cell
(i-1, j-size, k-ssize) is read off the same way, job i and that cell give (util, sutil) just when
need(util - size) + ssize of the row above is sutil, and bypassing it does just when need(util) of
the row above is sutil: the markers depend on i and util alone, and so does the merit of Algorithms
6 and 7, which is carried by the same steps. Two dimensions thus hold all three, ties included.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from bfenv.core.cluster import advance, free, now, start, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.policy import Policy
from bfenv.core.profile import shadow

LOOKAHEAD = 50  # jobs, section 4.2
LARGEST_TABLE = 2**31  # bytes
SELECTED, BYPASSED = 1, 2  # the trace markers
IMPOSSIBLE = FOREVER // 2  # extra nodes needed for a number of processors no set uses


class Memory(NamedTuple):
    """The options, and room for the table of one pass."""

    lookahead: np.ndarray  # (1,) int64 jobs
    on_extra: np.ndarray  # (1,) int64; 0: no job may run past the shadow time (Algorithm 1)
    selected_first: np.ndarray  # (1,) int64; 1: trace back by Algorithm 5, else by 4
    worth: np.ndarray  # (2,) float64: merit of a job, and merit per unit of its slowdown
    candidate: np.ndarray  # (c,) int64 jobs
    size: np.ndarray  # (c,) int64 processors, of the candidates
    ssize: np.ndarray  # (c,) int64 processors at the shadow time, of the candidates
    gain: np.ndarray  # (c,) float64 merit, of the candidates
    need: np.ndarray  # (P + 1,) int64 extra nodes, of the row filled last
    merit: np.ndarray  # (P + 1,) float64 num_jobs or tot_slowdown, of the row filled last
    marks: np.ndarray  # (c, P + 1) uint8 markers, of every row


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
        extra *= memory.on_extra[0]  # with none, Algorithm 3 is Algorithm 1 (section 3.3.3)
    rows = examine(cluster, jobs, memory, shadow_time, extra)
    if memory.size[:rows].sum() <= free(cluster) and memory.ssize[:rows].sum() <= extra:
        for job in memory.candidate[:rows]:  # no other set uses as many processors
            start(cluster, jobs, job)
        return
    capacity = free(cluster)
    rows = fill(memory, rows, capacity, extra)
    while memory.need[capacity] > extra:
        capacity -= 1
    while capacity > 0:  # Algorithms 2, 4 and 5, with util for j
        rows -= 1
        marks = memory.marks[rows, capacity]
        if marks == SELECTED or (marks & SELECTED and memory.selected_first[0]):
            start(cluster, jobs, memory.candidate[rows])
            capacity -= memory.size[rows]


@kernel
def examine(cluster, jobs, memory, shadow_time, extra):
    """Note the jobs that may be selected; return their number."""
    rows, examined = 0, 0
    for job in waiting(cluster)[1:]:
        size = jobs.size[job]
        if size > free(cluster):
            continue
        if examined == memory.lookahead[0]:
            break
        examined += 1
        ssize = 0 if now(cluster) + jobs.estimate[job] <= shadow_time else size
        if ssize > extra:
            continue
        slowdown = (now(cluster) - jobs.submit[job] + jobs.estimate[job]) / jobs.estimate[job]
        memory.candidate[rows] = job
        memory.size[rows] = size
        memory.ssize[rows] = ssize
        memory.gain[rows] = memory.worth[0] + memory.worth[1] * slowdown
        rows += 1
    return rows


@kernel
def fill(memory, rows, capacity, extra):
    """Algorithms 1, 3, 6 and 7: fill the table row by row; return the number of rows filled.

    With no merit all sets are of equal merit, which makes Algorithm 6 Algorithm 3.
    """
    need, merit = memory.need, memory.merit
    need[: capacity + 1] = IMPOSSIBLE
    need[0], merit[0] = 0, 0.0
    # Once all processors can be used without extra nodes, each further row bypasses that cell.
    may_stop = memory.worth[0] == 0 and memory.worth[1] == 0 and memory.selected_first[0] == 0
    reach = 0
    for i in range(rows):
        if may_stop and need[capacity] == 0:
            return i
        size, ssize, gain, marks = memory.size[i], memory.ssize[i], memory.gain[i], memory.marks[i]
        reach = min(reach + size, capacity)
        marks[: reach + 1] = BYPASSED
        for u in range(reach, size - 1, -1):  # downwards: need[u - size] is of the row above
            sutil = need[u - size] + ssize
            if sutil > extra or sutil > need[u]:
                continue
            total = merit[u - size] + gain
            if sutil < need[u] or total > merit[u]:
                need[u], merit[u], marks[u] = sutil, total, SELECTED
            elif total == merit[u]:
                marks[u] = SELECTED | BYPASSED
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
    lookahead: int | None = LOOKAHEAD,
    on_extra: bool = True,
    selected_first: bool = False,
    worth: tuple[float, float] = (0.0, 0.0),
) -> Memory:
    """Room for as many candidates as the lookahead lets be examined.

    Raises PolicyError when the table would be too large.
    """
    rows = len(jobs.submit) if lookahead is None else min(lookahead, len(jobs.submit))
    if rows * (processors + 1) > LARGEST_TABLE:
        most = LARGEST_TABLE // (processors + 1)
        raise PolicyError(
            f"los: a table of {rows} jobs by {processors + 1} numbers of processors takes more "
            f"than {LARGEST_TABLE >> 30} GiB; on this machine lookahead can be at most {most}"
        )
    return Memory(
        np.array([rows]),
        np.array([int(on_extra)]),
        np.array([int(selected_first)]),
        np.array(worth),
        *(np.empty(rows, dtype=np.int64) for _ in range(3)),
        np.empty(rows),
        np.empty(processors + 1, dtype=np.int64),
        np.empty(processors + 1),
        np.empty((rows, processors + 1), dtype=np.uint8),
    )


class Table(NamedTuple):
    """The matrix M' of section 3.3.2, each (|WQ| + 1, n + 1, extra + 1), indexed [i, j, k]."""

    util: np.ndarray  # int64 processors
    sutil: np.ndarray  # int64 extra nodes
    selected: np.ndarray  # bool
    bypassed: np.ndarray  # bool


def table(
    size: Sequence[int],
    ssize: Sequence[int],
    free: int,
    extra: int,
    gain: Sequence[float] | None = None,
) -> Table:
    """The thesis' own table for jobs of such sizes and shadow sizes, as the kernel sees it.

    `gain`: what each job adds to the merit (Algorithms 6 and 7). Its plane k = 0 is the matrix M
    of section 3.2.2. Nothing but study and tests needs it.
    """
    rows = len(size)
    memory = new_memory(Jobs(*[np.empty(rows)] * 6), free, None, rows, selected_first=True)
    memory.size[:], memory.ssize[:], memory.gain[:] = size, ssize, 0.0 if gain is None else gain
    shape = rows + 1, free + 1, extra + 1
    util, sutil = np.zeros((2, *shape), dtype=np.int64)
    marks = np.zeros(shape, dtype=np.uint8)
    for i in range(1, rows + 1):
        fill(memory, i, free, extra)
        for j in range(1, free + 1):
            for k in range(extra + 1):
                u = np.flatnonzero(memory.need[: j + 1] <= k).max()
                util[i, j, k], sutil[i, j, k] = u, memory.need[u]
                marks[i, j, k] = memory.marks[i - 1, u]
    return Table(util, sutil, (marks & SELECTED) > 0, (marks & BYPASSED) > 0)


class Variant(NamedTuple):
    """One of the thesis' algorithms: its name as a policy, and how it differs from the full one."""

    name: str
    differs: dict
    summary: str
    source: str


VARIANTS = {
    "full": Variant(
        "los",
        {},
        "packs the free processors as full as the head's reservation allows",
        "Shmueli 2003, Algorithms 3 and 4",
    ),
    "basic": Variant(
        "los-basic",
        {"on_extra": False},
        "los with jobs only that end by the shadow time",
        "Shmueli 2003, Algorithms 1 and 2",
    ),
    "selected-first": Variant(
        "los-selected-first",
        {"selected_first": True},
        "los that prefers, of sets as good, jobs nearer the tail of the queue",
        "Shmueli 2003, Algorithms 3 and 5",
    ),
    "maxjobs": Variant(
        "los-maxjobs",
        {"worth": (1.0, 0.0)},
        "los that prefers, of sets as good, the one with most jobs",
        "Shmueli 2003, Algorithms 6 and 4",
    ),
    "max-slowdown": Variant(
        "los-max-slowdown",
        {"worth": (0.0, 1.0)},
        "los that prefers, of sets as good, the one with the greatest total slowdown",
        "Shmueli 2003, Algorithms 7 and 4",
    ),
}


def los(variant: str = "full", lookahead: int | None = LOOKAHEAD) -> Policy:
    """LOS by one of the thesis' algorithms, examining `lookahead` jobs (None: the whole queue).

    Raises PolicyError on an unknown variant or a lookahead that is no positive number.
    """
    if variant not in VARIANTS:
        raise PolicyError(f"los: variant is one of {', '.join(VARIANTS)}, not {variant!r}")
    if lookahead is not None and (type(lookahead) is not int or lookahead < 1):
        raise PolicyError(f"los: lookahead is a positive integer or None, not {lookahead!r}")
    name, differs, summary, source = VARIANTS[variant]
    if lookahead != LOOKAHEAD:
        only = "" if variant == "full" else f"variant={variant}, "
        name = f"los({only}lookahead={lookahead})"
    return Policy(
        name=name,
        decide=decide,
        run=run,
        memory=partial(new_memory, lookahead=lookahead, **differs),
        summary=summary,
        source=source,
    )


LOS, LOS_BASIC, LOS_SELECTED_FIRST, LOS_MAXJOBS, LOS_MAX_SLOWDOWN = map(los, VARIANTS)
