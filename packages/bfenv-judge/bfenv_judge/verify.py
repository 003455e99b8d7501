"""Verify the rows of a leaderboard: run them again, and check all that they claim."""

import json
import math
import random
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from bfenv.agents.agent_names import read_agent
from bfenv.agents.player import NOTES
from bfenv.analysis.logged import LOGGED
from bfenv.core.errors import BfenvError
from bfenv.core.files import read_file
from bfenv.core.policy import TRIALS, division_of
from bfenv.core.schedule import Schedule
from bfenv.evaluation.cases import Case
from bfenv.evaluation.evaluator import with_schedule
from bfenv.evaluation.row import KINDS, Row
from bfenv.leaderboard.defaults import TIMEOUT
from bfenv.leaderboard.entrants import check_identity
from bfenv.leaderboard.limits import DEFAULT_LIMITS, PlayerLimits
from bfenv.leaderboard.make_row import make_row
from bfenv.leaderboard.replay import schedule_hash, schedule_of
from bfenv.leaderboard.store import (
    CONTENTS,
    LARGEST,
    Leaderboard,
    read_leaderboard,
    read_rows,
    schedule_file,
    under_labels,
)
from bfenv.leaderboard.suite import OWN_PREFIX, Suite, find_suite, suite_of
from bfenv.leaderboard.task import Task, plan_rows
from bfenv.parallel.sweep import run_tasks
from bfenv.parallel.worker_process import close_worker
from bfenv_judge.leaderboard_bounds import check_bounds

__all__ = ["CheckResult", "verify"]

HOLDS, WRONG, UNCHECKED, UNVERIFIED = "holds", "wrong", "not checked", "unverified"
AS_KEPT = "its schedule was kept and gives its results, but it was not run again"
CHECKS = ("suite", "file", "name", "workload", "schedule", "run again", "results", "bounds")


class CheckResult(NamedTuple):
    """What came of one check of a row, or of the whole folder."""

    check: str  # one of CHECKS
    verdict: str  # HOLDS, WRONG, UNCHECKED or UNVERIFIED
    reason: str = ""  # what was found; "" if there is nothing to add
    row: Row | None = None  # None: about the folder


