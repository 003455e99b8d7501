"""What users ask for (Jobs) and what a machine was asked to run (Trace)."""

import hashlib
import operator
import reprlib
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from bfenv.core.errors import WorkloadError

FOREVER = np.iinfo(np.int64).max  # an instant that never comes
MOST_USERS = 10**7  # far beyond use; there are arrays as long as the largest user's number


class Jobs(NamedTuple):
    """The requests: all that a scheduler is told about a job when it is submitted."""

    submit: np.ndarray  # (n,) int64 seconds since the trace began, ascending
    size: np.ndarray  # (n,) int64 processors, at least 1
    estimate: np.ndarray  # (n,) int64 seconds, at least 1; at its estimate a job is killed
    user: np.ndarray  # (n,) int64, 0 .. users - 1; -1 where the log does not say
    priority: np.ndarray  # (n,) int64, larger is more urgent
    requested_start: np.ndarray  # (n,) int64 seconds, may not start earlier; 0 for no wish


@dataclass(frozen=True)
class Cleaning:
    """How many jobs of a log were not taken as they stand, and why."""

    no_submit: int = 0  # dropped: submit time < 0
    no_runtime: int = 0  # dropped: runtime <= 0
    no_size: int = 0  # dropped: size <= 0
    too_large: int = 0  # dropped: size > processors
    clipped: int = 0  # runtime cut to the estimate (overrun="kill")
    extended: int = 0  # estimate raised to the runtime (overrun="extend")
    no_estimate: int = 0  # estimate missing, runtime taken instead
    reordered: int = 0  # submit time before that of the line above
    malformed: int = 0  # line skipped (on_error="skip")

    @property
    def dropped(self) -> int:
        """Jobs of the log that are not in the trace."""
        return self.no_submit + self.no_runtime + self.no_size + self.too_large + self.malformed


