"""The leaderboard as Markdown, also within a README."""

import re
from pathlib import Path

from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.core.text import one_line
from bfenv.leaderboard.report.ranking import TEXT_COLUMNS, notes, ranked, telling_columns, title
from bfenv.leaderboard.store import Leaderboard

BEGIN, END = "<!-- begin: leaderboard -->", "<!-- end -->"


def render_markdown(leaderboard: Leaderboard) -> str:
    """Return the ranked table and its notes; names from the rows are shown as text, not markup."""
    lines = ranked(leaderboard)
    columns = telling_columns(lines, TEXT_COLUMNS)
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
