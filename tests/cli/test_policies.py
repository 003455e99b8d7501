"""`bfenv policies`: the list."""

import json

import bfenv


def test_list(run):
    """Every policy is listed, with what it does and its source."""
    out = run("policies")[1]
    assert all(name in out for name in bfenv.policies())
    rows = json.loads(run("policies", "-f", "json")[1])
    assert [row["policy"] for row in rows] == list(bfenv.policies())
    assert list(rows[0]) == ["policy", "what it does", "source"]
