"""The checklist of the papers: every line runs, every table and figure has its place."""

import shlex
import sys

import pytest

import bfenv
from bfenv import cli
from bfenv.analysis import summarize
from bfenv.core.names import import_object, read_value
from bfenv.workloads.archive.catalogue import find_log
from reproductions.checklist import CONTENTS, ENTRIES, KINDS, Entry, place_of, render
from reproductions.item import Item
from reproductions.papers import PAPERS
from tests.conftest import ROOT

READINGS = {"readings", "readings-slowdown"}  # items that compare readings of a paper
LINES = list(dict.fromkeys((e.kind, e.name) for part in ENTRIES.values() for e in part))
POLICIES, WORKLOADS, METRICS, FUNCTIONS, COMMANDS, SETTINGS, LOGS, PAGES, OTHERS = (
    [name for kind, name in LINES if kind in of]
    for of in (
        ["policy"],
        ["workload"],
        ["metric"],
        ["function"],
        ["command"],
        ["environment"],
        ["log"],
        ["page"],
        ["item", "absent"],
    )
)


def test_kinds():
    """Each line is of a kind that some test below tries."""
    lists = (POLICIES, WORKLOADS, METRICS, FUNCTIONS, COMMANDS, SETTINGS, LOGS, PAGES, OTHERS)
    assert sum(map(len, lists)) == len(LINES) and {kind for kind, _ in LINES} <= KINDS.keys()


@pytest.mark.parametrize("name", POLICIES)
def test_policy(name):
    """Every policy schedules the jobs of a small workload, and so that the machine allows it."""
    submit, size, runtime = [0, 0, 1, 2, 30], [3, 2, 4, 1, 2], [60, 30, 20, 40, 9]
    trace = bfenv.make_trace(submit, size, runtime, 4, estimate=[90, 60, 20, 80, 30])
    bfenv.simulate(trace, name).check()


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload(name):
    """Every workload can be loaded, and its options change it."""
    trace = bfenv.load_workload(name)
    model, _, options = name.partition(":")
    jobs, *others = options.split(",", 1)
    plain = bfenv.load_workload(f"{model}:{jobs}")
    assert len(trace) == len(plain) == int(jobs.removeprefix("jobs="))
    defaults = ["estimates=tsafrir"] if model == "lublin" else []
    assert (trace.hash != plain.hash) == (others not in ([], defaults))


def test_metrics():
    """Every metric has a number, of a schedule with priorities, reservations and guarantees."""
    trace = bfenv.make_trace(
        [0, 0, 1, 2, 3, 30, 31],
        [3, 2, 4, 1, 2, 1, 1],
        [60, 30, 20, 40, 9, 5, 7],
        4,
        estimate=[90, 60, 20, 80, 30, 2000, 20_000],
        priority=[0, 1, 0, 1, 0, 0, 0],
        requested_start=[0, 0, 0, 0, 50, 0, 0],
        user=[0, 1, 0, 1, 0, 1, 1],
    )
    schedule, other = (bfenv.simulate(trace, name) for name in ("conservative", "multiqueue"))
    found = summarize(schedule, other)["metrics"]
    for name in METRICS:
        assert found[name] is not None, name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    """Every function can be imported, and says which paper it follows."""
    function = import_object(name)
    assert callable(function) and function.__doc__


@pytest.mark.parametrize("name", COMMANDS)
def test_command(name, monkeypatch, capsys):
    """Every command runs."""
    monkeypatch.setattr(sys, "argv", ["bfenv", *shlex.split(name)])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert not exit_.value.code and "easy" in capsys.readouterr().out


@pytest.mark.parametrize("name", SETTINGS)
def test_setting(name):
    """Every setting makes an environment."""
    setting, _, value = name.partition("=")
    chosen = {setting: read_value(value)}
    bfenv.BackfillEnv("lublin:jobs=2000,procs=16", **chosen).reset(seed=0)


@pytest.mark.parametrize("name", LOGS)
def test_log(name):
    """Every log is in the catalogue, from which it can be fetched, and its paper's page has it."""
    assert find_log(name.partition("(")[0])
    for paper, entries in ENTRIES.items():
        if any(entry.name == name for entry in entries):
            runs = {v.run.workload for i in PAPERS[paper].items for v in i.build(False).values()}
            assert any(workload.startswith(name.rstrip(")")) for workload in runs)


@pytest.mark.parametrize("name", PAGES)
def test_page(name):
    """Every page is there."""
    assert (ROOT / "docs" / name).is_file()


@pytest.mark.parametrize("paper", ENTRIES)
def test_further_items(paper):
    """Each item that is no table or figure of its paper has its line, and each line its item."""
    further = {
        item.name for item in PAPERS[paper].items if not item.name.startswith(("table", "figure"))
    }
    listed = {entry.name for entry in ENTRIES[paper] if entry.kind == "item"}
    assert listed == further - READINGS


@pytest.mark.parametrize("paper", CONTENTS)
def test_tables_and_figures(paper):
    """Each has a place; an item that is one is in the list; an item computes something."""
    for name in CONTENTS[paper]:
        assert place_of(paper, name), name
    items: tuple[Item, ...] = PAPERS[paper].items
    numbered = {item.name for item in items if item.name.startswith(("table", "figure"))}
    assert numbered <= set(CONTENTS[paper])
    for item in items:
        assert item.build(False).values(), item.name


def test_generated_page():
    """The page says what the list says.

    To make it again: `python -m reproductions checklist --out docs/reproductions`.
    """
    assert (ROOT / "docs" / "reproductions" / "checklist.md").read_text() == render()


def test_missing_name():
    """The tests above fail for a name that does not exist."""
    wrong = Entry("Section 1", "nothing", "policy", "no-such-policy")
    with pytest.raises(bfenv.BfenvError):
        test_policy(wrong.name)
    assert place_of("tsafrir2010", "figure-99") is None
