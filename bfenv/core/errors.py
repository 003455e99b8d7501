"""Errors of a user's input or policy, one class per kind.

Each class passes all its arguments to its base, so that it can be pickled between processes.
"""

from collections.abc import Iterable, Sequence

from bfenv.core.text import counted, listed, shown, suggest


class BfenvError(ValueError):
    """Bad input; the message names the offending thing in one line."""


class WorkloadError(BfenvError):
    """A workload that cannot be read, generated or simulated."""


class NoSuchFileError(FileNotFoundError, WorkloadError):
    """A workload is to be read from a file that does not exist.

    It is created as a FileNotFoundError, which comes first: else Dask cannot send it.
    """


class PolicyError(BfenvError):
    """A policy that cannot run or misbehaves."""


class IllegalStartError(PolicyError):
    """A policy that starts a job which may not start.

    Args:
        job: Its index in the trace.
        time: The clock, in seconds.
        reason: Why it may not start, such as "needs 3 processors; free: 1".
        policy: Name of the policy, if known.
    """

    def __init__(self, job: int, time: int, reason: str, policy: str = "") -> None:
        super().__init__(job, time, reason, policy)
        self.job = job
        self.time = time
        self.reason = reason
        self.policy = policy

    def __str__(self) -> str:
        policy = f"{self.policy}: " if self.policy else ""
        return f"{policy}illegal start of job {self.job} at {self.time} s: it {self.reason}"


class StarvationError(PolicyError):
    """A policy that leaves jobs waiting after the last event.

    Args:
        jobs: Their indices in the trace, at least one.
        policy: Name of the policy.
    """

    def __init__(self, jobs: Sequence[int], policy: str) -> None:
        super().__init__(jobs, policy)
        self.jobs = jobs
        self.policy = policy
        if len(jobs) == 1:
            self.reason = f"leaves job {jobs[0]} waiting forever"
        else:
            count = counted(len(jobs), "job")
            self.reason = f"leaves {count} waiting forever, the first is job {jobs[0]}"

    def __str__(self) -> str:
        return f"{self.policy} {self.reason}"


LISTED_BY = {
    "policy": "bfenv evaluate policies",
    "workload": "bfenv workloads",
}  # commands, by kind


class UnknownNameError(BfenvError):
    """An unknown name; the message suggests similar names.

    Args:
        kind: The kind of object, such as "policy".
        name: The unknown name.
        known: The names that exist.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = str(name)  # YAML has names that are numbers
        self.known = sorted(known)
        super().__init__(kind, self.name, self.known)

    def __str__(self) -> str:
        name, names = self.name, self.known
        hint = suggest(name, names)
        if not hint:
            command = LISTED_BY.get(self.kind)
            hint = f"known: {listed(names)}" + (f"; see `{command}`" if command else "")
        several = [part.strip() for part in name.split(",")]
        if len(several) > 1 and set(several) <= set(names):
            hint = f"give each by itself: {' and '.join(several)}"
        return f"unknown {self.kind} {shown(name)}; {hint}"
