"""Why lines of a log are no jobs, or were changed, in words and in numbers."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from bfenv.core.jobs import Cleaning

# Why a line is no job.
DROPPED = {
    "headers": "header line repeated",
    "malformed": "malformed line",
    "steps": "job step",
    "pending": "still waiting",
    "running": "still running",
    "never_started": "never started, e.g. cancelled while it waited",
    "no_submit": "no submit time",
    "no_runtime": "ran for 0 s, or no runtime",
    "no_size": "no size",
    "duplicates": "same run once more",
    "too_large": "larger than the machine",
}
# What was changed or is worth knowing of the lines that are jobs.
CHANGED = {
    "requeued": "further run of a requeued or resized job",
    "components": "component of a heterogeneous job, a job of its own",
    "no_estimate": "no estimate",
    "clipped": "runtime cut to the estimate",
    "extended": "estimate raised to the runtime",
    "reordered": "submitted before the line above",
}


@dataclass(frozen=True)
class Conversion(Cleaning):
    """How many lines of another system's log are no jobs, or were changed, and why."""

    headers: int = 0
    steps: int = 0
    pending: int = 0
    running: int = 0
    never_started: int = 0
    duplicates: int = 0
    requeued: int = 0
    components: int = 0

    @property
    def dropped(self) -> int:
        """Lines that are no jobs; jobs + dropped = lines, blank ones and the header apart."""
        return sum(getattr(self, reason) for reason in DROPPED)


def skipped(count: int, first: str) -> str:
    """The warning of malformed lines skipped; `first` tells of the first of them."""
    return f"{count:,} malformed {'line' if count == 1 else 'lines'} skipped, first {first}"


def told(counts: Mapping[str, int], reasons: Mapping[str, str]) -> list[tuple[int, str]]:
    """How many and why, in the order of the reasons; those of which there are none left out."""
    numbers = Counter(counts)
    return [(numbers[key], why) for key, why in reasons.items() if numbers[key]]
