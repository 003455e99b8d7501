"""The kernel's table of LOS, read as the three-dimensional matrix M' of the thesis."""

from typing import NamedTuple

import numpy as np

from bfenv.baselines.los import BYPASSED, IMPOSSIBLE, MERITS, SELECTED, fill, new_memory
from bfenv.core.jobs import Jobs


class Table(NamedTuple):
    """M' of Shmueli 2003, section 3.3.2, each (|WQ| + 1, n + 1, extra + 1), indexed [i, j, k]."""

    util: np.ndarray  # int64 processors
    sutil: np.ndarray  # int64 extra nodes
    selected: np.ndarray  # bool
    bypassed: np.ndarray  # bool


class Rows(NamedTuple):
    """What the kernel keeps, each (|WQ| + 1, n + 1), indexed [i, u]."""

    need: np.ndarray  # int64 extra nodes; -1 where no set uses exactly u processors
    selected: np.ndarray  # bool
    bypassed: np.ndarray  # bool


def rows_of(size, ssize, n, extra, gain=None):
    """Fill the kernel's rows; `gain` is what each job adds to the merit."""
    count = len(size)
    merit = MERITS[0] if gain is None else MERITS[1]
    jobs = Jobs(*[np.empty(count)] * len(Jobs._fields))
    memory = new_memory(jobs, n, None, lookahead=count, selected_first=True, merit=merit)
    memory.size[:], memory.ssize[:], memory.gain[:] = size, ssize, 0 if gain is None else gain
    need = np.full((count + 1, n + 1), -1)
    need[0, 0] = 0
    markers = np.zeros((count + 1, n + 1), dtype=np.uint8)
    for i in range(1, count + 1):
        assert fill(memory, i, n, extra) == i
        need[i] = np.where(memory.need[: n + 1] == IMPOSSIBLE, -1, memory.need[: n + 1])
        markers[i] = np.where(need[i] >= 0, memory.markers[i - 1, : n + 1], 0)
    return Rows(need, (markers & SELECTED) > 0, (markers & BYPASSED) > 0)


def table(size, ssize, n, extra, gain=None):
    """Read every cell of M' off the kernel's rows."""
    rows = rows_of(size, ssize, n, extra, gain)
    shape = len(size) + 1, n + 1, extra + 1
    util, sutil = np.zeros((2, *shape), dtype=np.int64)
    selected, bypassed = np.zeros((2, *shape), dtype=bool)
    for i in range(1, shape[0]):
        for j in range(1, n + 1):
            for k in range(extra + 1):
                need = rows.need[i, : j + 1]
                u = np.flatnonzero((need >= 0) & (need <= k)).max()
                util[i, j, k], sutil[i, j, k] = u, need[u]
                selected[i, j, k], bypassed[i, j, k] = rows.selected[i, u], rows.bypassed[i, u]
    return Table(util, sutil, selected, bypassed)
