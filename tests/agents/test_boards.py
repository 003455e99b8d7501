"""The tables of docs/agents/scores.md are what their commands make now."""

import re

import numpy as np
import pytest

import bfenv
from bfenv.analysis.formatting import slowdown
from bfenv.leaderboard.suite import SUITES, load_frozen
from tests.conftest import ROOT, log

BOARDS = ROOT / "docs" / "agents" / "boards"


def column(board):
    """The policies of a board with their mean bounded slowdowns."""
    found, place = {}, 0
    for line in (BOARDS / f"{board}.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells and cells[0] == "policy":
            place = cells.index("bounded slowdown")
        elif cells and not cells[0].startswith("---"):
            found[cells[0].removesuffix("\\*")] = cells[place]
    return found


def measured(suite, policy):
    """The mean of a policy's means over the traces of a suite, as boards write it."""
    traces = [load_frozen(t.source, t.hash) for e in SUITES[suite].entries for t in e.traces]
    means = [bfenv.metrics(bfenv.simulate(t, policy))["mean_bounded_slowdown"] for t in traces]
    return slowdown(float(np.mean(means)))


def each(policies):
    """Mark the policies that take half a minute to compile for `make thorough`."""
    marks = {
        name: [pytest.mark.thorough]
        for name in policies
        if name.startswith("agent:") or name.endswith("-guarded") or name == "multiqueue"
    }
    return [pytest.param(name, marks=marks.get(name, [])) for name in policies]


@pytest.mark.compiled
@pytest.mark.parametrize("policy", each(column("windows")))
def test_windows(policy):
    """Every score of the short windows comes out again."""
    log("lublin_256_10k")
    assert measured("rlscheduler-windows-v1", policy) == column("windows")[policy]


@pytest.mark.parametrize("policy", each(["easy", "agent:formula", "agent:trial-formula"]))
def test_archive(policy):
    """So do those of EASY and of the best agents of both divisions on the archive."""
    log("KTH-SP2-1996-2.1-cln")
    assert measured("archive-v1", policy) == column("archive")[policy]


def test_commands():
    """The page names the suites and the competitors of its tables."""
    text = (ROOT / "docs" / "agents" / "scores.md").read_text()
    for board, suite in (("windows", "rlscheduler-windows-v1"), ("archive", "archive-v1")):
        command = re.search(rf"--suite {suite} (.*?)--out", text, re.DOTALL)[1]
        assert set(re.findall(r"-p (\S+)", command)) == set(column(board))
