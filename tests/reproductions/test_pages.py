"""Tables, figures and pages of a made-up paper, and the pages of this repository."""

import re

import pytest

from reproductions import figures, verdict
from reproductions.item import Claim, Comparison, Content, Line, Panel, Paper, Value, curve
from reproductions.page import judge_items, number, render, write_page
from reproductions.papers import PAPERS
from reproductions.results import Printed, Results
from reproductions.rows import plan
from tests.conftest import ROOT
from tests.reproductions.made_up import OTHER, OWN, cells, item, results, value

PAGES = ROOT / "docs" / "reproductions"


@pytest.fixture
def made_up(monkeypatch):
    """A paper of one table with a figure, and its rows."""
    theirs = {("EASY", "column"): Printed(10.0, 0.05, text="10.0"), ("line", "1"): Printed(4.0)}
    for module in (verdict, figures):
        monkeypatch.setattr(module, "printed", lambda paper, name: theirs)
    easy, fcfs = value("easy"), value("fcfs")
    table = (*cells(EASY="easy", FCFS="fcfs"), *cells(OTHER, Other="x"))
    panel = Panel("panel", "x", "y", [Line("line", [easy, fcfs], [1, 2])])
    claim = Claim("EASY is better", [Comparison("own", easy, fcfs, OWN)])
    content = Content(table, [panel], [claim])
    items = (item(lambda quick: content, note="A note."),)
    one = Paper("made-up", "A made-up paper", "N. N., 2000.", (OWN, OTHER), items)
    rows = results(easy=10.5, fcfs=30.0).rows
    full = {"versions": {"bfenv": "1"}, "commit": "0123456789abc"}
    return one, {run: {"run": run._asdict()} | row | full for run, row in rows.items()}


def test_page(made_up):
    """A page has theirs, ours and the ratio.

    It also has marks, claims with their numbers, notes, logs, the command and the time.
    """
    one, rows = made_up
    text = render(one, one.items, rows)
    assert "| EASY | 10.50 / 10.0 = 1.05 ✓ |" in text
    assert "| FCFS | 30.00 |" in text
    assert "* ✓ EASY is better: 1 of 1. own: 10.5 < 30.0." in text
    assert "Verdict: **agrees**" in text and "A note." in text
    assert "| other | `lublin(jobs=50)` | no | other jobs |" in text
    assert "`python -m reproductions made-up`: 2 rows, 2 simulations in 2 s" in text
    text = render(one, one.items, {})
    assert "| EASY | – / 10.0 |" in text and "nothing to compare" in text


def test_written_page(made_up, tmp_path):
    """A page is written with its figures and rows.

    PNG and SVG, and one file of all rows; equal rows make equal files.
    """
    one, rows = made_up
    rows = {run: row | {"run": list(run), "schema": 1} for run, row in rows.items()}
    path = write_page(one, one.items, rows, tmp_path)
    files = {file.name: file.read_bytes() for file in (tmp_path / "made-up").iterdir()}
    assert set(files) == {"rows.jsonl", "table-1.png", "table-1.svg"}
    assert "![a table](made-up/table-1.png)" in path.read_text()
    assert len(files["rows.jsonl"].splitlines()) == 2
    write_page(one, one.items, rows, tmp_path)
    assert files == {f.name: f.read_bytes() for f in (tmp_path / "made-up").iterdir()}


def test_printed_values(made_up):
    """Printed values are drawn beside ours.

    A cross at the printed value, in the colour of its line; a curve's labels below its bars.
    """
    one, rows = made_up
    content = one.items[0].build(False)
    theirs = figures.printed("made-up", "table-1")
    figure = figures.draw(list(content.panels), 1, Results(rows), theirs)
    ours, printed_points = figure.axes[0].lines
    assert list(ours.get_ydata()) == [10.5, 30.0]
    assert (list(printed_points.get_xdata()), list(printed_points.get_ydata())) == ([1], [4.0])
    assert ours.get_color() == printed_points.get_color()
    ((run, row),) = list(rows.items())[:1]
    popular = {run: row | {"values": {"popular": [[["1 h", "2 h"], [7, 5]]]}}}
    bars = Panel("bars", "x", "y", [curve("jobs", Value(run, "popular"))], "bar")
    (axes,) = figures.draw([bars], 1, Results(popular), {}).axes
    assert [bar.get_height() for bar in axes.patches] == [7, 5]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1 h", "2 h"]


def test_numbers():
    """Only the digits that carry meaning."""
    for one, digits, text in (
        (None, 2, "–"),
        (3.14159, 2, "3.14"),
        (0.0123, 2, "0.012"),
        (12345.6, 2, "12,346"),
        (1234.5, 0, "1,234"),
        ("2_0<", 2, "2_0<"),
        (0.0, 2, "0.00"),
    ):
        assert number(one, digits) == text


# The pages of this repository -----------------------------------------------------------------


def rows_of(paper):
    """The rows kept beside a page, as far as the items want them."""
    return plan(paper.items, PAGES / paper.name).rows


@pytest.mark.parametrize("name", PAPERS)
def test_kept_page(name):
    """A page of this repository is what its rows say.

    If not, make it again: `python -m reproductions PAPER --out docs/reproductions`.
    """
    one, text = PAPERS[name], (PAGES / f"{name}.md").read_text()
    rows = rows_of(one)
    pictures = {stem: file for file, stem in re.findall(rf"\(({name}/(.*)\.png)\)", text)}
    assert text == render(one, one.items, rows, pictures=pictures)
    assert f"]({name}.md)" in (PAGES / "README.md").read_text()
    assert all((PAGES / file).is_file() for file in pictures.values())
    assert len((PAGES / name / "rows.jsonl").read_text().splitlines()) == len(rows)  # none is stale


def test_worked_tables():
    """The thesis's worked tables come out exactly.

    Shmueli 2003, Tables 1.1 and 3.1 to 3.8: every cell.
    """
    one = PAPERS["shmueli-los2003"]
    tables = [table for table in one.items if table.name.startswith("table-")]
    assert len(tables) == 9
    for found in judge_items(one, tables, rows_of(one), False):
        assert found.values.all == len(found.cells) > 0
        assert found.overall == verdict.AGREES
