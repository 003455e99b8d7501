"""`bfenv evaluate policies`: the list."""

import json

import bfenv


def test_list(run):
    """Every policy is listed, with what it does and its source."""
    out = run("evaluate", "policies")[1]
    assert all(name in out for name in bfenv.policies())
    rows = json.loads(run("evaluate", "policies", "-f", "json")[1])
    assert [row["policy"] for row in rows] == list(bfenv.policies())
    assert list(rows[0]) == ["policy", "what it does", "source"]


def test_named(run):
    """Named policies are listed alone, options included; an unknown name is refused."""
    names = ["easy-lxf", "easy(lookahead=50)"]
    rows = json.loads(run("evaluate", "policies", *names, "-f", "json")[1])
    assert [row["policy"] for row in rows] == names
    status, _, error = run("evaluate", "policies", "nonsense")
    assert status == 2 and "unknown policy 'nonsense'" in error
    assert (
        "did you mean agent:windows-formula?" in run("evaluate", "policies", "windows-formula")[2]
    )
