"""Divisions: what a row is ranked among, also a row from before there were any."""

from dataclasses import replace

import pytest

import bfenv
from bfenv.core.errors import BfenvError
from bfenv.core.policy import CLAIRVOYANT, COMPLETION, DIVISIONS, TRIALS, division_of
from bfenv.evaluation.row import Row
from bfenv.leaderboard.standings import division, rank_policies
from tests.leaderboard.made_rows import row


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("easy", COMPLETION),
        ("multiqueue", TRIALS),
        ("multiqueue(speculation=0)", COMPLETION),
        ("easy(order=sjf, trial=180)", TRIALS),
        ("easy(order=sjf, trial=0)", COMPLETION),
    ],
)
def test_division_of_a_run(policy, expected):
    """A policy's options decide, and exact estimates before them."""
    trials = bfenv.find_policy(policy).trials
    jobs = ([0, 0], [1, 1], [5, 6], 2)
    inexact = bfenv.make_trace(*jobs, estimate=[5, 7])
    assert division_of(trials, inexact) == expected
    assert division_of(trials, bfenv.make_trace(*jobs)) == CLAIRVOYANT


def test_the_field_decides():
    """A row that has the field keeps it, through JSON as well."""
    one = replace(row("easy", "w", 0, 1.0), division=TRIALS)
    assert division(Row.from_json(one.to_json(), "x")) == TRIALS
    with pytest.raises(BfenvError, match="'division'.*champions"):
        Row.from_json(one.to_json().replace(b"trials", b"champions"), "x")


def test_own_ranks():
    """A policy with trials takes no rank from one that runs jobs to completion."""
    rows = [
        replace(row(policy, f"w{w}", s, base * (1 + w) * (1 + 0.1 * s)), division=where)
        for w in range(3)
        for s in range(5)
        for policy, base, where in (
            ("easy", 10.0, COMPLETION),
            ("best", 5.0, COMPLETION),
            ("tries", 1.0, TRIALS),
            ("tries-too", 2.0, TRIALS),
        )
    ]
    lines = rank_policies(rows)
    assert [(line.policy, line.division, line.rank) for line in lines] == [
        ("best", COMPLETION, 1),
        ("easy", COMPLETION, 2),
        ("tries", TRIALS, 1),
        ("tries-too", TRIALS, 2),
    ]
    assert [line.ratio for line in lines] == pytest.approx([0.5, 1, 0.1, 0.2])


def test_clairvoyant_workloads():
    """Where some workloads have exact estimates, a policy has one line for those."""
    rows = [
        replace(row(policy, name, s, value + s), division=where)
        for s in range(3)
        for policy, name, value, where in (
            ("easy", "real", 10.0, COMPLETION),
            ("easy", "exact", 4.0, CLAIRVOYANT),
            ("p", "real", 5.0, COMPLETION),
            ("p", "exact", 8.0, CLAIRVOYANT),
        )
    ]
    lines = rank_policies(rows)
    assert [(line.policy, line.division, line.rows) for line in lines] == [
        ("p", COMPLETION, 3),
        ("easy", COMPLETION, 3),
        ("easy", CLAIRVOYANT, 3),
        ("p", CLAIRVOYANT, 3),
    ]
    assert [line.division for line in lines] == sorted(
        (line.division for line in lines), key=DIVISIONS.index
    )
