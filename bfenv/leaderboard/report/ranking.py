"""The ranking in words: its columns, its title and its notes, for every kind of report."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bfenv.analysis.formatting import MISSING, durations, percent, ratio, slowdown
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.policy import COMPLETION, DIVISIONS_MEANING
from bfenv.core.text import counted, one_line
from bfenv.core.versions import versions
from bfenv.evaluation.episodes import MANY_OUTSIDE, outside_note
from bfenv.evaluation.row import Row, failures
from bfenv.evaluation.summary import STARVES_MEANING
from bfenv.leaderboard.standings import Standing, division, rank_policies
from bfenv.leaderboard.store import Leaderboard
from bfenv.leaderboard.suite import OWN
from bfenv.players.foresight import NOT_CHECKED

MARK = "*"  # of a policy that starves
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
    is_marked: bool = False  # MARK follows the text if the policy starves
    has_badge: bool = False  # the same on the page

    def marked(self, lines: Sequence[Standing]) -> list[str]:
        """Return the texts, with the mark of policies that starve."""
        return [
            text + (MARK if self.is_marked and line.starves else "")
            for text, line in zip(self.texts(lines), lines, strict=True)
        ]


def _each(text: Callable[[Standing], str]) -> Callable[[Sequence[Standing]], list[str]]:
    return lambda lines: [text(line) for line in lines]


def _durations(name: str) -> Callable[[Sequence[Standing]], list[str]]:
    """Write a duration of each line, all in one unit."""
    return lambda lines: durations(getattr(line, name) for line in lines)


def _interval(line: Standing) -> str:
    return MISSING if line.low is None else f"{ratio(line.low)} to {ratio(line.high)}"


COLUMNS = (
    Column("policy", "policy", _each(lambda line: line.policy), lambda line: line.policy.lower()),
    Column("division", "division", _each(lambda line: line.division), lambda line: line.division),
    Column(
        "rank",
        "rank",
        _each(lambda line: MISSING if line.rank is None else str(line.rank)),
        lambda line: None if line.rank is None else float(line.rank),
    ),
    Column(
        "slowdown / EASY's",
        "slowdown\n/ EASY's",
        _each(lambda line: ratio(line.ratio)),
        lambda line: line.ratio,
        is_marked=True,
        has_badge=True,
    ),
    Column("95 % interval", "95 % interval", _each(_interval), lambda line: line.low),
    Column(
        "bounded slowdown",
        "bounded\nslowdown",
        _each(lambda line: slowdown(line.mean_bounded_slowdown)),
        lambda line: line.mean_bounded_slowdown,
        is_marked=True,
    ),
    Column(
        "mean wait",
        "mean\nwait",
        _durations("mean_wait"),
        lambda line: line.mean_wait,
        is_marked=True,
    ),
    Column("p95 wait", "p95\nwait", _durations("p95_wait"), lambda line: line.p95_wait),
    Column(
        "longest wait",
        "longest\nwait",
        _durations("max_wait"),
        lambda line: line.max_wait,
        is_marked=True,
    ),
    Column(
        "machine used",
        "used",
        _each(lambda line: percent(line.utilization)),
        lambda line: line.utilization,
    ),
    Column("runs", "", _each(lambda line: str(line.rows)), lambda line: float(line.rows)),
    Column("failed", "", _each(lambda line: str(line.failed)), lambda line: float(line.failed)),
)
TEXT_COLUMNS = tuple(column for column in COLUMNS if column.lines)


def telling_columns(lines: Sequence[Standing], columns: Sequence[Column]) -> list[Column]:
    """Return the columns without those that say nothing where each policy has a single run."""
    if any(line.rows + line.failed > 1 for line in lines):
        return list(columns)
    silent = {"runs"}
    if all(line.low is None for line in lines):
        silent |= {"95 % interval"}
        if {line.rank for line in lines} == {1}:
            silent |= {"rank"}
    if not any(line.failed for line in lines):
        silent |= {"failed"}
    return [column for column in columns if column.heading not in silent]


def ranked(leaderboard: Leaderboard) -> list[Standing]:
    """Rank the policies of a leaderboard, failed rows included."""
    return rank_policies(leaderboard.all_rows)


def title(leaderboard: Leaderboard) -> str:
    """Return the suite's name, or your own workloads', and how many policies and runs it has."""
    rows = leaderboard.all_rows
    policies, workloads = {row.policy for row in rows}, {row.workload for row in rows}
    is_own = leaderboard.suite.startswith(OWN)  # a name for programs
    name = ", ".join(sorted(workloads)) if is_own else leaderboard.suite
    return (
        f"{name}: {counted(len(policies), 'policy', 'policies')} on "
        f"{counted(len(workloads), 'workload')}, {counted(len(rows), 'run')}"
    )


def notes(leaderboard: Leaderboard, lines: Sequence[Standing], *, mark: bool = True) -> list[str]:
    """Explain the ranking, and report failed rows in text.

    * `leaderboard`: what was ranked.
    * `lines`: its ranking.
    * `mark`: also explain MARK and list the failed rows, which the page does elsewhere.
    """
    texts = [
        "Slowdown / EASY's is the geometric mean, over workloads and seeds, of the mean bounded "
        "slowdown divided by EASY's on the same jobs. The metrics are means over runs; the "
        "longest wait is that of all runs."
    ]
    shared = Counter((line.division, line.rank) for line in lines if line.rank is not None)
    if any(count > 1 for count in shared.values()) and any(line.low is not None for line in lines):
        texts.append(SHARED_RANK)
    if {line.division for line in lines} != {COMPLETION}:
        texts.append(DIVISIONS_MEANING)
    texts += agent_notes(leaderboard.rows)
    texts += foresight_notes(leaderboard.rows)
    if mark and any(line.starves for line in lines):
        texts.append(f"{MARK} starves: {STARVES_MEANING}")
    if any(line.rank is None for line in lines):
        texts.append(
            f"{MISSING} no rank: some of its runs, or of EASY's on the same jobs, failed or are "
            "missing."
        )
    ranks = [line.rank for line in lines]
    if len(lines) > 1 and set(ranks) == {1} and all(line.low is None for line in lines):
        texts.append(
            "There are no ranks: a single run has no interval, so no difference is sure. Ranks "
            "need several workloads or seeds."
        )
    texts += version_notes(leaderboard.rows)
    if mark:
        texts += [f"Failed: {text}" for text in failures(leaderboard.failed)]
    return texts


def agent_notes(rows: Sequence[Row]) -> list[str]:
    """Return what the rows of agents note: jobs outside the window, and replaced actions."""
    texts = []
    for name in dict.fromkeys(row.policy for row in rows if row.kind == "agent"):
        metrics = [row.metrics for row in rows if (row.kind, row.policy) == ("agent", name)]
        decisions, outside, replaced = (
            [one.get(what) or 0.0 for one in metrics]
            for what in ("decisions", "outside_window", "replaced_actions")
        )
        total = max(sum(decisions), 1.0)
        share = sum(a * b for a, b in zip(outside, decisions, strict=True)) / total
        if share > MANY_OUTSIDE:
            texts.append(outside_note(name, share))
        if sum(replaced) > 0:
            texts.append(
                f"{name}: {percent(sum(replaced) / total)} of its choices were illegal: the "
                "model's best legal action replaced them"
            )
    return texts


def version_notes(rows: Iterable[Row]) -> list[str]:
    """Return what made the rows, if that is several versions of what results may depend on.

    Of bfenv, these are the hash of its sources, or the commit in rows that are older than the hash.
    """
    found: dict[str, set[str]] = {}
    for row in rows:
        made_by = {**dict.fromkeys(versions(), "unknown"), **row.versions}
        sources = made_by.pop("sources", row.commit)
        made_by["bfenv"] += f" ({sources})"
        for name, version in made_by.items():
            found.setdefault(name, set()).add(version)
    several = [f"{name} {', '.join(sorted(found[name]))}" for name in found if len(found[name]) > 1]
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


BEGIN, END = "<!-- begin: leaderboard -->", "<!-- end -->"


def metric_column(leaderboard: Leaderboard, metric: str) -> Column:
    """Return a column of the mean over runs of any metric that rows have.

    Raises BfenvError if no row has it; the message lists those that there are.
    """
    known = {name for row in leaderboard.rows for name in row.metrics}
    if metric not in known:
        raise BfenvError(f"no row has the metric {metric!r}; there are {', '.join(sorted(known))}")

    def mean(line: Standing) -> float | None:
        own = [r for r in leaderboard.rows if (r.policy, division(r)) == line[:2]]
        found = [value for r in own if (value := r.metrics.get(metric)) is not None]
        return sum(found) / len(found) if len(found) == line.rows else None

    heading = metric.replace("_", " ")
    return Column(heading, heading, _each(lambda line: slowdown(mean(line))), mean)


def render_markdown(leaderboard: Leaderboard, more: Sequence[Column] = ()) -> str:
    """Return the ranked table and its notes; names from the rows are shown as text, not markup.

    * `more`: further columns, see `metric_column`.
    """
    lines = ranked(leaderboard)
    columns = [*telling_columns(lines, TEXT_COLUMNS), *more]
    headings = (column.lines.replace("\n", " ") for column in columns)
    text = [f"**{escaped(title(leaderboard))}**", ""]
    text.append("| " + " | ".join(headings) + " |")
    text.append("|---|---" + "|--:" * (len(columns) - 2) + "|")
    for cells in zip(*(column.marked(lines) for column in columns), strict=True):
        text.append("| " + " | ".join(map(escaped, cells)) + " |")
    for note in notes(leaderboard, lines):
        text += ["", escaped(note)]
    return "\n".join(text) + "\n"


def escaped(text: str) -> str:
    """Escape text so that Markdown shows it as it is, in one line."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$#!])", r"\\\1", text)


def write_readme(path: Path, text: str) -> None:
    """Replace the text between the marks BEGIN and END of a README, atomically.

    Raises BfenvError if the file is not UTF-8 text, does not have exactly one pair of marks, or
    cannot be written.
    """
    try:
        readme = path.read_bytes().decode()  # keeps the line ends
    except UnicodeDecodeError as error:
        raise BfenvError(f"{path}: is not text in UTF-8: {error}") from error
    write_atomically(path, with_block(readme, text, path).encode())


def with_block(readme: str, text: str, path: Path) -> str:
    """Return the README's text with `text` between the marks; `path` is for error messages."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after:
        raise BfenvError(f"{path}: needs one {BEGIN} and {END} after it")
    return f"{before}{BEGIN}\n{text}{END}{after}"
