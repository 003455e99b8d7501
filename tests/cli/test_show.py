"""Tables on wide and narrow terminals."""


def test_numbers_are_whole(run):
    """Numbers are never cut, however long the names are."""
    name = "easy(order=wfp3, reservations=2, lookahead=100)"
    for columns in (40, 80, 120):
        _, out, _ = run("evaluate", "-w", "lublin:jobs=50", "-p", name, columns=columns)
        assert "…" not in out
        assert " ms" in out or columns == 40  # the last columns are left out


def test_width(run):
    """A table is not wider than the terminal."""
    for columns in (80, 120):
        for command in (("policies",), ("workloads",), ("bench", "show")):
            out = run(*command, columns=columns)[1].splitlines()
            assert max(map(len, out[1:])) <= columns  # the first line may be a title


def test_markdown(run):
    """Markdown has one line per row, and vertical bars in cells are escaped."""
    out = run("evaluate", "-w", "lublin:jobs=50", "-p", "easy", "-f", "markdown")[1].splitlines()
    assert out[1] == "|---|--:|--:|--:|--:|--:|--:|" and out[2].startswith("| easy | ")
