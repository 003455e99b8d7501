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

    Parameters
    ----------
    card
        The agent's.
    source, trace
        As of `count_seen_jobs`.

    Raises
    ------
    PolicyError
        If it was; the message says on how many of them.
    """
    count = count_seen_jobs(card, source, trace)
    if count:
        raise PolicyError(
            f"agent:{card.name} was trained on {count:,} of the {len(trace):,} jobs of "
            f"{trace.name}, so it is not scored on them"
        )


def count_seen_jobs(card: Card, source: str, trace: Trace) -> int:
    """Count the jobs of a trace that an agent was trained on.

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
    """
    if not card.training:
        return 0
    same_jobs, whole = jobs_hash(trace), load_whole(source)
    most = 0
    for part in card.training:
        if part.get("jobs_hash") == same_jobs:
            return len(trace)
        if f"sha256:{whole.hash}" == part.get("hash"):
            most = max(most, _count_in(part, trace))
    return most


def _count_in(part: Mapping[str, Any], trace: Trace) -> int:
    """Count the jobs of a part of a workload that are in the range trained on."""
    if trace.records is None or "first_number" not in part:
        return len(trace)  # nothing tells which jobs of the workload they are
    numbers = trace.records[:, 0]
    seen = (numbers >= part["first_number"]) & (numbers <= part["last_number"])
    return int(np.count_nonzero(seen))
