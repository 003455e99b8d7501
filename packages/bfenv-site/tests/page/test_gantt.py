"""The Gantt chart within a page."""

import re

import pytest

import bfenv
from bfenv_site.page.gantt import gantt_section
from site_helpers.pages import Page
from tests.analysis.drawn import FOUR

pytest.importorskip("matplotlib")


def section(policies, trace=FOUR, begin=0, **options):
    schedules = [bfenv.simulate(trace, policy) for policy in policies]
    return gantt_section("w", schedules, begin, 21, **options)


def test_section():
    """The picture is part of the page: no styles, an element for each box with what it shows."""
    text = section(["easy", "fcfs"], starving={"fcfs"})
    assert "<style" not in text and "style=" not in text
    tags = [tag for tag, _ in Page(text).tags]
    assert tags.count("svg") == 1
    titles = re.findall("<title>job (.*?)</title>", text)
    assert len(titles) == 2 * len(FOUR)
    assert "2: 1 processors for 4 s, submitted 00:00:02, waited 0 s, backfilled" in titles
    assert text.count('class="starves"') == 1 and "same colour and number" in text
    assert 'fill="#222222"' in text  # colours are attributes, so that a page can change them


@pytest.mark.parametrize(("processors", "large"), [(300, False), (301, True)])
def test_which(processors, large):
    """Above 300 processors the chart is the overview, and the text says so."""
    text = section(["easy"], bfenv.make_trace([0], [1], [10], processors))
    assert ("coloured by the size" in text) is large
    assert (">the largest job (job: processors)<" in text) is large
    assert "both policies" not in text  # there is one


def test_absent():
    """Without schedules, or hours without jobs, the page has the reason."""
    assert "Not shown: they are gone." in gantt_section("w", [], 0, 1, "they are gone")
    assert "Not shown: no job runs" in section(["easy"], begin=10**9)