def verify(
    folder: Path,
    *,
    sample: int | None = None,
    seed: int = 0,
    workloads: Sequence[str] = (),
    trust: bool = False,
    timeout: float = TIMEOUT,
    limits: PlayerLimits = DEFAULT_LIMITS,
    waiting: Callable[[str], None] = lambda text: None,
    begin: Callable[[int], None] = lambda rows: None,
    **workers: Any,
) -> Iterator[CheckResult]:
    """Check a leaderboard's folder, which may come from anywhere.

    The suite must be the one of its name, and every row on one of its traces. The files of rows
    must have the bytes that bfenv writes: no other fields, and none twice. Names must be those
    of bfenv's own policies and agents, or unlike them, and bfenv's own have no other code.
    Schedules that were kept must be possible on the machine, and give all results of their rows.
    Rows are run again, and must have the same bytes, except for versions, commit and sandbox.
    Bounds must hold, and no policy that runs jobs to completion may be below them.

    The results of a row are unverified if it was not run again: a schedule that was kept gives its
    results, but does not show who made it.

    Args:
        folder: As `bfenv leaderboard run --out` leaves it.
        sample: Run only this many rows again, drawn at random; None for all.
        seed: Of the draw.
        workloads: Those of a suite of someone's own logs, see `suite_of`.
        trust: Open saved models, and run the commands of players.
        timeout: Seconds that a row may take.
        limits: What a player may use.
        waiting: Called with the name of a competitor that is run again.
        begin: Called with the number of verdicts to come.
        **workers: Where to run rows again: `jobs`, `backend` and `scheduler` of
            `bfenv.parallel.run_tasks`.

    Yields:
        The verdict of each check, as soon as it is made.

    Raises:
        BfenvError: If the folder holds no rows, or some that cannot be read.
    """
    leaderboard = read_leaderboard(folder, check_names=False)
    rows = [*leaderboard.logged, *leaderboard.all_rows]
    changed_keys = {row.key for _, content, row in read_rows(folder) if content != row.to_json()}
    keys = [row.key for row in rows]
    is_part = sample is not None and sample < len(keys)
    drawn = set(random.Random(seed).sample(keys, sample or 0) if is_part else keys)
    begin(2 + 4 * len(rows) + len(drawn))
    suite: Suite | None = None
    verdict = CheckResult("suite", HOLDS)
    try:
        suite = _find_suite(leaderboard, workloads)
    except _MissingError as error:
        verdict = CheckResult("suite", UNCHECKED, str(error))
    except BfenvError as error:
        verdict = CheckResult("suite", WRONG, str(error))
    yield verdict
    sources = {
        _Place(entry.label, i, entry.trace(i).source): entry.trace(i).hash
        for entry in (() if suite is None else suite.entries)
        for i in range(suite.seeds if suite else 0)
    }
    limits = limits.hiding(folder / part for part in CONTENTS)
    limits = limits.hiding(() if suite is None else suite.files)
    if workloads:
        leaderboard = _with_sources(leaderboard, sources)
    rows = [*leaderboard.logged, *leaderboard.all_rows]
    rows.sort(key=lambda row: row.source)  # the traces loaded last are kept
    keys_with_trace = {
        row.key
        for row in rows
        if sources.get(_Place(row.workload, row.seed, row.source)) == row.workload_hash
    }
    again = {
        row.key: _plan_again(row, suite if row.key in keys_with_trace else None, trust, limits)
        for row in rows
        if row.key in drawn
    }
    tasks = [task for task in again.values() if isinstance(task, Task)]
    results = run_tasks(
        make_row,
        [(task, timeout, False, limits) for task in tasks],
        competitors=[task.policy for task in tasks if task.kind in ("policy", "agent")],
        warm=False,  # code of others is imported by players alone
        workloads=[(task.trace.source, {}) for task in tasks],
        ordered=True,
        **workers,
    )
    try:
        for row in rows:
            is_known = row.key in keys_with_trace
            yield _check_file(row, row.key in changed_keys)
            yield _check_name(row)
            yield _check_workload(row, suite, is_known)
            schedule = _check_schedule(leaderboard, row, is_known)
            yield schedule
            check = again.get(row.key, CheckResult("run again", UNCHECKED))
            if isinstance(check, Task):
                waiting(row.policy)
                check = _compare(row, next(results)[1].row)
            if row.key in drawn:
                yield check
            if check.verdict == UNCHECKED and schedule.verdict != WRONG:
                yield _unverified(row, schedule)
    finally:
        results.close()
        close_worker()
    yield _check_bounds(leaderboard, len(keys_with_trace) == len(rows))


class _MissingError(BfenvError):
    """What the suite is made from was not given."""


def _find_suite(leaderboard: Leaderboard, workloads: Sequence[str]) -> Suite:
    """Find the suite by its name, and check that the folder's file describes it.

    The workloads of someone's own suite get the labels that they have in the folder.

    Raises _MissingError if its workloads were not given. Raises BfenvError if it is unknown, or is
    not what the file says.
    """
    name, file = leaderboard.suite, leaderboard.folder / "suite.json"
    try:
        content = read_file(file, LARGEST, follow=False)
        json.loads(content)
    except (OSError, BfenvError, ValueError, RecursionError) as error:
        raise BfenvError(f"{file}: cannot be read: {error}") from error
    if not name.startswith(OWN_PREFIX):
        if workloads:
            raise BfenvError(f"{name} has its own workloads: others do not belong to it")
        suite = find_suite(name)
    elif not workloads:
        raise _MissingError("the workloads are someone's own: add them with --workload")
    else:
        suite = suite_of(workloads)
        if suite.name != name:
            raise BfenvError(f"with these workloads it is {suite.name}, not {name}")
    board_suite = under_labels(suite, content)
    if board_suite is None:
        raise BfenvError(f"suite.json is not {name} of this version of bfenv")
    return board_suite


