"""Why lines of a log are not jobs, or were changed: the reasons, their counts, the options."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from bfenv.core.arguments import check_choice, check_integer
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Cleaning
from bfenv.core.text import counted
from bfenv.workloads.arguments import LARGEST_EXACT

# Why a record is not a job.
DROPPED = {
    "headers": "header line repeated",
    "malformed": "malformed line",
    "steps": "job step",
    "parents": "array as a whole, beside its tasks",
    "parts": "part of a job that is there as a whole",
    "pending": "still waiting",
    "running": "still running",
    "never_started": "never started, e.g. cancelled while it waited",
    "no_submit": "no submit time",
    "contradictory": "contradictory times: an end before the start, or a negative runtime",
    "no_runtime": "ran for 0 s, or no runtime",
    "no_size": "no size",
    "duplicates": "same run once more",
    "too_large": "larger than the machine",
    "other_partition": "in another partition or cluster",
    "other_time": "submitted outside the time asked for",
    "other_record": "not the end of a job",
}
# What was changed, or is worth knowing, of the records that are jobs.
CHANGED = {
    "requeued": "further run of a requeued or resized job",
    "components": "component of a heterogeneous job, a job of its own",
    "no_estimate": "no estimate",
    "clipped": "runtime cut to the estimate",
    "extended": "estimate raised to the runtime",
    "reordered": "submitted before the line above",
    "early_start": "contradictory times: a start before the submission, so the wait is unknown",
    "odd_size": "contradictory sizes: held other than requested; what it held counts",
    "unknown_state": "of an unknown final state",
    "continued": "line more, because of line breaks in a record",
}
OVERRUNS = ("kill", "extend")  # what becomes of a job that ran longer than its estimate
ON_ERROR = ("raise", "skip")  # what becomes of a malformed line


@dataclass(frozen=True)
class Conversion(Cleaning):
    """How many records of a log are not jobs, or were changed, and why."""

    headers: int = 0
    steps: int = 0
    parents: int = 0
    parts: int = 0
    pending: int = 0
    running: int = 0
    never_started: int = 0
    contradictory: int = 0
    duplicates: int = 0
    requeued: int = 0
    components: int = 0
    other_partition: int = 0
    other_time: int = 0
    other_record: int = 0
    early_start: int = 0
    odd_size: int = 0
    unknown_state: int = 0
    continued: int = 0

    @property
    def dropped(self) -> int:
        """Records that are not jobs; jobs + dropped = records. Blank lines and the header are none.

        jobs + dropped + continued = lines.
        """
        return sum(getattr(self, reason) for reason in DROPPED)


@dataclass(frozen=True)
class Imported(Conversion):
    """What else an import knows of its log. It may hold names of users and jobs."""

    encoding: str = field(default="utf-8", compare=False)
    examples: Mapping[str, str] = field(default_factory=dict, compare=False)  # a line by reason
    work: Mapping[str, int] = field(default_factory=dict, compare=False)  # processor seconds lost
    nodes: frozenset[str] = field(default=frozenset(), compare=False)  # of the jobs
    other_nodes: frozenset[str] = field(default=frozenset(), compare=False)  # of those left out


def counts_of(cleaning: Cleaning) -> dict[str, int]:
    """Return the counts, by reason."""
    return {
        entry.name: getattr(cleaning, entry.name)
        for entry in fields(cleaning)
        if entry.name in DROPPED or entry.name in CHANGED
    }


def check_options(overrun: str, on_error: str) -> None:
    """Check the options that all readers have.

    Raises WorkloadError if one of them is not one of its choices.
    """
    check_choice("overrun", overrun, OVERRUNS, error=WorkloadError)
    check_choice("on_error", on_error, ON_ERROR, error=WorkloadError)


def check_processors(name: str, processors: int) -> int:
    """Check the size of a machine, given by a user or a log.

    Raises WorkloadError if it is not an integer from 1 up to 2**53.
    """
    return check_integer(name, processors, 1, LARGEST_EXACT - 1, error=WorkloadError)


def apply_overrun(
    runtime: np.ndarray, estimate: np.ndarray, overrun: str
) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Make no job run longer than its estimate, each (n,) int64 seconds.

    "kill" cuts runtimes to estimates, "extend" raises estimates to runtimes. The third result is
    how many were changed, by reason.
    """
    longer = int(np.sum(runtime > estimate))
    if overrun == "kill":
        return np.minimum(runtime, estimate), estimate, {"clipped": longer}
    return runtime, np.maximum(runtime, estimate), {"extended": longer}


def malformed_warning(count: int, first: str) -> str:
    """Return the warning that lines were skipped; `first` describes the first of them."""
    return f"{counted(count, 'malformed line')} skipped, first {first}"


def left_out_text(cleaning: Cleaning) -> str:
    """Return how many jobs of a log are not in its trace, and why; "" if all are.

    The number is for the whole log, and the text says so, because a trace may be a part of its log.
    """
    dropped = cleaning.dropped
    if not dropped:
        return ""
    reasons = count_reasons(counts_of(cleaning), DROPPED)
    text = "; ".join(
        reason if count == dropped else f"{reason}: {count:,}" for count, reason in reasons
    )
    jobs = counted(dropped, "job of the whole log is", "jobs of the whole log are")
    return f"{jobs} left out ({text})"


def count_reasons(counts: Mapping[str, int], reasons: Mapping[str, str]) -> list[tuple[int, str]]:
    """Return how many lines each reason concerns, in the order of the reasons, without zeros."""
    return [(counts[key], reason) for key, reason in reasons.items() if counts.get(key)]
