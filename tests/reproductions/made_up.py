"""A made-up paper with one log, and rows for it: what the tests of verdicts and pages judge."""

from reproductions.item import Cell, Item, Log, Run, Value
from reproductions.results import Results

OWN = Log("own", "lublin(jobs=50)", "lublin(jobs=50)", True, "the paper's jobs")
OTHER = OWN._replace(label="other", comparable=False, edition="other jobs")


def value(policy, measure="wait", log=OWN):
    """A value of a policy."""
    return Value(Run(log.workload, policy), measure)


def results(**numbers):
    """Results in which a policy's "wait" has these values, one per seed."""
    rows = {}
    for policy, found in numbers.items():
        seeds = found if isinstance(found, list) else [found]
        rows[Run(OWN.workload, policy)] = {"values": {"wait": seeds}, "seconds": 1.0}
    return Results(rows)


def item(build, **options):
    """An item with this content."""
    return Item("table-1", "a table", "page 1", build, **options)


def cells(log=OWN, **policies):
    """One column of cells, a row for each policy."""
    return tuple(
        Cell(row, "column", value(policy, log=log), log) for row, policy in policies.items()
    )
