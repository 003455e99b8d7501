"""The page of promises."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_promise_names_its_tests():
    """Each row of the table names files of tests, and they are there."""
    rows = re.findall(r"^\| [A-Z].*\|$", (ROOT / "docs" / "trust.md").read_text(), re.M)
    assert len(rows) >= 10
    for row in rows:
        files = re.findall(r"`([\w/-]+\.py)`", row.rsplit("|", 2)[1])
        assert files and all((ROOT / file).is_file() for file in files), row