class _Place(NamedTuple):
    """Where a row was made, as it says."""

    workload: str
    seed: int
    source: str


def _with_sources(leaderboard: Leaderboard, sources: Mapping[_Place, str]) -> Leaderboard:
    """Let rows name the files that were given: theirs are those of another machine."""
    places = {(place.workload, content): place.source for place, content in sources.items()}

    def moved(rows: Iterable[Row]) -> list[Row]:
        moved_rows = []
        for row in rows:
            source = places.get((row.workload, row.workload_hash), row.source)
            old, new = (f"--workload {shlex.quote(name)}" for name in (row.source, source))
            command = row.command.replace(old, new, 1)
            moved_rows.append(replace(row, source=source, command=command))
        return moved_rows

    return leaderboard._replace(
        rows=moved(leaderboard.rows),
        failed=moved(leaderboard.failed),
        logged=tuple(moved(leaderboard.logged)),
    )


def _check_file(row: Row, is_changed: bool) -> CheckResult:
    """Check that the file of a row holds nothing but the row: all other checks are of the row."""
    if is_changed:
        reason = "it has other bytes than bfenv writes for this row: fields were added or changed"
        return CheckResult("file", WRONG, reason, row)
    return CheckResult("file", HOLDS, "", row)


def _check_name(row: Row) -> CheckResult:
    """Check that a row is under the name of one of bfenv's own competitors, or under no such."""
    try:
        if row.kind == "log":
            if row.policy != LOGGED or row.code is not None:
                raise BfenvError(f"the row of a log is {LOGGED!r}, and has no code")
            return CheckResult("name", HOLDS, "", row)
        check_identity(row.kind, row.policy, row.code)
    except BfenvError as error:
        return CheckResult("name", WRONG, str(error), row)
    return CheckResult("name", HOLDS, "", row)


def _check_workload(row: Row, suite: Suite | None, is_known: bool) -> CheckResult:
    if suite is None:
        return CheckResult("workload", UNCHECKED, "its suite is not known", row)
    if not is_known:
        reason = f"{row.source} with this content is not in {suite.name} with seed {row.seed}"
        return CheckResult("workload", WRONG, reason, row)
    return CheckResult("workload", HOLDS, "", row)


def _check_schedule(leaderboard: Leaderboard, row: Row, is_known: bool) -> CheckResult:
    """Check a schedule that was kept: against the machine, the row's hash and its results."""
    if not row.ok:
        return CheckResult("schedule", UNCHECKED, "its row failed, so it has none", row)
    if not schedule_file(leaderboard.folder, row.key).exists():
        return CheckResult(
            "schedule", UNCHECKED, "it was not kept, see `run --keep-schedules`", row
        )
    if not is_known:
        return CheckResult("schedule", UNCHECKED, "its workload is not known", row)
    try:
        schedule = schedule_of(leaderboard, row)
    except BfenvError as error:
        return CheckResult("schedule", WRONG, str(error), row)
    if row.schedule_hash not in (None, schedule_hash(schedule)):
        return CheckResult("schedule", WRONG, "it is not the schedule of the row", row)
    computed = _with_schedule(row, schedule)
    names = _differences(row, computed)
    if not names:
        return CheckResult("schedule", HOLDS, "", row)
    field, _, metric = names[0].partition(".")
    reason = f"{metric or field} does not follow from the schedule"
    numbers = computed.metrics.get(metric), row.metrics.get(metric)
    if numbers != (None, None):  # these are of a metric that only one of the rows has, as null
        value, claim = _as_texts(*numbers)
        reason = f"{metric} is {value}, the row says {claim}"
    return CheckResult("schedule", WRONG, reason, row)


def _as_texts(*numbers: float | None) -> list[str]:
    """Write different numbers with six digits, or with all if six do not tell them apart."""
    texts = ["null" if number is None else f"{number:.6g}" for number in numbers]
    return texts if len(set(texts)) == len(texts) else [repr(number) for number in numbers]


