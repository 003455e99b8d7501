"""Whom a change of policy helps and whom it hurts: waits by partition, group, user and size."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from bfenv.analysis.formatting import compound_duration
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.workloads.logs.records import GROUP, PARTITION, QUEUE, USER

NAMED = re.compile(r"\s*(Partition|Queue)\s*:\s*([0-9]+)\s+(\S+)")  # a line of SWF's header
CUTS = (50, 90)  # percent of the jobs, at which classes of size and limit end
LEAST = 60  # seconds by which a mean wait must change to count as a change

Classes = dict[str, np.ndarray]  # (n,) bool by label
Names = Mapping[tuple[str, int], str]  # of a user, group, partition or queue, by kind and number
NONE: Names = {}


class Party(NamedTuple):
    """Jobs that have something in common, and their mean waits in seconds."""

    label: str
    jobs: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """Seconds by which all its jobs together wait longer."""
        return (self.after - self.before) * self.jobs


def parties(before: Schedule, after: Schedule, names: Names = NONE) -> dict[str, list[Party]]:
    """Return the mean waits under two policies, by what the jobs have in common.

    * `before`, `after`: schedules of the same jobs.
    * `names`: of users and groups; by default their numbers stand for them.

    The keys are "partition", "queue or QOS", "group", "user", "size" and "time limit". Sizes and
    limits are in their order; the others begin with those that gain most in all. A division of the
    jobs is left out if they are all of one kind.
    """
    waits = before.wait, after.wait
    by_division = {}
    for division, classes in divisions(before.trace, names).items():
        members = [
            Party(label, int(is_member.sum()), *(float(wait[is_member].mean()) for wait in waits))
            for label, is_member in classes.items()
        ]
        if len(members) > 1:
            is_ordered = division in ("size", "time limit")
            by_division[division] = (
                members if is_ordered else sorted(members, key=lambda party: party.change)
            )
    return by_division


def divisions(trace: Trace, user_names: Names = NONE) -> dict[str, Classes]:
    """Return which jobs belong together, by what they have in common.

    * `user_names`: of users and groups, by kind and number.
    """
    matches = filter(None, map(NAMED.match, trace.header))  # names of partitions and queues
    names = {**user_names, **{(match[1].lower(), int(match[2])): match[3] for match in matches}}
    jobs, classes = trace.jobs, {}
    if trace.records is not None:
        for division, field in (
            ("partition", PARTITION),
            ("queue or QOS", QUEUE),
            ("group", GROUP),
        ):
            numbers = trace.records[:, field].astype(np.int64)
            classes[division] = _by_number(division.split()[0], numbers, names)
    users = jobs.user if trace.records is None else trace.records[:, USER].astype(np.int64)
    classes["user"] = _by_number("user", users, names)  # by the log's number, as groups
    classes["size"] = _by_cuts(jobs.size, lambda size: f"{size:,}", "processors")
    classes["time limit"] = _by_cuts(jobs.estimate, compound_duration, "")
    return classes


def users_changed(before: Schedule, after: Schedule) -> tuple[int, int]:
    """Count the users whose mean wait falls, and those whose mean wait grows, by over a minute."""
    user = before.trace.jobs.user
    is_known = user >= 0
    change = np.bincount(user[is_known], weights=(after.wait - before.wait)[is_known])
    jobs = np.bincount(user[is_known])
    mean = change[jobs > 0] / jobs[jobs > 0]
    return int(np.sum(mean < -LEAST)), int(np.sum(mean > LEAST))


def _by_number(kind: str, numbers: np.ndarray, names: Names) -> Classes:
    """Divide the jobs by a number that each has; a negative one is not known."""
    return {
        f"no {kind}" if number < 0 else names.get((kind, number), f"{kind} {number}"): (
            numbers == number
        )
        for number in np.unique(numbers).tolist()
    }


def _by_cuts(values: np.ndarray, words: Callable[[float], str], unit: str) -> Classes:
    """Divide the jobs where CUTS of them are; each label has its limits."""
    cuts = sorted({int(cut) for cut in np.percentile(values, CUTS, method="lower")})
    edges = [*(cut for cut in cuts if cut < values.max()), int(values.max())]
    classes, least = {}, int(values.min())
    for edge in edges:
        is_member = (values >= least) & (values <= edge)
        if is_member.any():
            low = int(values[is_member].min())
            text = words(edge) if low == edge else f"{words(low)} to {words(edge)}"
            classes[f"{text} {unit}".strip()] = is_member
        least = edge + 1
    return classes
