"""Jobs: what users request. Trace: the jobs of one machine with their true runtimes."""

import hashlib
import reprlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bfenv.core.arguments import check_integer
from bfenv.core.durations import DAY
from bfenv.core.errors import WorkloadError

FOREVER = np.iinfo(np.int64).max  # an instant that never comes
JOB, PARTITION, PRECEDING, THINK = 0, 15, 16, 17  # columns of `Trace.records`
SIZES_LABEL = "PartitionSizes"  # of the line of a header that has the sizes of partitions
MOST_USERS = 10**7  # far beyond use; some arrays are as long as the largest user number


class Jobs(NamedTuple):
    """The requests of jobs: all that a scheduler knows about a job when it is submitted.

    Each field is an array of shape (n,) and type int64, in order of submission. Times are in
    seconds since the trace began. A policy receives the requests of the jobs submitted so far. The
    entries of future jobs are placeholders, see `bfenv.core.events.unknown_jobs`.

    Examples:
        >>> import bfenv
        >>> trace = bfenv.make_trace(submit=[0, 5], size=[2, 4], runtime=[60, 30], processors=4)
        >>> trace.jobs.size, trace.jobs.estimate
        (array([2, 4]), array([60, 30]))
    """

    submit: np.ndarray  # (n,) int64 seconds since the trace began, ascending
    size: np.ndarray  # (n,) int64 processors, at least 1
    estimate: np.ndarray  # (n,) int64 seconds, at least 1; a job is killed at its estimate
    user: np.ndarray  # (n,) int64, 0 .. users - 1; -1 if unknown
    priority: np.ndarray  # (n,) int64, larger is more urgent
    requested_start: np.ndarray  # (n,) int64 seconds, earliest start allowed; 0 for none
    restartable: np.ndarray  # (n,) int64: 1 if the job may be killed and run again, else 0


# Rows of a table of requests, (7, n) int64: the fields of Jobs
SUBMIT, SIZE, ESTIMATE, USER, PRIORITY, REQUESTED_START, RESTARTABLE = range(len(Jobs._fields))


class Outage(NamedTuple):
    """A period in which some processors, or all of them, are out of service."""

    begin: int  # seconds since the trace began
    end: int  # seconds since the trace began, after `begin`
    processors: int  # out of service, at least 1


