"""The leaderboard as lines of text and as Markdown, also within a README."""

import re
from collections.abc import Sequence
from pathlib import Path

from bfenv.analysis.formatting import MISSING, duration, percent, ratio, slowdown
from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.leaderboard.standings import Standing, standings
from bfenv.leaderboard.store import Board

COLUMNS = (
    "policy", "rank", "slowdown\n/ EASY's", "95 % interval", "bounded\nslowdown", "mean\nwait",
    "p95\nwait", "longest\nwait", "used",
)  # fmt: skip
DETAILS = COLUMNS[3], COLUMNS[6]  # for which a narrow terminal has no room
MARK = "*"  # of a policy that starves
BEGIN, END = "<!-- begin: leaderboard -->", "<!-- end -->"


def ranked(board: Board) -> list[Standing]:
    """The standings of a board's rows, failed ones included."""
    return standings([*board.rows, *board.failed])


def title(board: Board) -> str:
    """The suite and how much of it there is."""
    rows = [*board.rows, *board.failed]
    policies, workloads = ({row[name] for row in rows} for name in ("policy", "workload"))
    return (
        f"{board.suite}: {_many(len(policies), 'policy', 'policies')} on "
        f"{_many(len(workloads), 'workload', 'workloads')}, {_many(len(rows), 'run', 'runs')}"
    )


def cells(line: Standing) -> list[str]:
    """A line of the ranked table, a text for each of COLUMNS."""
    starves = MARK if line.starves else ""
    return [
        line.policy,
        MISSING if line.rank is None else str(line.rank),
        ratio(line.ratio) + starves,
        MISSING if line.low is None else f"{ratio(line.low)} to {ratio(line.high)}",
        slowdown(line.mean_bounded_slowdown) + starves,
        duration(line.mean_wait) + starves,
        duration(line.p95_wait),
        duration(line.max_wait) + starves,
        percent(line.utilization),
    ]


def notes(board: Board, lines: Sequence[Standing]) -> list[str]:
    """What the table does not say by itself, a sentence each."""
    said = [
        "Slowdown / EASY's is the geometric mean, over workloads and seeds, of the mean bounded "
        "slowdown over EASY's on the same jobs; waits and slowdowns beside it are means of runs, "
        "the longest wait is of all runs."
    ]
    if any(line.starves for line in lines):
        said.append(
            f"{MARK} starves: its longest wait on some workload is over twice EASY's, "
            "so that its means are bought by jobs that hardly start."
        )
    if any(line.rank is None for line in lines):
        said.append(f"{MISSING} no rank: some of its runs failed or are missing.")
    makers = {f"{row['versions'].get('bfenv')} ({row['commit']})" for row in board.rows}
    if len(makers) > 1:
        said.append(
            "The rows were made by several states of bfenv, and compare as far as these agree: "
            f"{', '.join(sorted(makers))}."
        )
    said += [
        f"Failed: {row['policy']} on {row['workload']}, seed {row['seed']}: "
        f"{' '.join(row['error'].split())}"
        for row in board.failed
    ]
    return said


def markdown(board: Board) -> str:
    """The ranked table and its notes; names from the rows are text in it, never markup."""
    lines = ranked(board)
    text = [f"**{escaped(title(board))}**", ""]
    text.append("| " + " | ".join(column.replace("\n", " ") for column in COLUMNS) + " |")
    text.append("|---" + "|--:" * (len(COLUMNS) - 1) + "|")
    text += ["| " + " | ".join(map(escaped, cells(line))) + " |" for line in lines]
    for note in notes(board, lines):
        text += ["", escaped(note)]
    return "\n".join(text) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$#!])", r"\\\1", text)


def write_readme(path: Path, text: str) -> None:
    """Put `text` between the marks of a README, in one step or not at all.

    Raises BfenvError where there is not exactly one pair of marks, and for what is no text.
    """
    try:
        readme = path.read_bytes().decode()  # line ends as they are
    except UnicodeDecodeError as error:
        raise BfenvError(f"{path}: is no text in UTF-8: {error}") from error
    write_atomically(path, with_block(readme, text, path).encode())


def with_block(readme: str, text: str, path: Path) -> str:
    """The README's text with `text` between the marks."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after:
        raise BfenvError(f"{path}: needs one {BEGIN} and {END} after it")
    return f"{before}{BEGIN}\n{text}{END}{after}"


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
