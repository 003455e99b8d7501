"""Every item of every paper: what it needs exists, and what is printed has a place in it."""

import pytest

from bfenv.baselines import find_policy
from bfenv.core.errors import UnknownNameError
from bfenv.reproduce import PAPERS, find_items, find_paper
from bfenv.reproduce.item import RUNTIME_FACTOR
from bfenv.reproduce.measures import MEASURES
from bfenv.reproduce.printed import _file, printed
from bfenv.reproduce.workload_measures import WORKLOAD_MEASURES
from bfenv.workloads.options import options_of
from bfenv.workloads.transform import transformed

ITEMS = [(paper, item) for paper in PAPERS.values() for item in paper.items]
NAMES = [f"{paper.name} {item.name}" for paper, item in ITEMS]
both = pytest.mark.parametrize("quick", [True, False])
every = pytest.mark.parametrize("paper, item", ITEMS, ids=NAMES)


@both
@every
def test_runs_can_be_made(paper, item, quick):
    """Measures, policies and steps of an item are known."""
    steps = {RUNTIME_FACTOR, *options_of(transformed)}
    for value in item.build(quick).values():
        known = MEASURES if value.run.policy else WORKLOAD_MEASURES
        assert value.measure in known
        assert {name for name, _ in value.run.steps} <= steps
        for policy in filter(None, (value.run.policy, value.run.reference)):
            find_policy(policy)


@every
def test_printed_values_have_a_place(paper, item):
    """Each printed number is that of a cell, or of a point that is drawn."""
    content = item.build(False)
    places = {(cell.row, cell.column) for cell in content.cells}
    for panel in content.panels:
        places |= {(line.label, str(x)) for line in panel.lines for x in line.x}
    assert printed(paper.name, item.name).keys() <= places


@pytest.mark.parametrize("name", PAPERS)
def test_data_are_of_items(name):
    """A data file has no item that the paper lacks."""
    assert _file(name)["items"].keys() <= {item.name for item in PAPERS[name].items}


@pytest.mark.parametrize("name", PAPERS)
def test_names_are_unique(name):
    """No two items of a paper have one name, no two cells of an item one place."""
    names = [item.name for item in PAPERS[name].items]
    assert len(names) == len(set(names))
    for item in PAPERS[name].items:
        places = [(cell.row, cell.column) for cell in item.build(False).cells]
        assert len(places) == len(set(places)), item.name


def test_items_are_found_by_name():
    """Items come in the order of the paper, whatever order they are asked for in."""
    paper = find_paper("zotkin2000")
    found = find_items(paper, ["table-9", "table-2"])
    assert [item.name for item in found] == ["table-2", "table-9"]
    assert find_items(paper, []) == list(paper.items)


def test_unknown_names_are_refused():
    """The message suggests what there is."""
    with pytest.raises(UnknownNameError, match="zotkin2000"):
        find_paper("zotkin")
    with pytest.raises(UnknownNameError, match="table-2"):
        find_items(find_paper("zotkin2000"), ["table2"])
