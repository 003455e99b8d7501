"""Every item of every paper: what it needs exists, what is printed has a place, what was found."""

import os

import pytest

from bfenv.baselines import find_competitor
from bfenv.core.errors import UnknownNameError
from bfenv.workloads.options import options_of
from bfenv.workloads.transform import transformed
from reproductions import rows
from reproductions.item import RUNTIME_FACTOR
from reproductions.measures import MEASURES, WORKLOAD_MEASURES
from reproductions.page import render
from reproductions.papers import PAPERS, find_items, find_paper
from reproductions.results import Results, printed, read_printed
from reproductions.rows import plan, run
from reproductions.verdict import compare

every_paper = pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)


@pytest.mark.parametrize(
    "paper",
    [
        pytest.param(paper, marks=[pytest.mark.together] if name == "rlscheduler" else [])
        for name, paper in PAPERS.items()
    ],
    ids=PAPERS,
)
def test_runs_can_be_made(paper):
    """Measures, policies and steps of each item are known, in quick runs and in others."""
    steps = {RUNTIME_FACTOR, *options_of(transformed)}
    for value in (v for item in paper.items for q in (True, False) for v in item.build(q).values()):
        assert value.measure in (MEASURES if value.run.policy else WORKLOAD_MEASURES)
        assert {name for name, _ in value.run.steps} <= steps
        for policy in filter(None, (value.run.policy, value.run.reference)):
            if not policy.startswith("agent:rlscheduler") or os.environ.get("BFENV_RLSCHEDULER"):
                find_competitor(policy)


@every_paper
def test_printed_values(paper):
    """Each printed number belongs to a cell or a drawn point; names and places are unique."""
    names = {item.name for item in paper.items}
    assert read_printed(paper.name).keys() <= names and len(names) == len(paper.items)
    for item in paper.items:
        content = item.build(False)
        places = {(cell.row, cell.column) for cell in content.cells}
        assert len(places) == len(content.cells), item.name
        for panel in content.panels:
            places |= {(line.label, str(x)) for line in panel.lines for x in line.x}
        assert printed(paper.name, item.name).keys() <= places, item.name


ABSENT = {  # log of a paper: an item with its cells, the policies of which one run is made
    "SDSC-DS-2004-2.1-cln": ("klusacek-rudova", "table", "SDSC DataStar"),
    "METACENTRUM-2008": ("klusacek-rudova", "table", "Meta08"),
    "LLNL-T3D-1996-2": ("zotkin2000", "table-6", "LNL"),
}


@pytest.mark.parametrize("name", ABSENT)
def test_absent_log(name, tmp_path, monkeypatch, request):
    """Without the log, the page names the command that fetches it; with it, cells have numbers."""
    request.addfinalizer(rows._base.cache_clear)  # it would keep the small log for other tests
    paper, item, label = ABSENT[name]
    (one,) = find_items(find_paper(paper), [item])
    monkeypatch.setenv("BFENV_TRACES", "")
    monkeypatch.setenv("BFENV_CACHE", str(tmp_path))
    assert name in plan([one], tmp_path / "rows").unavailable
    page = render(find_paper(paper), [one], {})
    assert f"`bfenv workloads fetch {name}`" in page
    lines = [f"{i + 1} {i // 2} -1 60 2 -1 -1 2 90 -1 1 1 1 -1 1 1 -1 -1" for i in range(8)]
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / f"{name}.swf").write_text("\n".join(["; MaxProcs: 4", *lines, ""]))
    planned = plan([one], tmp_path / "rows")
    assert name not in planned.unavailable
    (run_made, *_) = [run for run in planned.missing if run.workload == name]
    found = run(planned._replace(missing=[run_made]), tmp_path / "rows")
    cells = [cell for cell in one.build(False).cells if cell.column.startswith(label)]
    assert any(Results(found).number(cell.value) is not None for cell in cells)
    assert f"`bfenv workloads fetch {name}`" not in render(find_paper(paper), [one], found)


def test_named_items():
    """Items come in the order of the paper; for an unknown name, the message suggests others."""
    paper = find_paper("zotkin2000")
    found = find_items(paper, ["table-9", "table-2"])
    assert [item.name for item in found] == ["table-2", "table-9"]
    assert find_items(paper, []) == list(paper.items)
    with pytest.raises(UnknownNameError, match="zotkin2000"):
        find_paper("zotkin")
    with pytest.raises(UnknownNameError, match="table-2"):
        find_items(paper, ["table2"])


# By paper and item: parts of claims that hold in every comparison.
FINDINGS = {
    ("zotkin2000", "table-4"): (
        "In the real traces, multiples of the runtime are better",
        "Off-line, R = 5 more than halves",
    ),
    ("zotkin2000", "table-9"): (
        "With exact estimates all orders make the same schedule",
        "With multiples, every order is better",
    ),
    ("klusacek-rudova", "table"): ("CONS and EASY have positive additional waiting time",),
    ("tsafrir2010", "section-4"): (
        "Users' estimates are worse than accurate ones",
        "With more jobs at the maximum it becomes worse",
    ),
    ("lawson-smirni2002", "figure-5"): ("With more arrivals R > 0",),
    ("shmueli-los2003", "figure-4.4"): ("The mean differential is positive",),
    ("shmueli-los2003", "figure-4.7"): ("The curve of max-slowdown is above that of plain LOS",),
}


@pytest.mark.compiled
@pytest.mark.parametrize("paper, item", FINDINGS, ids=[" ".join(key) for key in FINDINGS])
def test_findings(paper, item, tmp_path):
    """On generated workloads, all comparisons of these claims hold."""
    (one,) = find_items(find_paper(paper), [item])
    results = Results(run(plan([one], tmp_path, quick=True), tmp_path))
    claims = {claim.text: claim for claim in one.build(True).claims}
    for start in FINDINGS[paper, item]:
        (text,) = [text for text in claims if text.startswith(start)]
        found = [compare(c, results) for c in claims[text].comparisons]
        judged = [holds for holds in found if holds is not None]
        assert judged and all(judged), (text, found)
