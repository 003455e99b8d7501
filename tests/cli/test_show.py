"""Tables on wide and narrow terminals."""

import threading
import time

import pytest

from bfenv.cli import show


def test_numbers_are_whole(run):
    """Numbers are never cut, however long the names are."""
    name = "easy(order=wfp3, reservations=2, lookahead=100)"
    # The last columns are left out
    for columns, last in ((40, "slowdown"), (80, " h"), (120, " ms")):
        _, out, _ = run("evaluate", "-w", "lublin:jobs=50", "-p", name, columns=columns)
        assert "…" not in out and last in out


@pytest.mark.parametrize("columns", [80, 120])
def test_names_of_agents_are_whole(run, columns):
    """Names of agents stay whole beside a name that is folded."""
    long = "easy(order=wfp3, reservations=2, lookahead=100)"
    names = "agent:trial-formula", "agent:generator-formula"
    policies = (option for name in (long, *names) for option in ("-p", name))
    _, out, _ = run("evaluate", "-w", "lublin:jobs=50", *policies, columns=columns)
    assert all(name in out for name in names)


def test_width(run):
    """A table is not wider than the terminal."""
    for columns in (80, 120):
        for command in (("policies",), ("workloads",), ("bench", "show")):
            out = run(*command, columns=columns)[1].splitlines()
            assert max(map(len, out[1:])) <= columns  # the first line may be a title


def test_markdown(run):
    """Markdown has one line per row, and vertical bars in cells are escaped."""
    out = run("evaluate", "-w", "lublin:jobs=50", "-p", "easy", "-f", "markdown")[1].splitlines()
    assert out[1] == "|---|---|--:|--:|--:|--:|--:|--:|" and out[2].startswith("| easy | ")


@pytest.mark.parametrize("columns", range(20, 60))
def test_whole_names(monkeypatch, capsys, columns):
    """Names stay whole at every width, and so do the numbers of the columns that are shown."""
    monkeypatch.setenv("COLUMNS", str(columns))
    headings = ("policy", "mean wait", "longest wait", "used")
    show.table(headings, [("easy(order=sjf)", "105.8 min", "11.3 d", "85.2 %")], numbers=3,
               whole_names=True)  # fmt: skip
    title, _, line = (text.split("  ") for text in capsys.readouterr().out.strip().split("\n"))
    shown = [text.strip() for text in line if text.strip()]
    assert shown == ["easy(order=sjf)", "105.8 min", "11.3 d", "85.2 %"][: len(shown)]
    assert [text.strip() for text in title if text.strip()] == list(headings[: len(shown)])


def test_share_done(monkeypatch, capsys):
    """A run that takes long is watched, and a terminal shows the share that is done."""
    monkeypatch.setattr(show, "PATIENCE", 0)
    monkeypatch.setattr(show, "REFRESH", 0.01)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    asked = threading.Semaphore(0)

    def share():
        asked.release()
        return 0.37

    with show.share_done("simulating") as watch:
        watch(share)
        assert all(asked.acquire(timeout=30) for _ in range(3))
        time.sleep(0.3)  # ten pictures a second
    assert "37%" in capsys.readouterr().err


def test_short_run(monkeypatch, capsys):
    """Nothing is shown of a run that does not take long."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show.share_done("simulating") as watch:
        watch(lambda: 0.37)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("format", [show.Format.table, show.Format.markdown])
def test_steering_characters(capsys, format):
    """A name from elsewhere cannot steer the terminal."""
    show.table(["policy", "wait"], [["\x1b[2J\x1b]0;x\x07mine\x9b1m", "1"]], format, numbers=1)
    out = capsys.readouterr().out
    assert "mine" in out and not set(out) & {"\x1b", "\x07", "\x9b"}
