"""The page of a folder of rows, and how to read one."""

from html.parser import HTMLParser

from bfenv.leaderboard.report.gantt_selection import GanttSelection
from bfenv_site.leaderboard_page import render_page


class Page(HTMLParser):
    """A page's elements and the text of its tables' cells; every element must be closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells, self.urls = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.urls += [v for k, v in attributes if k in ("src", "href", "action", "xlink:href")]
        if tag not in ("meta", "input", "link", "br"):
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


def page_of(leaderboard):
    """Its page without a Gantt chart, which takes a second to draw."""
    return render_page(leaderboard, GanttSelection("", [], 0, 0, "left out"))