@dataclass(frozen=True)
class Cleaning:
    """How many jobs of a log were dropped or changed, by reason."""

    no_submit: int = 0  # dropped: submit time < 0
    no_runtime: int = 0  # dropped: runtime <= 0
    no_size: int = 0  # dropped: size <= 0
    too_large: int = 0  # dropped: size > processors
    clipped: int = 0  # runtime cut to the estimate (overrun="kill")
    extended: int = 0  # estimate raised to the runtime (overrun="extend")
    no_estimate: int = 0  # estimate missing, runtime used instead
    reordered: int = 0  # moved: submitted before the line above
    malformed: int = 0  # line skipped (on_error="skip")

    @property
    def dropped(self) -> int:
        """Number of jobs of the log that are not in the trace."""
        return self.no_submit + self.no_runtime + self.no_size + self.too_large + self.malformed


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Jobs, their true runtimes, and the machine they were submitted to; see also `make_trace`.

    The runtimes are hidden from policies: a policy receives `jobs`, never the trace. The arrays
    become read-only. `trace[a:b]` is a trace of the jobs a to b - 1. It begins at time 0.

    Raises:
        WorkloadError: If there are no jobs, arrays differ in length or type, or a value is out of
            range. The message names the first offending job.
    """

    jobs: Jobs  # requests, all that a policy may know
    runtime: np.ndarray  # (n,) int64 seconds, 1 <= runtime <= estimate
    processors: int  # of the machine
    name: str = "unnamed"  # for tables and messages
    cleaning: Cleaning = field(default_factory=Cleaning)  # what was dropped and changed
    time_of_day: int = 0  # seconds after local midnight at time 0
    header: tuple[str, ...] = ()  # the log's comments, without semicolons
    records: np.ndarray | None = None  # (n, 18) float64, the SWF fields
    outages: tuple[Outage, ...] = ()  # by begin; several at once add up
    requests: np.ndarray = field(init=False)  # (7, n) int64; `jobs` are its rows

    def __post_init__(self) -> None:
        """Check every array at this border, so that no kernel has to."""
        name = f"{self.name}: processors"
        check_integer(name, self.processors, 1, FOREVER // 4, error=WorkloadError)
        if len(self.runtime) == 0:
            raise WorkloadError(f"{self.name}: the trace is empty")
        columns = self.jobs._asdict() | {"runtime": self.runtime}
        lengths = {column: len(values) for column, values in columns.items()}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{length} of {column}" for column, length in lengths.items())
            raise WorkloadError(f"{self.name}: columns of different lengths: {counts}")
        for column, values in columns.items():
            if values.dtype != np.int64 or values.ndim != 1:
                raise WorkloadError(
                    f"{self.name}: {column} must be int64[{len(self.runtime)}], "
                    f"got {values.dtype}{list(values.shape)}"
                )
        self._freeze()
        jobs = self.jobs
        self._check("submit", jobs.submit < 0, "is negative")
        self._check("submit", np.diff(jobs.submit, prepend=0) < 0, "is before the job above")
        self._check("size", jobs.size < 1, "is not positive")
        self._check("size", jobs.size > self.processors, f"exceeds {self.processors} processors")
        self._check("runtime", self.runtime < 1, "is not positive")
        self._check("estimate", jobs.estimate < self.runtime, "is below the runtime")
        self._check("estimate", jobs.estimate > FOREVER // 4, "is too large")
        self._check("submit", jobs.submit > FOREVER // 4, "is too large")
        self._check("requested_start", jobs.requested_start < 0, "is negative")
        self._check("requested_start", jobs.requested_start > FOREVER // 4, "is too large")
        self._check("restartable", (jobs.restartable < 0) | (jobs.restartable > 1), "is not 0 or 1")
        self._check("user", jobs.user < -1, "is below -1")
        self._check("user", jobs.user >= MOST_USERS, "is too large; number users from 0")
        latest = int(max(jobs.submit[-1], jobs.requested_start.max()))
        # Twice, because a job may be tried before it runs. A fourth of all time remains for plans.
        if latest + 2 * float(jobs.estimate.sum(dtype=np.float64)) > FOREVER // 4:
            raise WorkloadError(
                f"{self.name}: run one by one, its jobs would end too late for 64 bits"
            )
        self._check_outages()

    def _check_outages(self) -> None:
        """Check that each outage is one, and that no two take the same processors."""
        for outage in self.outages:
            if not isinstance(outage, Outage):
                raise WorkloadError(f"{self.name}: outages must be Outage objects, got {outage!r}")
            check_integer(f"{self.name}: begin of an outage", outage.begin, 0, error=WorkloadError)
            name = f"{self.name}: end of the outage at {outage.begin} s"
            most = FOREVER // 4
            check_integer(name, outage.end, outage.begin + 1, most, error=WorkloadError)
            name = f"{self.name}: processors of the outage at {outage.begin} s"
            check_integer(name, outage.processors, 1, self.processors, error=WorkloadError)
            running = (entry for entry in self.outages if entry.begin <= outage.begin < entry.end)
            if sum(entry.processors for entry in running) > self.processors:
                raise WorkloadError(
                    f"{self.name}: the outages at {outage.begin} s take more processors than the "
                    f"{self.processors} of the machine"
                )

    def _freeze(self) -> None:
        """Put the requests into one table, and make all arrays read-only.

        They are shared by every simulation of this trace.
        """
        object.__setattr__(self, "requests", np.stack(self.jobs))
        for values in (self.requests, self.runtime, self.records):
            if values is not None:
                values.flags.writeable = False
        object.__setattr__(self, "jobs", Jobs(*self.requests))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the table: `jobs` has the same numbers."""
        return {name: value for name, value in self.__dict__.items() if name != "requests"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Freeze the arrays again: pickling forgets it, and kernels are compiled for either."""
        self.__dict__.update(state)
        self._freeze()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Trace":
        """Return the trace itself: nothing in it can change."""
        return self

    def __repr__(self) -> str:
        """Name the trace, with its jobs, its processors and its offered load."""
        return (
            f"<Trace {self.name!r}: {len(self):,} jobs, {self.processors:,} processors, "
            f"offered load {self.offered_load:.2f}>"
        )

    def _check(self, column: str, wrong: np.ndarray, fault: str) -> None:
        if wrong.any():
            job = int(np.argmax(wrong))
            value = self.runtime[job] if column == "runtime" else getattr(self.jobs, column)[job]
            raise WorkloadError(f"{self.name}: job {job}: {column} {value} {fault}")

    def __len__(self) -> int:
        return len(self.runtime)

    def __getitem__(self, window: slice) -> "Trace":
        """Return the jobs of a slice (step 1) as a trace that begins at time 0."""
        begin, stop, step = window.indices(len(self))
        if step != 1 or begin >= stop:
            raise WorkloadError(f"{self.name}: no jobs in [{begin}:{stop}:{step}]")
        jobs = self.jobs
        origin = int(jobs.submit[begin])
        return self.select(
            slice(begin, stop),
            jobs._replace(
                submit=jobs.submit - origin,
                requested_start=np.maximum(jobs.requested_start - origin, 0),
            ),
            name=f"{self.name}[{begin}:{stop}]",
            time_of_day=(self.time_of_day + origin) % DAY,
            outages=tuple(
                Outage(max(outage.begin - origin, 0), outage.end - origin, outage.processors)
                for outage in self.outages
                if outage.end > origin
            ),
        )

    def select(self, which: slice | np.ndarray, jobs: Jobs | None = None, **fields: Any) -> "Trace":
        """Return the trace of some of its jobs, in some order; time 0 stays.

        Args:
            which: Numbers of the jobs, (k,) int64 or (n,) bool, or a slice.
            jobs: What all n jobs request, if that changes.
            **fields: Other fields of the trace that change.

        Raises:
            WorkloadError: If the new trace is none, as of `Trace`.
        """
        columns = self.jobs if jobs is None else jobs
        parts: dict[str, Any] = {
            "jobs": Jobs(*(column[which] for column in columns)),
            "runtime": self.runtime[which],
            "records": None if self.records is None else self.records[which],
        }
        return replace(self, **(parts | fields))

    @property
    def offered_load(self) -> float:
        """Work over the machine's capacity from first to last submit time; inf if that is 0 s."""
        span = int(self.jobs.submit[-1] - self.jobs.submit[0])
        work = float(np.dot(self.runtime.astype(np.float64), self.jobs.size.astype(np.float64)))
        return work / (self.processors * span) if span else float("inf")

    @cached_property
    def has_dependencies(self) -> bool:
        """Whether the records say of some job that it waits for another one."""
        return self.records is not None and bool((self.records[:, PRECEDING] > 0).any())

    @property
    def content_hash(self) -> str:
        """The hash with the name of its algorithm, as rows and cards have it."""
        return f"sha256:{self.hash}"

    @property
    def hash(self) -> str:
        """SHA-256 of the machine, the requests and the runtimes: equal content, equal hash."""
        digest = hashlib.sha256(f"{self.processors} {self.time_of_day} {len(self)}".encode())
        requests = self.jobs if not self.jobs.restartable.all() else self.jobs[:RESTARTABLE]
        for values in (*requests, self.runtime):
            digest.update(np.ascontiguousarray(values, dtype="<i8").tobytes())
        if self.outages:
            digest.update(np.array(self.outages, dtype="<i8").tobytes())
        if self.records is not None and self.has_dependencies:
            for column in (JOB, PRECEDING, THINK):
                digest.update(self.records[:, column].astype("<i8").tobytes())
        for line in self.header:
            if line.startswith(SIZES_LABEL) and self.records is not None:
                digest.update(line.encode())
                digest.update(self.records[:, PARTITION].astype("<i8").tobytes())
        return digest.hexdigest()


def check_trace(trace: object) -> None:
    """Check that a caller has passed a Trace.

    Raises WorkloadError if it is anything else; for a text, the message says how to load it.
    """
    if not isinstance(trace, Trace):
        hint = f"; use load_workload({trace!r:.60})" if isinstance(trace, str) else ""
        value = f"{trace!r:.60}" if isinstance(trace, str) else type(trace).__name__
        raise WorkloadError(f"expected a Trace, got {value}{hint}")


def check_no_outages(trace: Trace) -> None:
    """Check that a trace has no outages, for callers that do not support them.

    Raises WorkloadError if the trace has outages.
    """
    if trace.outages:
        raise WorkloadError(
            f"{trace.name} has outages, which only `bfenv.simulate` follows; load it without them"
        )


def make_trace(
    submit: ArrayLike,
    size: ArrayLike,
    runtime: ArrayLike,
    processors: int,
    *,
    estimate: ArrayLike | None = None,
    user: ArrayLike | None = None,
    priority: ArrayLike | None = None,
    requested_start: ArrayLike | None = None,
    restartable: ArrayLike | None = None,
    **provenance: Any,
) -> Trace:
    """Return a Trace of sequences of integers of equal length, one value per job.

    Args:
        submit: (n,) seconds, ascending.
        size: (n,) processors, from 1 to the size of the machine.
        runtime: (n,) seconds, at least 1.
        processors: Of the machine.
        estimate: (n,) seconds, at least the runtime; by default the runtime (a clairvoyant user).
        user: (n,) any integers from 0, or -1 if unknown. They are renumbered from 0, in ascending
            order, as `read_swf` does.
        priority: (n,) larger is more urgent.
        requested_start: (n,) seconds, the earliest start allowed; 0 for none.
        restartable: (n,) 1 or True if the job may be killed and run again, as after a trial; else 0
            or False. By default, all may.
        provenance: Other fields of Trace, such as `name`.

    Raises:
        WorkloadError: On text, NaN, fractions, unequal lengths, or values out of range.

    Examples:
        >>> import bfenv
        >>> trace = bfenv.make_trace(
        ...     submit=[0, 0, 5],
        ...     size=[2, 4, 1],
        ...     runtime=[60, 30, 9],
        ...     estimate=[90, 30, 9],
        ...     processors=4,
        ... )
        >>> bfenv.simulate(trace, "easy").start
        array([ 0, 60,  5])
    """
    name = provenance.get("name", "unnamed")
    submit, runtime = _integers(name, "submit", submit), _integers(name, "runtime", runtime)

    def column(label: str, values: ArrayLike | None, default: int) -> np.ndarray:
        return np.full(len(submit), default) if values is None else _integers(name, label, values)

    jobs = Jobs(
        submit=submit,
        size=_integers(name, "size", size),
        estimate=runtime.copy() if estimate is None else _integers(name, "estimate", estimate),
        user=column("user", user, -1),
        priority=column("priority", priority, 0),
        requested_start=column("requested_start", requested_start, 0),
        restartable=column("restartable", restartable, 1),
    )
    users = np.unique(jobs.user[jobs.user >= 0])
    has_user = jobs.user >= 0
    renumbered = np.where(has_user, np.searchsorted(users, jobs.user), jobs.user)
    processors = check_integer(f"{name}: processors", processors, error=WorkloadError)
    return Trace(jobs._replace(user=renumbered), runtime, processors, **provenance)


def _integers(name: str, column: str, values: ArrayLike) -> np.ndarray:
    """Return the values as a new int64 array; WorkloadError names the first that is not one."""
    try:
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "biufO":
            raise ValueError
        if array.dtype == np.int64:
            return array.copy()
        number = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        given = " ".join(reprlib.repr(values).split())
        raise WorkloadError(f"{name}: {column} must be a list of integers, got {given}") from None
    wrong = ~(np.abs(number) < 2.0**62) | (number != np.floor(number))
    if wrong.any():
        job = int(np.argmax(wrong))
        raise WorkloadError(
            f"{name}: job {job}: {column} must be an integer below 2**62, got {number[job]}"
        )
    return array.astype(np.int64)
