"""The result of one competitor on one case: a typed record, and its form in JSON.

The JSON holds what depends on the task and on the versions of the programs only, so it has the same
bytes on every machine. Times, which differ from run to run, are not in it.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, TypeGuard, get_type_hints

import numpy as np

from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.core.policy import DIVISIONS
from bfenv.core.schedule import Schedule
from bfenv.core.text import counted, shown
from bfenv.core.versions import versions

LARGEST = 2.0**62  # bound on every number in a row; no metric can reach it
ENDS = ("difference", "low", "high")
SCHEMA = 1  # version of the fields below
KINDS = ("policy", "agent", "player")  # "player": a program of any language


@dataclass(frozen=True)
class Difference:
    """Mean difference from the reference policy, job by job; None where it is unknown."""

    difference: float | None  # below 0 is better than the reference
    low: float | None  # of its confidence interval
    high: float | None
    confidence: float | None = None  # of the interval, like 0.95
    batches: int | None = None  # of jobs, from whose means the interval is computed
    jobs: int | None = None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Difference":
        """Read a difference; what is not a number becomes None."""
        parts = {entry.name: values.get(entry.name) for entry in fields(cls)}
        return cls(**{name: value if is_number(value) else None for name, value in parts.items()})


@dataclass(frozen=True)
class Versus:
    """How a policy compares with the reference policy on the same jobs."""

    reference: str | None = None  # None where there is nothing to compare with
    differences: Mapping[str, Difference | None] = field(default_factory=dict)  # by metric

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Versus":
        """Read a comparison: the reference, and beside it the difference of each metric."""
        reference = values.get("reference")
        return cls(
            None if reference is None else str(reference),
            {
                name: None if value is None else Difference.from_dict(value)
                for name, value in values.items()
                if name != "reference"
            },
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON has it."""
        values: dict[str, Any] = {} if self.reference is None else {"reference": self.reference}
        for name, value in self.differences.items():
            values[name] = None if value is None else dict(vars(value))
        return values


@dataclass(frozen=True)
class QueueCurve:
    """Mean number of waiting jobs in consecutive intervals of time."""

    time: tuple[float, ...]  # (k + 1,) seconds, the ends of the intervals
    jobs: tuple[float, ...]  # (k,)


@dataclass(frozen=True)
class SlowdownCurve:
    """Slowdown ratio to the reference of consecutive batches of jobs."""

    time: tuple[float, ...]  # (k,) seconds, submit time of each batch's first job
    slowdown_ratio: tuple[float | None, ...]  # (k,)


