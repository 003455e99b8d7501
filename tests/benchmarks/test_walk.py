"""How much code a call enters does not grow."""

from benchmarks.walk import BARS, entered_by, walk_table
from bfenv.core.text import counted


def test_bars():
    """Each call enters no more files and functions than its bar."""
    _, *rows = walk_table().splitlines()
    assert len(rows) == len(BARS)
    for row in rows:
        files, most_files, functions, most_functions = map(int, row.split()[-4:])
        assert files <= most_files and functions <= most_functions, row


def test_counted():
    """Functions of bfenv are counted once each, and no others."""
    functions = entered_by(lambda: [counted(2, "job"), counted(3, "job"), len("x")])
    assert {name for _, name in functions} >= {"counted"}
    assert all(file.endswith(".py") and "bfenv" in file for file, _ in functions)
