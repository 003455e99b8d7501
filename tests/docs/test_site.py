"""The documentation site: it builds without a warning, and has what its pages promise."""

import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytest.importorskip("sphinx", reason="needs the extra docs")
pytestmark = pytest.mark.slow

TEXTS = (
    ("specification.html", "log_time(mean runtime"),
    ("policies/index.html", "conservative-replan-aged-random"),
    ("policies/easy.html", "shadow_intervals"),
    ("agents/cards.html", "agent:scorer-lublin"),
    ("commands.html", "bfenv leaderboard export"),
    ("api/core.html", "bfenv.core.may_start"),
    ("api/workloads.html", "uniform-tsafrir"),
    ("performance.html", "10,240,000 jobs"),
)


def test_site(tmp_path):
    """The site builds without a warning, and all that is checked below holds of it.

    It is one test, because to build the site takes long, and each worker would build its own.
    """
    site = build(tmp_path)
    check_navigation(site)
    check_that_nothing_comes_from_elsewhere(site)
    for page, text in TEXTS:
        check_made_from_the_code(site, page, text)
    check_drawings(site)


def build(folder):
    """The built site. Warnings, such as links that lead nowhere, are errors."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", folder / "trees"]
    command += ["-D", "plot_gallery=0"]  # tutorials that have not run yet are shown without results
    command += [ROOT / "docs", folder / "html"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return folder / "html"


def check_navigation(site):
    """The navigation of the first page, and what its pages link, leads to every page."""
    start = site / "index.html"
    found, new = {start}, [start]
    while new:
        page = new.pop()
        for link in re.findall(r'href="([^"#:]+\.html)', page.read_text()):
            target = (page.parent / link).resolve()
            if target not in found and target.is_file():
                found.add(target)
                new.append(target)
    pages = {path.resolve() for path in site.rglob("*.html") if "_static" not in path.parts}
    assert pages - found == set()


def check_that_nothing_comes_from_elsewhere(site):
    """No script, style, font or picture comes from elsewhere."""
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img|source)\b[^>]*(?:src|href)="(https?:[^"]+)', page.read_text()
        )
        assert loaded == [], page.name


def check_made_from_the_code(site, page, text):
    """Tables, signatures, cards and help texts."""
    shown = re.sub(r"<[^>]+>", "", (site / page).read_text()).replace("&#x27;", "'")
    assert text in shown, page


def check_drawings(site):
    """Every drawing has a light and a dark version, and both are on a page."""
    pages = "".join(page.read_text() for page in site.rglob("*.html"))
    drawings = sorted(path.name for path in (site / "_images").glob("*.svg"))
    assert len(drawings) >= 16
    for drawing in drawings:
        assert drawing in pages
        assert drawing.replace("-light", "-dark") in drawings
