"""The jobs that a search has seen: what a card records of them, and which of a trace they are.

Networks and saved models record their jobs in another way, see `bfenv.agents.seen_jobs`.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from bfenv.agents.card_file import is_network
from bfenv.agents.models.cards import Card, read_card
from bfenv.agents.seen_jobs import count_seen
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.names import parse_name
from bfenv.workloads.load import load_whole, load_workload
from bfenv.workloads.transform import split_range


def training_record(workloads: tuple[str, ...], split: str) -> list[dict[str, Any]]:
    """Return what JSON stores of the jobs that a search has seen, for each workload.

    That is the name and hash of the whole workload, the split searched on, the range of jobs, their
    submit times in seconds since its first job, and `jobs_hash`. A workload that is a part of one,
    by `first_job` and `job_count`, goes with the split "all".
    """
    records = []
    for workload in workloads:
        trace = load_whole(workload)
        begin, _ = split_range(trace, split)
        _, end = split_range(trace, "validation" if split == "train" else split)
        if split == "all":
            begin = int(parse_name(workload).options.get("first_job", 0))
            end = begin + len(load_workload(workload))
        submit = trace.jobs.submit
        records.append(
            {
                "workload": trace.name,
                "hash": f"sha256:{trace.hash}",
                "jobs": len(trace),
                "split": split,
                "first_job": begin,
                "end_job": end,
                "first_submit": int(submit[begin] - submit[0]),
                "last_submit": int(submit[end - 1] - submit[0]),
                "jobs_hash": jobs_hash(trace[begin:end]),
                **_numbers(trace, begin, end),
            }
        )
    return records


def _numbers(trace: Trace, begin: int, end: int) -> dict[str, int]:
    """Return the numbers of the first and last job in the log, if it is one."""
    if trace.records is None:
        return {}
    numbers = trace.records[begin:end, 0]
    return {"first_number": int(numbers.min()), "last_number": int(numbers.max())}


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


def count_seen_by(name: str, source: str, trace: Trace) -> int:
    """Count the jobs of a trace that an agent was trained on, a network or another.

    Parameters
    ----------
    name
        As `bfenv.agents.models.load_agent` takes it.
    source, trace
        As of `count_seen_jobs`.

    Raises
    ------
    BfenvError
        If there is no such agent, or its card cannot be read.
    """
    if not is_network(name):
        return count_seen_jobs(read_card(name), source, trace)
    from bfenv.agents.network_agent import load_network  # needs the environment

    return count_seen(trace, 0, len(trace), load_network(name).trained_on)


def _count_in(part: Mapping[str, Any], trace: Trace) -> int:
    """Count the jobs of a part of a workload that are in the range trained on."""
    if trace.records is None or "first_number" not in part:
        return len(trace)  # nothing tells which jobs of the workload they are
    numbers = trace.records[:, 0]
    seen = (numbers >= part["first_number"]) & (numbers <= part["last_number"])
    return int(np.count_nonzero(seen))


def jobs_hash(trace: Trace) -> str:
    """Return a hash of sizes and runtimes, which loads and shaken submit times do not change."""
    pairs = np.stack([trace.jobs.size, trace.runtime], axis=1)
    ordered = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    digest = hashlib.sha256(np.ascontiguousarray(ordered, dtype="<i8").tobytes())
    return f"sha256:{digest.hexdigest()}"
