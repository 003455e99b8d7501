"""The page of promises."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_promises():
    """Each row of the table names tests, each a function of a file, and they are there."""
    rows = re.findall(r"^\| [A-Z].*\|$", (ROOT / "docs" / "trust.md").read_text(), re.M)
    assert len(rows) >= 10
    for row in rows:
        names = re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1])
        assert names, row
        for name in names:
            file, _, function = name.partition("::")
            module = ast.parse((ROOT / file).read_text())
            assert function.startswith("test_"), name
            functions = (node for node in module.body if isinstance(node, ast.FunctionDef))
            assert function in {node.name for node in functions}, name
