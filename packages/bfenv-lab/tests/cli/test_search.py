"""`bfenv search`: from a workload to a card."""

import json
import shlex

import pytest

import bfenv
from bfenv.workloads.transform import split_range

pytestmark = pytest.mark.compiled  # searches simulate many schedules

MODEL = "lublin:jobs=600,procs=32,load=0.9"
SMALL = ("--population", 4, "--shakes", 1, "--cases", 1, "--load", "own", "--slice-jobs", 100)


def search(run, out, *options):
    return run("search", "-w", MODEL, "--generations", 1, "--out", out, *SMALL, *options)


def test_search(run, tmp_path):
    """The result is printed, and in a file; its command makes the same result again."""
    status, out, _ = search(run, tmp_path / "one", "--options", "guard={1:2}", "--seed", 5)
    result = json.loads((tmp_path / "one" / "result.json").read_text())
    assert status == 0 and result["policy"] in out and "of EASY's bounded slowdown" in out
    words = result["command"].replace("DIR", str(tmp_path / "two"))
    run(*shlex.split(words)[1:])
    one, two = ((tmp_path / name / "result.json").read_bytes() for name in ("one", "two"))
    assert one == two


def test_budget(run, tmp_path):
    """A budget of time stops the search after the generation that passes it."""
    arguments = ("search", "-w", MODEL, "--budget", "1s", "--out", tmp_path / "found", *SMALL)
    assert run(*arguments)[0] == 0
    lines = (tmp_path / "found" / "journal.jsonl").read_text().splitlines()[1:]
    seconds = [json.loads(line)["seconds"] for line in lines]
    assert sum(seconds) >= 1 > sum(seconds[:-1])


def test_interrupt(run, tmp_path, monkeypatch):
    """After Ctrl-C, a message says that the same command goes on."""

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("bfenv_lab.search.search_run.run_search", stop)
    status, _, err = search(run, tmp_path / "found")
    assert status == 130 and "the same command goes on" in err and err.endswith("interrupted\n")


def test_card(run, tmp_path):
    """A card is scored on jobs not trained on, and its file is an agent."""
    search(run, tmp_path / "found")
    result, card = tmp_path / "found" / "result.json", tmp_path / "mine.json"
    made = ("agents", "card", result, "--what", "A formula.", "--out", card, "--copies", 2)
    status, _, err = run(*made, "--unseen", MODEL)
    assert status == 2 and "was trained on" in err and not card.exists()
    status, _, err = run("agents", "card", result, "--what", " ", "--out", card)
    assert status == 2 and "--what must say" in err and not card.exists()
    assert run(*made, "-w", MODEL + ",seed=4", "--unseen", MODEL + ",seed=3")[0] == 0
    out = run("agents", "show", card)[1]
    assert "A formula." in out and "bfenv search" in out and "0.9" in out
    rows = json.loads(run("agents", "show", card, "-f", "json")[1])
    assert [score["load"] for score in rows[0]["scores"]] == [None, 0.9] * 2
    evaluated = ("evaluate", "-p", f"agent:{card}", "-p", "easy", "-f", "csv", "-w")
    out, err = run(*evaluated, MODEL)[1:]
    seen, _ = split_range(bfenv.load_workload(MODEL), "test")
    assert f"agent:{card}" in out and f"agent:{card} was trained on {seen} of the 600 jobs" in err
    assert "was trained on" not in run(*evaluated, MODEL, "--split", "test")[2]
    assert "was trained on" not in run(*evaluated, MODEL + ",seed=3")[2]
    status, _, err = run(*made)
    assert status == 2 and "exists; use --force" in err


@pytest.mark.parametrize(
    "options",
    [
        ("--options", "guard=no"),
        ("--options", "guard={2:1}"),
        ("--start", "estimate +"),
        ("--method", "cma-es", "--start", "size * estimate"),
    ],
)
def test_settings_first(run, tmp_path, options):
    """Wrong settings are reported before what is wrong with the workload."""
    status, _, err = search(run, tmp_path / "found", *options, "--split", "test")
    assert status == 2 and err.count("\n") == 1 and "split" not in err


@pytest.mark.parametrize(
    "options, message",
    [
        (("--load", "high"), "--load is own or a number"),
        (("--method", "sa"), "method must be one of"),
        (("--budget", "1m"), "give either --generations or --budget"),
        (("--split", "test"), "takes the split train or all"),
        (("--backend", "dask"), "needs the address of a scheduler"),
        (("--method", "cma-es", "--hidden", 7), "hidden must be an integer from 0 to 6, got 7"),
    ],
)
def test_wrong(run, tmp_path, options, message):
    """Wrong input is one line, before anything is written."""
    status, _, err = search(run, tmp_path / "found", *options)
    assert status == 2 and message in err and err.count("\n") == 1
    assert not (tmp_path / "found").exists()
