"""Scales of the report's charts."""

from bfenv.core.durations import DAY
from bfenv_site.page.markup import element, escaped, short
from bfenv_site.page.plot import linear, plot, waits


def test_element():
    """Everything that is not markup is escaped."""
    assert element("p", "<b>", title='"&"') == '<p title="&quot;&amp;&quot;">&lt;b&gt;</p>'
    assert element("p", element("b", "x"), None, ["<", element("i")]) == (
        "<p><b>x</b>&lt;<i></i></p>"
    )
    assert element("input", class_="x", data_p=1, checked=True, open=False, title=None) == (
        '<input class="x" data-p="1" checked>'
    )


def test_escaped():
    """Characters that act without being visible are replaced."""
    assert escaped("a\x00b\u202e") == "a\ufffdb\ufffd"


def test_short():
    """Long text is cut."""
    assert short("a" * 34) == "a" * 34
    assert short("a" * 35) == "a" * 33 + "…"


def test_labels_at_the_end():
    """A label that ends at the end of its axis has room: the one close before it is left out."""
    page = plot("a", "waits", "", waits(30.5 * DAY), linear(0, 1, "share"))
    assert ">30 d<" in page and ">7 d<" not in page and ">1 d<" in page
    assert ">7 d<" in plot("a", "waits", "", waits(50 * DAY), linear(0, 1, "share"))
