"""The ranking in words: its columns, its title and its notes, for every kind of report."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import bfenv.analysis.formatting as fmt
from bfenv.core.errors import BfenvError
from bfenv.core.policy import COMPLETION
from bfenv.core.text import counted, one_line
from bfenv.core.versions import versions
from bfenv.evaluation.episodes import MANY_OUTSIDE, outside_note
from bfenv.evaluation.row import Row, failures
from bfenv.evaluation.summary import MARK, STARVES_RULE, divisions_meaning
from bfenv.leaderboard.foresight import NOT_CHECKED
from bfenv.leaderboard.standings import (
    MEASURES,
    Standing,
    division,
    interval_notes,
    rank_policies,
)
from bfenv.leaderboard.store import Leaderboard
from bfenv.leaderboard.suite import OWN_PREFIX

WAITS = ("mean_wait", "p95_wait")  # for whose unit the table is readable
SHARED_RANK = (
    "Policies share a rank if the data cannot tell them from the first of them: the 95 % interval "
    "of the difference on the same jobs contains 0. The next rank is 1 + the number of policies "
    "above."
)


class Column(NamedTuple):
    """A column of the ranking."""

    heading: str
    lines: str  # the heading in text, with line breaks; empty if it is on the page only
    texts: Callable[[Sequence[Standing]], Sequence[str]]  # of all lines
    value: Callable[[Standing], float | str | None]  # to sort by


def _each(text: Callable[[Standing], str]) -> Callable[[Sequence[Standing]], list[str]]:
    return lambda lines: [text(line) for line in lines]


def _durations(name: str) -> Callable[[Sequence[Standing]], list[str]]:
    """Write a duration of each line, all columns in one unit."""

    def texts(lines: Sequence[Standing]) -> list[str]:
        like = fmt.typical_duration(getattr(line, name) for line in lines for name in WAITS)
        return fmt.durations((getattr(line, name) for line in lines), [like])

    return texts


def interval_text(line: Standing) -> str:
    """Write the interval of the score."""
    return fmt.MISSING if line.low is None else f"{fmt.ratio(line.low)} to {fmt.ratio(line.high)}"


def _column(heading: str, lines: str, field: str, text: Callable[[Any], str]) -> Column:
    values = operator.attrgetter(field)
    return Column(heading, lines, _each(lambda line: text(values(line))), values)


COLUMNS = (
    Column(
        "policy",
        "policy",
        _each(lambda line: line.policy + MARK * line.starves),
        lambda line: line.policy.lower(),
    ),
    _column("rank", "rank", "rank", lambda rank: fmt.MISSING if rank is None else str(rank)),
    _column("penalized slowdown", "penalized\nslowdown", "penalized", fmt.ratio),
    Column("95 % interval", "95 % interval", _each(interval_text), lambda line: line.low),
    _column("slowdown / EASY's", "slowdown\n/ EASY's", "ratio", fmt.ratio),
    _column("longest wait / EASY's", "longest\n/ EASY's", "longest_ratio", fmt.ratio),
    _column("bounded slowdown", "bounded\nslowdown", "mean_bounded_slowdown", fmt.slowdown),
    Column("mean wait", "mean\nwait", _durations("mean_wait"), lambda line: line.mean_wait),
    Column("p95 wait", "p95\nwait", _durations("p95_wait"), lambda line: line.p95_wait),
    Column("longest wait", "longest\nwait", _durations("max_wait"), lambda line: line.max_wait),
    _column("machine used", "used", "utilization", fmt.percent),
    _column("runs", "", "rows", str),
    _column("failed", "", "failed", str),
    _column("division", "division", "division", str),
)
TEXT_COLUMNS = tuple(column for column in COLUMNS if column.lines)


def columns_by(by: str) -> tuple[Column, ...]:
    """Return TEXT_COLUMNS with the measure ranked by, and its interval, behind the rank."""
    name, rank, penalized, interval, slowdown, *columns = TEXT_COLUMNS
    if by == "penalized":
        return TEXT_COLUMNS
    if MEASURES.get(by, by) == MEASURES["slowdown"]:
        return (name, rank, slowdown, interval, penalized, *columns)
    words = by.replace("_", " ")
    score = _column(f"{words} / EASY's", f"{words}\n/ EASY's", "score", fmt.ratio)
    return (name, rank, score, interval, penalized, slowdown, *columns)


def telling_columns(lines: Sequence[Standing], columns: Sequence[Column]) -> list[Column]:
    """Return the columns without those that say nothing of these policies."""
    silent = set()
    if {line.division for line in lines} == {COMPLETION}:
        silent |= {"division"}
    if all(line.rank is None for line in lines):
        silent |= {"rank"}
    if all(line.rows + line.failed <= 1 for line in lines):  # each has a single run
        silent |= {"runs"}
        if all(line.low is None for line in lines):
            silent |= {"95 % interval"}
            if {line.rank for line in lines} == {1}:
                silent |= {"rank"}
        if not any(line.failed for line in lines):
            silent |= {"failed"}
    return [column for column in columns if column.heading not in silent]


def ranked(leaderboard: Leaderboard, by: str = "penalized") -> list[Standing]:
    """Rank the policies of a leaderboard, failed rows included; `by` as of `rank_policies`."""
    return rank_policies(leaderboard.all_rows, by)


def title(leaderboard: Leaderboard) -> str:
    """Return the suite's name, or your own workloads', and how many policies and runs it has."""
    rows = leaderboard.all_rows
    policies, workloads = {row.policy for row in rows}, {row.workload for row in rows}
    is_own = leaderboard.suite.startswith(OWN_PREFIX)  # a name for programs
    name = ", ".join(sorted(workloads)) if is_own else leaderboard.suite
    return (
        f"{name}: {counted(len(policies), 'policy', 'policies')} on "
        f"{counted(len(workloads), 'workload')}, {counted(len(rows), 'run')}"
    )


def notes(leaderboard: Leaderboard, lines: Sequence[Standing], *, failed: bool = True) -> list[str]:
    """Explain the ranking, and report failed rows in text.

    * `leaderboard`: what was ranked.
    * `lines`: its ranking.
    * `failed`: also list the failed rows, which the page does elsewhere.
    """
    texts = [
        "Penalized slowdown is (mean bounded slowdown / EASY's) x max(1, longest wait / E) on the "
        "same jobs; E is EASY's longest wait, or an hour if that is longer. "
        "Ratios to EASY's are geometric means over workloads and seeds. The metrics are means over "
        "runs; the longest wait is that of all runs."
    ]
    if any(line.starves for line in lines):
        texts.append(f"{STARVES_RULE}.")
    shared = Counter((line.division, line.rank) for line in lines if line.rank is not None)
    if any(count > 1 for count in shared.values()) and any(line.low is not None for line in lines):
        texts.append(SHARED_RANK)
    texts += interval_notes(lines, leaderboard.rows)
    if {line.division for line in lines} != {COMPLETION}:
        texts.append(divisions_meaning())
    texts += agent_notes(leaderboard.rows)
    texts += foresight_notes(leaderboard.rows)
    if any(line.rank is None for line in lines):
        texts.append(
            f"{fmt.MISSING} no rank: some of its runs, or of EASY's on the same jobs, failed or "
            "are missing."
        )
    ranks = {line.rank for line in lines}
    if len(lines) > 1 and ranks == {1} and all(line.low is None for line in lines):
        texts.append(
            "There are no ranks: they need several workloads or seeds. The order is by the measure."
        )
    texts += version_notes(leaderboard.rows)
    if failed:
        texts += [f"Failed: {text}" for text in failures(leaderboard.failed)]
    return texts


def agent_notes(rows: Sequence[Row]) -> list[str]:
    """Return what the rows of agents note: jobs outside the window, and replaced actions."""
    texts = []
    for name in dict.fromkeys(row.policy for row in rows if row.kind == "agent"):
        metrics = [row.metrics for row in rows if (row.kind, row.policy) == ("agent", name)]
        decisions, outside, replaced = (
            [values.get(metric) or 0.0 for values in metrics]
            for metric in ("decisions", "outside_window", "replaced_actions")
        )
        total = max(sum(decisions), 1.0)
        share = sum(a * b for a, b in zip(outside, decisions, strict=True)) / total
        if share > MANY_OUTSIDE:
            texts.append(outside_note(name, share))
        if sum(replaced) > 0:
            texts.append(
                f"{name}: {fmt.percent(sum(replaced) / total)} of its choices were illegal: the "
                "model's best legal action replaced them"
            )
    return texts


def version_notes(rows: Iterable[Row]) -> list[str]:
    """Return what made the rows, if that is several versions of what results may depend on.

    Of bfenv, these are the hash of its sources, or the commit in rows that are older than the hash.
    """
    makers: dict[str, set[str]] = {}
    for row in rows:
        made_by = {**dict.fromkeys(versions(), "unknown"), **row.versions}
        sources = made_by.pop("sources", row.commit)
        made_by["bfenv"] += f" ({sources})"
        for name, version in made_by.items():
            makers.setdefault(name, set()).add(version)
    several = [
        f"{name} {', '.join(sorted(makers[name]))}" for name in makers if len(makers[name]) > 1
    ]
    if not several:
        return []
    return [
        "The rows were made by several versions of programs, and are comparable only if these give "
        f"the same results: {'; '.join(several)}."
    ]


def foresight_notes(rows: Sequence[Row]) -> list[str]:
    """Return which competitors could not be tested for foresight, and why."""
    reasons = {
        row.policy: row.foresight.removeprefix(NOT_CHECKED)
        for row in rows
        if row.foresight is not None and row.foresight.startswith(NOT_CHECKED)
    }
    return [f"{name}: not tested for foresight: {reason}" for name, reason in reasons.items()]


def metric_column(leaderboard: Leaderboard, metric: str) -> Column:
    """Return a column of the mean over runs of any metric that rows have.

    Raises BfenvError if no row has it; the message lists those that there are.
    """
    names = {name for row in leaderboard.rows for name in row.metrics}
    if metric not in names:
        raise BfenvError(f"no row has the metric {metric!r}; there are {', '.join(sorted(names))}")

    def mean(line: Standing) -> float | None:
        rows = [r for r in leaderboard.rows if (r.policy, division(r)) == line[:2]]
        values = [value for r in rows if (value := r.metrics.get(metric)) is not None]
        return sum(values) / len(values) if values and len(values) == line.rows else None

    heading = metric.replace("_", " ")
    return Column(heading, heading, lambda lines: fmt.metric(metric, map(mean, lines)), mean)


def render_markdown(
    leaderboard: Leaderboard, more: Sequence[Column] = (), by: str = "penalized"
) -> str:
    """Return the ranked table and its notes; names from the rows are shown as text, not markup.

    * `more`: further columns, see `metric_column`.
    * `by`: as of `rank_policies`.
    """
    lines = ranked(leaderboard, by)
    columns = [*telling_columns(lines, columns_by(by)), *more]
    headings = " | ".join(column.lines.replace("\n", " ") for column in columns)
    rows = zip(*(column.texts(lines) for column in columns), strict=True)
    text = [
        f"**{escaped(title(leaderboard))}**",
        "",
        f"| {headings} |",
        "|---" + "|--:" * (len(columns) - 1) + "|",
        *("| " + " | ".join(map(escaped, cells)) + " |" for cells in rows),
    ]
    for note in notes(leaderboard, lines):
        text += ["", escaped(note)]
    return "\n".join(text) + "\n"


def escaped(text: str) -> str:
    """Escape text so that Markdown shows it as it is, in one line."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$#!])", r"\\\1", text)
