"""The documentation site that `make docs` has built has what its pages promise."""

import re

import pytest

from tests.conftest import ROOT

SITE = ROOT / "docs" / "_build" / "html"
TEXTS = (
    ("specification.html", "log_time(mean runtime"),
    ("policies/index.html", "conservative-replan-aged-random"),
    ("policies/easy.html", "backfill_estimate"),
    ("agents/cards.html", "agent:network"),
    ("commands.html", "bfenv leaderboard verify"),
    ("api/core.html", "bfenv.core.may_start"),
    ("api/workloads.html", "uniform-tsafrir"),
    ("performance.html", "10,240,000 jobs"),
)


def test_navigation():
    """The navigation of the first page, and what its pages link, leads to every page."""
    start = SITE / "index.html"
    found, new = {start}, [start]
    while new:
        page = new.pop()
        for link in re.findall(r'href="([^"#:]+\.html)', page.read_text()):
            target = (page.parent / link).resolve()
            if target not in found and target.is_file():
                found.add(target)
                new.append(target)
    pages = {path.resolve() for path in SITE.rglob("*.html") if "_static" not in path.parts}
    assert pages - found == set()


def test_nothing_comes_from_elsewhere():
    """No script, style, font or picture comes from elsewhere."""
    for page in SITE.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img|source)\b[^>]*(?:src|href)="(https?:[^"]+)', page.read_text()
        )
        assert loaded == [], page.name


@pytest.mark.parametrize(("page", "text"), TEXTS)
def test_made_from_the_code(page, text):
    """Tables, signatures, cards and help texts."""
    shown = re.sub(r"<[^>]+>", "", (SITE / page).read_text()).replace("&#x27;", "'")
    assert text in shown, page


def test_drawings():
    """Every drawing has a light and a dark version, and both are on a page."""
    pages = "".join(page.read_text() for page in SITE.rglob("*.html"))
    drawings = sorted(path.name for path in (SITE / "_images").glob("*.svg"))
    assert len(drawings) >= 16
    for drawing in drawings:
        assert drawing in pages
        assert drawing.replace("-light", "-dark") in drawings
