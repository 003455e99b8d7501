"""Whether an agent has seen jobs in its training."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bfenv.agents.models.cards import Card
from bfenv.agents.search.cases import jobs_hash
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.workloads.load import load_whole


def check_unseen(card: Card, source: str, trace: Trace) -> None:
    """Check that an agent was not trained on any job of a trace.

    A job was in the training if it comes from a workload of the recorded hash and is in the
    recorded range; or if the trace has the sizes and runtimes of what it was trained on.

    Parameters
    ----------
    card
        The agent's.
    source
        What `load_workload` made the trace from.
    trace
        The trace.

    Raises
    ------
    PolicyError
        If it was; the message says on how many of them.
    """
    if not card.training:
        return
    same_jobs, whole = jobs_hash(trace), load_whole(source)
    for part in card.training:
        count = len(trace) if part.get("jobs_hash") == same_jobs else 0
        if f"sha256:{whole.hash}" == part.get("hash"):
            count = max(count, _count_seen(part, trace))
        if count:
            raise PolicyError(
                f"agent:{card.name} was trained on {count:,} of the {len(trace):,} jobs of "
                f"{trace.name}, so it is not scored on them"
            )


def _count_seen(part: Mapping[str, Any], trace: Trace) -> int:
    """Count the jobs of a part of a workload that are in the range trained on."""
    if trace.records is None or "first_number" not in part:
        return len(trace)  # nothing tells which jobs of the workload they are
    numbers = trace.records[:, 0]
    seen = (numbers >= part["first_number"]) & (numbers <= part["last_number"])
    return int(np.count_nonzero(seen))