@dataclass(frozen=True, eq=False)
class Trace:
    """Jobs, their true runtimes, and the machine they were submitted to.

    The runtimes are the simulator's secret: policies are given `jobs`, never the trace.

    Raises WorkloadError, naming the first offending job, when arrays differ in length or a value
    is out of range.
    """

    jobs: Jobs = field(repr=False)
    runtime: np.ndarray = field(repr=False)  # (n,) int64 seconds, 1 <= runtime <= estimate
    processors: int
    name: str = "unnamed"
    cleaning: Cleaning = field(default_factory=Cleaning)
    time_of_day: int = 0  # seconds after local midnight at time 0
    header: tuple[str, ...] = field(default=(), repr=False)  # the log's comments, no semicolons
    records: np.ndarray | None = field(default=None, repr=False)  # (n, 18) float64, SWF fields

    def __post_init__(self):
        """Check every array at this border, so that no kernel has to."""
        if not 1 <= self.processors <= FOREVER // 4:
            raise WorkloadError(f"{self.name}: a machine needs processors, got {self.processors}")
        if len(self.runtime) == 0:
            raise WorkloadError(f"{self.name}: the trace is empty")
        columns = self.jobs._asdict() | {"runtime": self.runtime}
        lengths = {column: len(values) for column, values in columns.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{length} of {column}" for column, length in lengths.items())
            raise WorkloadError(f"{self.name}: columns of different lengths: {told}")
        for column, values in columns.items():
            if values.dtype != np.int64 or values.ndim != 1:
                raise WorkloadError(
                    f"{self.name}: {column} is {values.dtype}{list(values.shape)}, "
                    f"expected int64[{len(self.runtime)}]"
                )
        self._freeze()
        jobs = self.jobs
        self._check("submit", jobs.submit < 0, "is negative")
        self._check("submit", np.diff(jobs.submit, prepend=0) < 0, "is before the job above")
        self._check("size", jobs.size < 1, "is not positive")
        self._check("size", jobs.size > self.processors, f"exceeds {self.processors} processors")
        self._check("runtime", self.runtime < 1, "is not positive")
        self._check("estimate", jobs.estimate < self.runtime, "is below the runtime")
        self._check("estimate", jobs.estimate > FOREVER // 4, "is beyond all time")
        self._check("submit", jobs.submit > FOREVER // 4, "is beyond all time")
        self._check("requested_start", jobs.requested_start < 0, "is negative")
        self._check("requested_start", jobs.requested_start > FOREVER // 4, "is beyond all time")
        self._check("user", jobs.user < -1, "is below -1")
        self._check("user", jobs.user >= MOST_USERS, "is too large: number users from 0 on")
        latest = int(max(jobs.submit[-1], jobs.requested_start.max()))
        # Twice, for a job may be tried before it runs; one more fourth is left for planning.
        if latest + 2 * float(jobs.estimate.sum(dtype=np.float64)) > FOREVER // 4:
            raise WorkloadError(f"{self.name}: run one by one, its jobs would end beyond all time")

    def _freeze(self) -> None:
        """Make the arrays read-only: they are shared by every simulation of this trace."""
        for values in (*self.jobs, self.runtime, self.records):
            if values is not None:
                values.flags.writeable = False

    def __setstate__(self, state: dict) -> None:
        """Pickling forgets that arrays are read-only, and kernels are compiled for either."""
        self.__dict__.update(state)
        self._freeze()

    def __deepcopy__(self, memo: dict) -> "Trace":
        """Nothing in a trace can change, so a copy is the trace itself."""
        return self

    def _check(self, column: str, wrong: np.ndarray, what: str) -> None:
        if wrong.any():
            job = int(np.argmax(wrong))
            value = self.runtime[job] if column == "runtime" else getattr(self.jobs, column)[job]
            raise WorkloadError(f"{self.name}: job {job}: {column} {value} {what}")

    def __len__(self) -> int:
        return len(self.runtime)

    def __getitem__(self, window: slice) -> "Trace":
        """The jobs of a slice (step 1), their submit times rebased to 0."""
        begin, stop, step = window.indices(len(self))
        if step != 1 or begin >= stop:
            raise WorkloadError(f"{self.name}: no jobs in [{begin}:{stop}:{step}]")
        jobs = Jobs(*(values[begin:stop] for values in self.jobs))
        origin = int(jobs.submit[0])
        return replace(
            self,
            jobs=jobs._replace(
                submit=jobs.submit - origin,
                requested_start=np.maximum(jobs.requested_start - origin, 0),
            ),
            runtime=self.runtime[begin:stop],
            name=f"{self.name}[{begin}:{stop}]",
            time_of_day=(self.time_of_day + origin) % 86400,
            records=None if self.records is None else self.records[begin:stop],
        )

    @property
    def offered_load(self) -> float:
        """Work submitted over the machine's capacity until the last submit time; inf if 0 s."""
        span = int(self.jobs.submit[-1] - self.jobs.submit[0])
        work = float(np.dot(self.runtime.astype(np.float64), self.jobs.size.astype(np.float64)))
        return work / (self.processors * span) if span else float("inf")

    @property
    def hash(self) -> str:
        """SHA-256 over the machine, the requests and the runtimes: equal content, equal hash."""
        digest = hashlib.sha256(f"{self.processors} {self.time_of_day} {len(self)}".encode())
        for values in (*self.jobs, self.runtime):
            digest.update(np.ascontiguousarray(values, dtype="<i8").tobytes())
        return digest.hexdigest()


def make_trace(
    submit,
    size,
    runtime,
    processors: int,
    *,
    estimate=None,
    user=None,
    priority=None,
    requested_start=None,
    **provenance,
) -> Trace:
    """A Trace from array-likes of equal length; see `Jobs` for shapes and units.

    A missing estimate is the runtime (a clairvoyant user), a missing user is unknown. Users are
    numbered anew from 0, in the order of their ids, as `read_swf` does. Raises WorkloadError on
    text, NaN, fractions, unequal lengths or values out of range.
    """
    name = provenance.get("name", "unnamed")
    submit, runtime = _whole(name, "submit", submit), _whole(name, "runtime", runtime)

    def whole(column, values, default):
        if values is None:
            return default.copy() if column == "estimate" else np.full(len(submit), default)
        return _whole(name, column, values)

    jobs = Jobs(
        submit=submit,
        size=whole("size", size, 1),
        estimate=whole("estimate", estimate, runtime),
        user=whole("user", user, -1),
        priority=whole("priority", priority, 0),
        requested_start=whole("requested_start", requested_start, 0),
    )
    users = np.unique(jobs.user[jobs.user >= 0])
    known = jobs.user >= 0
    dense = np.where(known, np.searchsorted(users, jobs.user), jobs.user)
    try:
        processors = operator.index(processors)
    except TypeError:
        raise WorkloadError(f"{name}: processors {processors!r} is no whole number") from None
    return Trace(jobs._replace(user=dense), runtime, processors, **provenance)


def _whole(name: str, column: str, values) -> np.ndarray:
    """The values as a new int64 array; WorkloadError names the first that is none."""
    try:
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "biufO":
            raise ValueError
        if array.dtype == np.int64:
            return array.copy()
        number = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        shown = reprlib.repr(values)
        raise WorkloadError(f"{name}: {column} is no list of whole numbers: {shown}") from None
    wrong = ~(np.abs(number) < 2.0**62) | (number != np.floor(number))
    if wrong.any():
        job = int(np.argmax(wrong))
        raise WorkloadError(f"{name}: job {job}: {column} {number[job]} is no whole number")
    return array.astype(np.int64)