@dataclass(frozen=True)
class Curves:
    """What is drawn of a schedule; None where it is unknown."""

    wait_quantiles: tuple[float, ...] | None = None  # seconds, from the shortest to the longest
    queue_length: QueueCurve | None = None
    per_1000: SlowdownCurve | None = None  # batches of 1000 jobs

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Curves":
        """Read the curves that are there."""
        waits, queue = values.get("wait_quantiles"), values.get("queue_length")
        return cls(
            None if waits is None else tuple(waits),
            None if queue is None else QueueCurve(tuple(queue["time"]), tuple(queue["jobs"])),
            _slowdown_curve(values.get("per_1000")),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the curves that are there as JSON has them."""
        values: dict[str, Any] = {}
        if self.wait_quantiles is not None:
            values["wait_quantiles"] = list(self.wait_quantiles)
        for name in ("queue_length", "per_1000"):
            curve = getattr(self, name)
            if curve is not None:
                values[name] = {column: list(numbers) for column, numbers in vars(curve).items()}
        return values


@dataclass(frozen=True)
class Row:
    """The result of one policy or agent on one trace.

    A row that belongs to no suite has no suite, command and commit.
    """

    suite: str  # name of the suite
    policy: str  # name or expression of the policy or agent
    kind: str  # one of KINDS, or "log" for what a log records
    workload: str  # label of the suite's entry
    source: str  # what `load_workload` makes the trace from
    workload_hash: str  # `content_hash` of the trace
    processors: int  # of the machine
    jobs: int  # number of jobs of the trace
    load: float | None  # offered load of the suite's entry; None for the workload's own
    offered_load: float | None  # offered load of the trace
    seed: int  # of the trace or of the decisions, see `Suite.seeds`
    status: str  # "ok", or "failed"
    versions: Mapping[str, str]  # of the programs that the results depend on
    commit: str | None  # of the sources; None outside of git
    command: str  # that makes the row again
    error: str = ""  # why it failed, see `failure`
    code: str | None = None  # hash of a saved model, or of a module outside bfenv
    division: str | None = None  # one of DIVISIONS; None of what a log records
    foresight: str | None = None  # see `bfenv.leaderboard.foresight`; None if it was not tried
    sandbox: str | None = None  # of its player; None if it needs no player
    schedule_hash: str | None = None  # of all starts and ends; None if it failed, or is older
    metrics: Mapping[str, float | None] = field(default_factory=dict)  # see `bfenv.metrics`
    classes: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)  # of jobs
    versus: Versus = field(default_factory=Versus)  # comparison with EASY on the same jobs
    curves: Curves = field(default_factory=Curves)  # for charts
    seconds: float | None = field(default=None, compare=False)  # of the simulation; not in files
    is_uncompiled: bool = field(default=False, compare=False)  # some of its code, in these seconds
    schedule: Schedule | None = field(default=None, compare=False, repr=False)  # nor is this
    decision_seconds: np.ndarray | None = field(default=None, compare=False, repr=False)  # nor is
    # this: how long each decision of an agent took, (decisions,) float64

    @property
    def ok(self) -> bool:
        """Whether the run came to its end, so that the row has results."""
        return self.status == "ok"

    @property
    def failure(self) -> str:
        """Who failed and why, in one line."""
        is_named = self.policy in self.error
        return self.error if is_named else f"{self.policy} failed, {self.error}"

    @property
    def key(self) -> str:
        """Name of the row's files without suffix, see `row_key`."""
        return row_key(self.kind, self.policy, self.workload, self.seed)

    def with_results(self, results: Mapping[str, Any]) -> "Row":
        """Return a new row with the results of a schedule.

        Args:
            results: What `bfenv.analysis.summarize` returns.
        """
        return replace(
            self,
            metrics=results["metrics"],
            classes=results["classes"],
            versus=Versus.from_dict(results["versus"]),
            curves=Curves.from_dict(results["curves"]),
        )

    def flat(self) -> dict[str, Any]:
        """Return what a table of policies shows: identity, seconds and metrics."""
        names = ("policy", "division", "workload", "processors", "jobs", "offered_load", "seed")
        values = {name: getattr(self, name) for name in (*names, "seconds")}
        if self.offered_load is None:
            values["offered_load"] = math.nan
        return values | dict(self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON has it; failed rows have no results."""
        values = {name: value for name, value in vars(self).items() if name not in (*PARTS, *LOCAL)}
        for name in OPTIONAL:
            if values[name] is None:
                del values[name]
        parts = {
            "metrics": dict(self.metrics),
            "classes": {name: dict(part) for name, part in self.classes.items()},
            "versus": self.versus.to_dict(),
            "curves": self.curves.to_dict(),
        }
        values |= {name: part for name, part in parts.items() if self.ok or part}
        return values | {"schema": SCHEMA, "versions": dict(self.versions)}

    def to_json(self) -> bytes:
        """Return the content of the row's file."""
        return encode_json(self.to_dict())

    @classmethod
    def from_json(cls, data: bytes, source: object) -> "Row":
        """Return the row in a file's content, checked.

        Args:
            data: The content, which may come from anywhere.
            source: Name of the file, for error messages.

        Raises:
            BfenvError: If this is not a row of schema SCHEMA; the message names the file and the
                field.
        """
        try:
            values = json.loads(data.decode(), parse_constant=lambda word: None)
            json.dumps(values, ensure_ascii=False).encode()  # half a character cannot be printed
            return cls._from_values(values, source)
        except BfenvError:
            raise
        except (ValueError, RecursionError) as error:
            raise BfenvError(f"{source}: cannot be read: {error}") from error

    @classmethod
    def _from_values(cls, values: Any, source: object) -> "Row":
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            raise BfenvError(f"{source}: not a leaderboard's row of schema {SCHEMA}")
        check_fields(values, REQUIRED, source)
        results = {part: values.get(part, {}) for part in PARTS}
        check_fields(results, dict.fromkeys(PARTS, Mapping), source)
        check_results(results, source)
        required = {name: values[name] for name in REQUIRED}
        required["versions"] = {name: str(value) for name, value in values["versions"].items()}
        for name, choices in CHOICES.items():
            value = values.get(name)
            if value not in choices and not (name in OPTIONAL and value is None):
                expected = f"must be one of {', '.join(choices)}, got {value!r:.60}"
                raise BfenvError(f"{source}: field {name!r} {expected}")
        texts: dict[str, Any] = {
            name: None if values.get(name) is None else str(values[name]) for name in OPTIONAL
        }
        row = cls(**required, error=str(values.get("error", "")), **texts)
        return row.with_results(results)


def new_row(trace: Trace, **identity: Any) -> Row:
    """Return a row without results of a run on a trace, which belongs to no suite by default.

    The identity has "policy" and "kind", and whatever differs from what follows from the trace.
    """
    load = trace.offered_load
    values: dict[str, Any] = {
        "suite": "",
        "workload": trace.name,
        "source": trace.name,
        "workload_hash": trace.content_hash,
        "processors": trace.processors,
        "jobs": len(trace),
        "load": None,
        "offered_load": load if math.isfinite(load) else None,
        "seed": 0,
        "status": "ok",
        "versions": versions(),
        "commit": None,
        "command": "",
    }
    return Row(**values | identity)


CHOICES = {"kind": (*KINDS, "log"), "division": DIVISIONS}
OPTIONAL = ("code", "division", "foresight", "sandbox", "schedule_hash")  # left out if None
PARTS = ("metrics", "classes", "versus", "curves")  # the results of a run
LOCAL = ("seconds", "is_uncompiled", "schedule", "decision_seconds")  # not in files
_types = get_type_hints(Row)
REQUIRED = {
    entry.name: _types[entry.name]
    for entry in fields(Row)
    if entry.default is entry.default_factory is MISSING
}  # types by name


def failures(rows: Iterable[Row]) -> list[str]:
    """Describe failed rows: each error of a policy once, with the first run and their number."""
    groups: dict[tuple[str, str | None], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.policy, row.error), []).append(row)
    texts = []
    for (policy, error), (first, *more) in groups.items():
        runs = f" and {counted(len(more), 'other run')}" if more else ""
        texts.append(f"{policy} on {first.workload}, seed {first.seed}{runs}: {error}")
    return texts


def row_key(kind: str, policy: str, workload: str, seed: int) -> str:
    """Return a file name, safe on every system, that no other row of a suite has."""
    exact = json.dumps([kind, policy, workload, seed])
    digest = hashlib.sha256(exact.encode()).hexdigest()[:12]
    return f"{_safe_name(policy)}_{_safe_name(workload)}_{seed}_{digest}"


def encode_json(value: Mapping[str, Any]) -> bytes:
    """Return the one form in which the leaderboard writes JSON: sorted, a line per value."""
    return (json.dumps(value, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()


def _safe_name(text: str) -> str:
    """Part of a file name that leads nowhere else, of letters, digits, dots, plus and minus."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", text)[:40].lstrip(".+-").rstrip(".-") or "x"


def _slowdown_curve(value: Any) -> SlowdownCurve | None:
    """Read the curve; None if it is not one."""
    if not isinstance(value, Mapping):
        return None
    time, ratios = value.get("time"), value.get("slowdown_ratio")
    if are_amounts(time) and isinstance(ratios, list) and all(map(is_number, ratios)):
        return SlowdownCurve(tuple(time), tuple(ratios))
    return None


def check_fields(values: Mapping[str, Any], types: Mapping[str, Any], source: object) -> None:
    """Check that all fields are there and of their types.

    * `values`: the decoded row.
    * `types`: type of each field, one of CHECKS.
    * `source`: Name of the file, for error messages.

    Raises BfenvError if a field is missing or of another type; the message names the file and the
    field.
    """
    for name, kind in types.items():
        is_good, expected = CHECKS[kind]
        if name not in values:
            raise BfenvError(f"{source}: field {name!r} is missing, expected {expected}")
        _demand(is_good(values[name]), source, name, expected, values[name])


def check_results(results: Mapping[str, Mapping[str, Any]], source: object) -> None:
    """Check metrics, classes, versus and curves: what is calculated with must be numbers.

    Raises BfenvError as `check_fields` does.
    """
    for name, value in results["metrics"].items():
        _demand(is_number(value), source, f"metrics.{name}", "a number or null", value)
    for name, part in results["classes"].items():
        is_class = isinstance(part, dict) and all(map(is_number, part.values()))
        _demand(is_class, source, f"classes.{name}", "an object of numbers", part)
    for name, value in results["versus"].items():
        if name != "reference":
            expected = f"null or an object with the numbers {', '.join(ENDS)}"
            is_good = value is None or (
                isinstance(value, dict) and all(is_number(value.get(end)) for end in ENDS)
            )
            _demand(is_good, source, f"versus.{name}", expected, value)
    waits, queue = (results["curves"].get(name) for name in ("wait_quantiles", "queue_length"))
    expected = "ascending numbers >= 0"
    _demand(waits is None or _ascend(waits), source, "curves.wait_quantiles", expected, waits)
    expected = "an object of k + 1 ascending times and k numbers of jobs >= 0"
    is_good = queue is None
    if isinstance(queue, dict):
        time, jobs = queue.get("time"), queue.get("jobs")
        is_good = _ascend(time) and are_amounts(jobs) and len(time) == len(jobs) + 1
    _demand(is_good, source, "curves.queue_length", expected, queue)


def is_number(value: Any) -> bool:
    """Whether the value is a number below LARGEST, or None."""
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def are_amounts(values: Any) -> TypeGuard[list[float]]:
    """Whether the values are a list of numbers, none of them negative."""
    return isinstance(values, list) and all(map(_is_amount, values))


def _is_amount(value: Any) -> bool:
    return value is not None and is_number(value) and value >= 0


CHECKS: Mapping[Any, tuple[Callable[[Any], bool], str]] = {
    str: (lambda value: isinstance(value, str), "text"),
    str | None: (lambda value: value is None or isinstance(value, str), "text or null"),
    int: (lambda value: isinstance(value, int) and _is_amount(value), "an integer >= 0"),
    float | None: (lambda value: value is None or _is_amount(value), "a number >= 0 or null"),
    Mapping[str, str]: (lambda value: isinstance(value, dict), "an object"),
    Mapping: (lambda value: isinstance(value, dict), "an object"),
}  # whether a value is of a type, and how an error message describes the type


def _ascend(values: Any) -> TypeGuard[list[float]]:
    return are_amounts(values) and all(a <= b for a, b in pairwise(values))


def _demand(is_good: bool, source: object, name: str, expected: str, value: Any) -> None:
    if not is_good:
        raise BfenvError(f"{source}: field {name[:80]!r} must be {expected}, got {shown(value)}")
