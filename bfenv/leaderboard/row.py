"""One row of a leaderboard: a typed record, and its form in JSON.

A row holds what depends on the task and on the versions of the programs only, so it has the same
bytes on every machine. Times, which differ from run to run, are in another file.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, get_type_hints

from bfenv.core.errors import BfenvError
from bfenv.core.policy import DIVISIONS
from bfenv.leaderboard.row_checks import are_amounts, check_fields, check_results, is_number

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
        return cls(**{one.name: _number_or_none(values.get(one.name)) for one in fields(cls)})


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
    """The result of one policy or agent on one trace of a suite."""

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
    error: str = ""  # why it failed
    code: str | None = None  # hash of a saved model, or of a module outside bfenv
    division: str | None = None  # one of DIVISIONS; None in rows that are older than these
    foresight: str | None = None  # what was found, see `bfenv.players.foresight`; None: not tried
    sandbox: str | None = None  # of its player, see `bfenv.players`; None if it needs no player
    schedule_hash: str | None = None  # of all starts and ends; None if it failed, or is older
    metrics: Mapping[str, float | None] = field(default_factory=dict)  # see `bfenv.metrics`
    classes: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)  # of jobs
    versus: Versus = field(default_factory=Versus)  # comparison with EASY on the same jobs
    curves: Curves = field(default_factory=Curves)  # for charts

    @property
    def ok(self) -> bool:
        """Whether the run came to its end, so that the row has results."""
        return self.status == "ok"

    @property
    def key(self) -> str:
        """Name of the row's files without suffix, see `row_key`."""
        return row_key(self.kind, self.policy, self.workload, self.seed)

    def with_results(self, results: Mapping[str, Any]) -> "Row":
        """Add the results of a schedule to a row.

        Parameters
        ----------
        results
            What `bfenv.analysis.summarize` returns.

        Returns
        -------
        Row
            A new row.
        """
        return replace(
            self,
            metrics=results["metrics"],
            classes=results["classes"],
            versus=Versus.from_dict(results["versus"]),
            curves=Curves.from_dict(results["curves"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON has it; failed rows have no results."""
        values = {name: value for name, value in vars(self).items() if name not in PARTS}
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
    def from_json(cls, data: bytes, where: object) -> "Row":
        """Read and check the content of a row's file.

        Parameters
        ----------
        data
            The content, which may come from anywhere.
        where
            Name of the file, for error messages.

        Returns
        -------
        Row
            Checked.

        Raises
        ------
        BfenvError
            If this is not a row of schema SCHEMA; the message names the file and the field.
        """
        try:
            values = json.loads(data.decode(), parse_constant=lambda word: None)
            json.dumps(values, ensure_ascii=False).encode()  # half a character cannot be printed
            return cls._from_values(values, where)
        except BfenvError:
            raise
        except (ValueError, RecursionError) as error:
            raise BfenvError(f"{where}: cannot be read: {error}") from error

    @classmethod
    def _from_values(cls, values: Any, where: object) -> "Row":
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            raise BfenvError(f"{where}: not a leaderboard's row of schema {SCHEMA}")
        check_fields(values, REQUIRED, where)
        results = {part: values.get(part, {}) for part in PARTS}
        check_fields(results, dict.fromkeys(PARTS, Mapping), where)
        check_results(results, where)
        known = {name: values[name] for name in REQUIRED}
        known["versions"] = {name: str(value) for name, value in values["versions"].items()}
        for name, choices in CHOICES.items():
            value = values.get(name)
            if value not in choices and not (name in OPTIONAL and value is None):
                expected = f"must be one of {', '.join(choices)}, got {value!r:.60}"
                raise BfenvError(f"{where}: field {name!r} {expected}")
        texts: dict[str, Any] = {
            name: None if values.get(name) is None else str(values[name]) for name in OPTIONAL
        }
        row = cls(**known, error=str(values.get("error", "")), **texts)
        return row.with_results(results)


CHOICES = {"kind": (*KINDS, "log"), "division": DIVISIONS}
OPTIONAL = (
    "code",
    "division",
    "foresight",
    "sandbox",
    "schedule_hash",
)  # left out where they are None
PARTS = ("metrics", "classes", "versus", "curves")  # the results of a run
_types = get_type_hints(Row)
REQUIRED = {
    one.name: _types[one.name]
    for one in fields(Row)
    if one.default is one.default_factory is MISSING
}  # types by name


def row_key(kind: str, policy: str, workload: str, seed: int) -> str:
    """Return a file name, safe on every system, that no other row of a suite has."""
    exact = json.dumps([kind, policy, workload, seed])
    digest = hashlib.sha256(exact.encode()).hexdigest()[:12]
    return f"{_safe_name(policy)}_{_safe_name(workload)}_{seed}_{digest}"


def encode_json(value: Mapping[str, Any]) -> bytes:
    """Return the one form in which the leaderboard writes JSON: sorted, a line per value."""
    return (json.dumps(value, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()


def _safe_name(text: str, longest: int = 40) -> str:
    """Part of a file name that leads nowhere else, of letters, digits, dots, plus and minus."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", text)[:longest].lstrip(".+-").rstrip(".-") or "x"


def _number_or_none(value: Any) -> Any:
    return value if is_number(value) else None


def _slowdown_curve(value: Any) -> SlowdownCurve | None:
    """Read the curve; None if it is not one."""
    if not isinstance(value, Mapping):
        return None
    time, ratios = value.get("time"), value.get("slowdown_ratio")
    if are_amounts(time) and isinstance(ratios, list) and all(map(is_number, ratios)):
        return SlowdownCurve(tuple(time), tuple(ratios))
    return None