def _unverified(row: Row, schedule: CheckResult) -> CheckResult:
    """Tell why the results of a row that was not run again are unverified.

    * `schedule`: the verdict on its schedule.
    """
    if not row.ok:
        reason = "it failed, and was not run again"
    elif schedule.verdict == HOLDS:
        reason = AS_KEPT
    else:
        reason = "neither was its schedule kept nor was it run again"
    return CheckResult("results", UNVERIFIED, reason, row)


def _with_schedule(row: Row, schedule: Schedule) -> Row:
    """Compute again what follows from starts and ends: all results but what an agent notes.

    A policy may have declared trials, and then have made none.
    """
    metrics = {} if row.kind != "agent" else {name: row.metrics.get(name) for name in NOTES}
    notes = {name: math.nan if value is None else value for name, value in metrics.items()}
    trials = bool((schedule.trial_end >= 0).any()) or row.division == TRIALS
    new_row = with_schedule(row, schedule, Case(row.source, is_frozen=True), notes=notes)
    return replace(
        new_row,
        division=division_of(trials, schedule.trace),
        schedule_hash=schedule_hash(schedule),
    )


def _plan_again(
    row: Row, suite: Suite | None, trust: bool, limits: PlayerLimits
) -> Task | CheckResult:
    """Return the task that makes a row again, or why it is not or cannot be made."""
    check = "run again"
    if suite is None:
        return CheckResult(check, UNCHECKED, "its workload is not known", row)
    if row.kind == "player" and not trust:
        return CheckResult(check, UNCHECKED, "a command may do anything: add --trust", row)
    try:
        if row.kind == "agent" and read_agent(row.policy).is_saved and not trust:
            return CheckResult(check, UNCHECKED, "a saved model may run any code: add --trust", row)
        policies, agents, players = ([row.policy] * (row.kind == kind) for kind in KINDS)
        plan = plan_rows(suite, policies, agents, players=players, limits=limits)
    except BfenvError as error:
        return CheckResult(check, UNCHECKED, str(error), row)
    task = next((task for task in plan if task.key == row.key), None)
    if task is None:
        return CheckResult(check, WRONG, f"{suite.name} has no such row", row)
    if task.code != row.code:
        return CheckResult(check, UNCHECKED, "its code here is another one than the row's", row)
    return task


def _compare(row: Row, new_row: Row) -> CheckResult:
    """Compare a row with one that was made again."""
    check = "run again"
    names = _differences(row, new_row)
    if not names:
        return CheckResult(check, HOLDS, "", row)
    reason = f"{names[0]} differs" + (f", and {len(names) - 1} more" if len(names) > 1 else "")
    if row.versions != new_row.versions or row.commit != new_row.commit:
        reason += "; the row was made by another version"
    return CheckResult(check, WRONG, reason, row)


def _differences(row: Row, new_row: Row) -> list[str]:
    """Name the fields and metrics in which two rows differ, but for what made them."""
    new_row = replace(new_row, versions=row.versions, commit=row.commit, sandbox=row.sandbox)
    first, second = _flat(row), _flat(new_row)
    return [
        name
        for name in first | second
        if name not in first or name not in second or first[name] != second[name]
    ]


def _flat(row: Row) -> dict[str, Any]:
    """Return the fields of a row by name, those of its metrics one by one."""
    fields = row.to_dict()
    metrics = fields.pop("metrics", {})
    return {f"metrics.{name}": value for name, value in metrics.items()} | fields


def _check_bounds(leaderboard: Leaderboard, are_known: bool) -> CheckResult:
    if not are_known:
        return CheckResult("bounds", UNCHECKED, "some workloads are not known")
    try:
        if check_bounds(leaderboard):
            return CheckResult("bounds", HOLDS)
    except BfenvError as error:
        return CheckResult("bounds", WRONG, str(error))
    return CheckResult("bounds", UNCHECKED, "there are none: see `bfenv leaderboard bound`")
