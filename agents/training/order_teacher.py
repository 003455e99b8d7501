"""OrderTeacher: EASY in the order of an expression, as far as the environment shows it.

A policy with a memory of ended jobs must see every pass. This teacher needs no memory: it reads the
history of users that the environment keeps for its observations.
"""

from typing import Any

import numpy as np

import bfenv.knowledge.expression_program as xp
from bfenv.core.cluster import now
from bfenv.core.kernel import kernel
from bfenv.envs.batch_state import cluster_of, history_of, jobs_of
from bfenv.envs.legal_actions import longest_allowed_wait
from bfenv.envs.vector import BackfillVectorEnv
from bfenv.knowledge.user_history import count_jobs

UNKNOWN = -1  # a version that no column has


class OrderTeacher:
    """Takes, of the legal jobs, the one with the smallest value.

    The value is that of an expression, less `weight` x max(0, age - `age`), where the age of a job
    is its wait over the age guard's limit. With `reservations="chosen"` that is
    EASY in this order.

    * `order`: an expression in the quantities of `bfenv.knowledge.user_history`.
    * `age`, `weight`: from which age on jobs come the earlier the older they are, and how much.
    * `envs`: a vector of environments.

    Raises PolicyError if the expression cannot be read; the message points at the column.
    """

    def __init__(self, order: str, age: float, weight: float, envs: BackfillVectorEnv) -> None:
        self._program = xp.parse_expression(order, "warm_start")
        self._batch, self._age, self._weight = envs.batch, age, weight
        longest = max(map(len, envs.batch.source.traces))
        self._columns = xp.new_columns(self._program, longest)

    def act(self, mask: np.ndarray) -> np.ndarray:
        """Return an action in every environment, (N,) int64, given the (N, window + 1) mask."""
        batch = self._batch
        actions = np.empty(len(mask), dtype=np.int64)
        choose(
            batch._state,
            batch._tables,
            batch.rules,
            self._program,
            self._columns,
            self._age,
            self._weight,
            mask,
            actions,
        )
        return actions


@kernel
def choose(
    state: Any,
    tables: Any,
    rules: Any,
    program: Any,
    columns: Any,
    age: float,
    weight: float,
    mask: np.ndarray,
    actions: np.ndarray,
) -> None:
    """Write the first legal job in the order for each environment, or the pass if there is none."""
    for i in range(len(actions)):
        cluster, jobs = cluster_of(state, i), jobs_of(state, tables, i)
        history, slots = history_of(state, tables, i), state.slots[i]
        window = len(slots)
        count_jobs(history, cluster, jobs, program.counts[0], program.counts[1])
        limit = longest_allowed_wait(state, rules, i)
        best, actions[i] = np.inf, window
        first = 0
        while first < window and slots[first] >= 0:
            last = first
            while last < min(window, first + xp.CHUNK) and slots[last] >= 0:
                last += 1
            part = slots[first:last]
            for job in part:  # what is known of it is that of another environment
                columns.version[job, 0] = columns.version[job, 1] = UNKNOWN
            xp.write_waits(program, cluster, jobs, part)
            xp.evaluate(program, columns, history, cluster, jobs, part)
            for slot in range(first, last):
                waited = now(cluster) - jobs.submit[slots[slot]]
                value = program.stack[0, slot - first] - weight * max(0.0, waited / limit - age)
                if mask[i, slot] and (actions[i] == window or value < best):
                    best, actions[i] = value, slot
            first = last
