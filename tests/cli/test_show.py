"""Tables on wide and narrow terminals."""

import re
import threading
import time

import pytest

import bfenv
from bfenv.cli import progress_lines, show, show_policies
from bfenv.evaluation.row import new_row


def test_numbers_are_whole(run):
    """Numbers are never cut, however long the names are."""
    name = "easy(order=wfp3, reservations=2, lookahead=100)"
    for columns in (40, 80, 120):
        _, out, _ = run("evaluate", "-w", "lublin:jobs=50", "-p", name, columns=columns)
        assert "…" not in out and " ms" in out  # that of the last column


@pytest.mark.parametrize("columns", [80, 120])
def test_names_of_agents(run, columns):
    """Names of agents stay whole beside a name that is folded."""
    long = "easy(order=wfp3, reservations=2, lookahead=100)"
    names = "agent:trial-formula", "conservative-replan-aged-random"
    policies = (option for name in (long, *names) for option in ("-p", name))
    _, out, _ = run("evaluate", "-w", "lublin:jobs=50", *policies, columns=columns)
    assert all(name in out for name in names)


def test_width(run):
    """A table is not wider than the terminal."""
    for columns in (80, 120):
        for command in (("evaluate", "policies"), ("workloads",), ("agents",)):
            out = run(*command, columns=columns)[1].splitlines()
            assert max(map(len, out[1:])) <= columns  # the first line may be a title


def test_emoji(capsys):
    """A name is shown as it is, even where a part of it is that of an emoji."""
    show.table(("policy", "wait"), [("mine:star:depth=2", "1")], numbers=1)
    assert "mine:star:depth=2" in capsys.readouterr().out


def test_no_rows(capsys):
    """No rows are an empty list in JSON, and nothing in CSV."""
    show.rows([], show.Format.json)
    show.rows([], show.Format.csv)
    assert capsys.readouterr().out == "[]\n"


def test_markdown(run):
    """Markdown has a title, one line per row, and vertical bars in cells are escaped."""
    out = run("evaluate", "-w", "lublin:jobs=50", "-p", "easy", "-f", "markdown")[1].splitlines()
    assert out[0].startswith("lublin: 50 jobs") and out[1] == ""
    assert out[3] == "|---|---|--:|--:|--:|--:|--:|--:|" and out[4].startswith("| easy | ")


def test_latex(capsys):
    """The best is the least without a mark of starvation behind a cell, if policies are ranked."""
    lines = [("a * b<c", "8"), ("bad*", "8")]
    for ranked in (True, False):
        show.table(("policy", "wait"), lines, show.Format.latex, numbers=1, ranked=ranked)
    out = capsys.readouterr().out
    assert r"b\textless{}c & \textbf{8} \\" in out and out.count(r"\textbf") == 1


def test_latex_penalized(capsys):
    """A policy that starves jobs may have the best penalized slowdown; headings keep lines."""
    headings = ("policy", "penalized\nslowdown", "slowdown\nto EASY")
    lines = [("easy", "1.0", "1.0"), ("saf*", "0.5", "0.2")]
    show.table(headings, lines, show.Format.latex, numbers=2, ranked=True)
    out = capsys.readouterr().out
    assert r"policy & penalized & slowdown \\" in out and r" & slowdown & to EASY \\" in out
    assert r"easy & 1.0 & \textbf{1.0} \\" in out and r"saf* & \textbf{0.5} & 0.2 \\" in out


@pytest.mark.parametrize("columns", range(20, 60))
def test_whole_names(monkeypatch, capsys, columns):
    """At every width, names and numbers are whole and all columns are there, in several tables."""
    monkeypatch.setenv("COLUMNS", str(columns))
    headings = ("policy", "mean wait", "longest wait", "used")
    row = ("easy(order=sjf)", "105.8 min", "11.3 d", "85.2 %")
    show.table(headings, [row], numbers=3, whole_names=True)
    lines = [line for line in capsys.readouterr().out.split("\n") if line.strip()]
    cells = {"policy": "easy(order=sjf)"}
    for title, line in zip(lines[::3], lines[2::3], strict=True):
        names, shown = (re.split(" {2,}", text.strip()) for text in (title, line))
        assert (names[0], shown[0]) == ("policy", "easy(order=sjf)")
        cells |= zip(names, shown, strict=True)
        assert max(len(title), len(line)) <= max(columns, 34)
    assert cells == dict(zip(headings, row, strict=True))


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("long", [False, True])
def test_every_column(monkeypatch, capsys, columns, long):
    """Words are repeated beside each part of the numbers, folded only if that saves a table."""
    monkeypatch.setenv("COLUMNS", str(columns))
    headings = ("variant", "policy", *(f"number\n{i}" for i in range(9)))
    policy = "easy(reservations=10)" if long else "easy"
    line = ("at most 24h, cut", policy, *(f"{i}.25 h" for i in range(9)))
    show.table(headings, [line], numbers=9, whole_names=True, title="once", note="at the end")
    out = capsys.readouterr().out
    assert all(out.count(f" {i}.25 h ") == 1 for i in range(9))
    assert out.count("variant") == out.count("at most 24h, cut") == {40: 9, 80: 2, 120: 1}[columns]
    assert out.count("once") == out.count("at the end") == 1
    assert max(map(len, out.splitlines())) <= columns
    assert columns == 40 or policy in out


