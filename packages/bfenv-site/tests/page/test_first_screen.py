"""What pages show first, as markup and in a browser."""

import re

import pytest

import bfenv
from bfenv.analysis.intervals import Interval
from bfenv.leaderboard.report.gantt_selection import select_gantt
from bfenv.leaderboard.store import read_leaderboard
from bfenv_site import site_report, what_if
from bfenv_site.leaderboard_page import render_page
from bfenv_site.page import plot
from bfenv_site.page.first_screen import Line, first_screen, picture
from bfenv_site.reports import variants as whatif
from bfenv_site.reports.whatif import what_if_page
from site_helpers.browser import show
from tests.leaderboard.stores import make_store
from tests.site_log import write_site

NAN = float("nan")


def drawn(*lines):
    axis = plot.changes([end for line in lines for end in line.interval[:3]], 7200.0, "change")
    return picture("p", "Title", "text", lines, axis, (0.0, "today"))


def test_kinds():
    """A line is better or worse only if its interval says so, and the chosen one is marked."""
    text = drawn(
        Line("a", Interval(-9.0, -12.0, -6.0), "-9", is_chosen=True),
        Line("b", Interval(9.0, 6.0, 12.0), "+9"),
        Line("c", Interval(1.0, -6.0, 8.0), "+1"),
        Line("d", Interval(-5.0, NAN, NAN), "-5"),
    )
    assert re.findall('class="(ci [^"]+)"', text) == [
        "ci better chosen",
        "ci worse",
        "ci unclear",
        "ci unclear",
    ]
    assert text.count('class="whisker"') == 3 and "nan" not in text


def test_beyond_the_axis():
    """What lies beyond the axis is drawn at its end."""
    axis = plot.Axis(lambda x: x, [(0.5, "half")], "share")
    text = picture("p", "Title", "", [Line("a", Interval(7.0, -3.0, 9.0), "7")], axis, (0.5, "one"))
    assert 'cx="100.00%"' in text and 'x1="0.00%" x2="100.00%"' in text


def test_nothing_to_draw():
    """Without lines there are words alone."""
    assert drawn() is None
    assert "<figure" not in first_screen("Nothing.", [("1", "one")], None)


def test_unit():
    """An axis of changes is in the unit of a typical duration, with signs."""
    axis = plot.changes([-7200.0, 3600.0, NAN], 36_000.0, "change")
    assert axis.label == "change, h"
    assert ("−1", -3600.0) in {(label, value) for value, label in axis.ticks}
    assert 0 < axis.position(-7200.0) < axis.position(0.0) < axis.position(3600.0) < 1


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The report, the board and what-if, as files."""
    folder = tmp_path_factory.mktemp("pages")
    site = write_site(folder / "site.swf", jobs=300)
    board = read_leaderboard(make_store(folder / "board"))
    trace = bfenv.load_workload(str(site))
    more = {"more": whatif.with_processors(trace, "+50%")}
    texts = {
        "report": site_report([str(site)], "fcfs", ["easy", "easy-lxf"]).page,
        "board": render_page(board, select_gantt(board)),
        "whatif": what_if_page("site", what_if(trace, more)),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.browser
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
@pytest.mark.parametrize("name", ["report", "board", "whatif"])
def test_first_screen(driver, pages, name, width, height):
    """Without a scroll, each page shows its verdict, three figures and the lines of its picture."""
    show(driver, width, height)
    driver.get((pages / f"{name}.html").as_uri())
    bottoms = driver.execute_script(
        "return ['.verdict', '.figure:nth-of-type(3)', '.rows .ci:nth-of-type(2)'].map(name =>"
        " document.querySelector(name).getBoundingClientRect().bottom + scrollY)"
    )
    assert 0 < bottoms[0] < bottoms[1] <= height and 0 < bottoms[2] <= height
    folded = driver.execute_script(
        "return document.querySelectorAll('.section:not([open])').length"
    )
    assert folded == {"report": 6, "board": 5, "whatif": 0}[name]


@pytest.mark.browser
def test_export(driver, pages):
    """Each table is offered as CSV and LaTeX, each chart as SVG, and what is saved is whole."""
    driver.get((pages / "board.html").as_uri())
    saved = driver.execute_script(
        "const texts = {}; URL.createObjectURL = (blob) => { texts.last = blob; return '#'; };"
        "const button = (kind) => document.querySelector(`#ranking [aria-label$='as ${kind}']`);"
        "button('CSV').click(); const csv = texts.last; button('LaTeX').click();"
        "const tex = texts.last; document.querySelector('.first [aria-label$=SVG]').click();"
        "return Promise.all([csv, tex, texts.last].map((blob) => blob.text()))"
    )
    csv, latex, svg = saved
    assert csv.startswith("policy,rank,penalized slowdown,95 % interval,slowdown / EASY's,")
    assert r"\toprule" in latex and r"\textbf{" in latex and r"95 \% interval" in latex
    assert svg.startswith("<svg xmlns=") and "var(" not in svg and svg.count("<circle") > 2