@pytest.mark.parametrize("columns", [50, 80])
def test_two_whole_columns(monkeypatch, capsys, columns):
    """A second column of names stays whole as well if that is asked for."""
    monkeypatch.setenv("COLUMNS", str(columns))
    line = ("lublin-64-0.9", "mine:smallest_first", *(f"{i}.25" for i in range(6)))
    show.table(("workload", "best policy", *"abcdef"), [line], numbers=6, whole_names=2)
    out = capsys.readouterr().out
    assert out.count("mine:smallest_first") == out.count("lublin-64-0.9") >= 1
    assert max(map(len, out.splitlines())) <= columns


def test_judged(run, capsys):
    """Starvation is not judged without EASY, nor in what a log records."""
    missing = "starvation is not judged, because there are no runs of easy"
    short = ("evaluate", "-w", "lublin:jobs=50", "-p", "easy(order=sjf)")
    assert missing in run(*short)[1] and missing not in run(*short, "-p", "easy")[1]
    names = ("mean_bounded_slowdown", "mean_wait", "p95_wait", "utilization")
    trace = bfenv.make_trace([0], [1], [10], 4)

    def row(policy, longest):
        metrics = dict.fromkeys(names, 1.0) | {"max_wait": longest}
        kind = "log" if policy == "logged" else "policy"
        identity = {"policy": policy, "kind": kind, "division": "completion", "seconds": 1.0}
        return new_row(trace, metrics=metrics, **identity)

    for wait in (2000, 2001):
        rows = [row("logged", wait), row("easy", 1000)]
        show_policies.comparison(rows, show.Format.table)
        out = capsys.readouterr().out
        assert ("logged is not judged" in out) == (wait > 2000) and "*" not in out


def test_division(run):
    """The division is a column of the terminal's table only if there is another than completion."""
    _, out, _ = run("evaluate", "-w", "lublin:jobs=50", "-p", "easy")
    assert "division" not in out
    _, out, _ = run("evaluate", "-w", "lublin:jobs=50", "-p", "easy", "-p", "easy-speculative")
    assert "division" in out and " trials " in out


def test_share_done(monkeypatch, capsys):
    """A run that takes long is watched, and a terminal shows the share that is done."""
    monkeypatch.setattr(show, "REFRESH", 0.01)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    asked = threading.Semaphore(0)

    def share():
        asked.release()
        return 0.37

    with show.share_done("simulating", patience=0) as watch:
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


@pytest.mark.parametrize(("terminal", "most"), [("1", 30), ("", 200)])
def test_long_note(monkeypatch, capsys, terminal, most):
    """A terminal gets a note in lines that end between words; a file gets it as it is."""
    monkeypatch.setenv("FORCE_COLOR", terminal)
    monkeypatch.setenv("COLUMNS", "30")
    note = "[wait] of the 3 jobs that waited longest, under " + "another policy " * 8
    show.table(["policy"], [["easy"]], note=note)
    out = capsys.readouterr().out
    lines = out[out.index("[wait]") :].split("\n")
    assert " ".join(" ".join(lines).split()) == note.strip()
    assert max(map(len, lines)) <= most and (lines[1] != "") == bool(terminal)


@pytest.mark.parametrize("format", [show.Format.table, show.Format.markdown])
def test_steering_characters(capsys, format):
    """A name from elsewhere cannot steer the terminal."""
    name = "\x1b[2J\x1b]0;x\x07mine\x9b1m"
    show.table(["policy", "wait"], [[name, "1"]], format, numbers=1, title=name, note=name)
    out = capsys.readouterr().out
    assert "mine" in out and not set(out) & {"\x1b", "\x07", "\x9b"}


def test_progress_without_a_terminal(monkeypatch, capsys):
    """A long run writes a line now and then, and none after its end."""
    monkeypatch.setattr(progress_lines, "INTERVAL", 0.01)
    with show.progress() as progress:
        task = progress.add_task("preparing", total=None)
        time.sleep(0.1)
        progress.update(task, total=8, completed=2, description="easy\x1b[2J")
        time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    time.sleep(0.1)
    assert lines[0] == "bfenv: preparing after 0 s"
    assert lines[-1] == "bfenv: easy?[2J, 25 % after 0 s"
    assert capsys.readouterr().err == ""
