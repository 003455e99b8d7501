"""The whole search: what it finds, how it resumes, and that it depends on nothing else."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from bfenv import BfenvError, PolicyError, load_workload, make_trace, metrics, simulate
from bfenv.agents.seen_jobs import check_unseen
from bfenv.analysis import penalized_slowdown
from bfenv.workloads import write_swf
from bfenv_lab.search.objective import WAIT_MARGIN, Score
from bfenv_lab.search.search_run import (
    quantities_of,
    rank,
    read_result,
    result_card,
    run_search,
)
from bfenv_lab.search.search_settings import SearchSettings
from lab_helpers.toy import best_slowdown, toy_trace, write_toy

pytestmark = pytest.mark.compiled  # searches simulate many schedules

MODEL = "lublin:jobs=600,procs=32,load=0.9"
SMALL = SearchSettings(
    (MODEL,), loads=(None,), slice_jobs=150, shakes=2, population=6, cases=2, seed=3
)


@pytest.mark.parametrize(
    "method, population, generations, seed", [("gp", 60, 12, 2), ("cma-es", 12, 60, 4)]
)
def test_toy(tmp_path: Path, method: str, population: int, generations: int, seed: int) -> None:
    """Both methods find the best order of 20 jobs, which no built-in start is."""
    pytest.importorskip("cma")
    settings = SearchSettings(
        (write_toy(tmp_path),),
        loads=(None,),
        split="all",
        shakes=1,
        shake_seconds=0,
        method=method,
        population=population,
        cases=1,
        seed=seed,
    )
    best = best_slowdown()
    first = run_search(settings, tmp_path / "first", generations=1)
    found = run_search(settings, tmp_path / "found", generations=generations)
    assert _slowdown(found["policy"]) == pytest.approx(best)
    assert _slowdown("easy(order=estimate)") > 1.1 * best
    assert _slowdown(first["policy"]) >= best * (1 - 1e-12)


def _slowdown(policy: str) -> float:
    return float(metrics(simulate(toy_trace(), policy))["mean_bounded_slowdown"])


def test_command() -> None:
    """The command that makes the same search again has every setting that differs from the default.

    Loads have all their digits.
    """
    base = SearchSettings((MODEL,), method="cma-es")
    changes: dict[str, Any] = {
        "workloads": (MODEL + ",seed=4",),
        "loads": (None, 0.123456789),
        "split": "all",
        "slice_jobs": 5,
        "shakes": 1,
        "shake_seconds": 7,
        "warmup_jobs": 2,
        "method": "gp",
        "options": "guard=2",
        "starts": ("size",),
        "hidden": 2,
        "covariance": "diagonal",
        "population": 9,
        "cases": 4,
        "tolerated_wait": 2.5,
        "objective": "penalized",
        "seed": 8,
    }
    assert set(changes) == set(asdict(base))
    for name, value in changes.items():
        assert replace(base, **{name: value}).command(1) != base.command(1), name
    several = replace(base, loads=(None, 1 / 3, 1.0)).command(1)
    assert "--load own --load 0.3333333333333333 --load 1 " in several


NETWORK = {"method": "cma-es", "hidden": 3, "covariance": "diagonal"}


@pytest.mark.parametrize("changes", [{"method": "gp"}, {"method": "cma-es"}, NETWORK])
def test_resume(tmp_path: Path, changes: dict[str, Any]) -> None:
    """A search that is interrupted, even within a line, ends like one that is not."""
    pytest.importorskip("cma")
    settings = replace(SMALL, **changes, options="guard={1:2}")
    run_search(settings, tmp_path / "whole", generations=4)
    run_search(settings, tmp_path / "cut", generations=2)
    journal = tmp_path / "cut" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"generation": 2, "scores": [0.1')
    (tmp_path / "cut" / "result.json").unlink()
    run_search(settings, tmp_path / "cut", generations=4)
    assert _bytes(tmp_path / "cut") == _bytes(tmp_path / "whole")
    assert _scores(tmp_path / "cut") == _scores(tmp_path / "whole")


def test_workers(tmp_path: Path) -> None:
    """The result does not depend on the number of workers."""
    run_search(SMALL, tmp_path / "one", generations=2)
    run_search(SMALL, tmp_path / "two", generations=2, jobs=2)
    assert _bytes(tmp_path / "one") == _bytes(tmp_path / "two")
    assert _scores(tmp_path / "one") == _scores(tmp_path / "two")


def test_part_of_a_workload(tmp_path: Path) -> None:
    """A search on some of the jobs of a log records those, and no others are refused."""
    path = tmp_path / "log.swf"
    write_swf(load_workload(MODEL), path)
    part = f"{path}:first_job=30,job_count=60"
    settings = replace(SMALL, workloads=(part,), split="all")
    result = run_search(settings, tmp_path / "found", generations=1)
    (record,) = result["training"]
    assert (record["first_job"], record["end_job"]) == (30, 90)
    assert (record["first_number"], record["last_number"]) == (31, 90)
    assert {case["job_count"] for case in result["cases"]} == {60}
    spans = result_card("mine", "What it is.", result).seen_jobs
    source = f"{path}:first_job=90"
    check_unseen("mine", spans, load_workload(source), source=source)
    with pytest.raises(PolicyError, match="trained on 1 of the 10 jobs"):
        source = f"{path}:first_job=89,job_count=10"
        check_unseen("mine", spans, load_workload(source), source=source)


def test_quantities(tmp_path: Path) -> None:
    """Only quantities that vary in the training are searched with."""
    larger, named = "lublin:jobs=600,procs=64", str(tmp_path / "named.swf")
    write_swf(make_trace([0, 0], [1, 2], [5, 5], 32, user=[0, 1]), named)
    for workloads, users, processors in (
        ((MODEL,), False, False),
        ((MODEL, larger), False, True),
        ((named, MODEL), True, False),
        ((named, larger), True, True),
    ):
        quantities = quantities_of(workloads, trials=users)
        assert ("tried" in quantities) == users
        assert ("user_queued" in quantities) == users
        assert ("processors" in quantities) == processors
        assert "estimate" in quantities


@pytest.mark.parametrize(
    "change, message",
    [
        ({"method": "annealing"}, "method must be one of 'gp', 'cma-es'"),
        ({"split": "test"}, "takes the split train or all, not 'test'"),
        ({"workloads": (MODEL, MODEL)}, "each given once"),
        ({"workloads": (MODEL + ",split=test",)}, "takes workloads without split"),
        ({"workloads": (MODEL + ",job_count=9",)}, "without job_count, unless the split is all"),
        ({"hidden": 2}, "hidden units belong to the method cma-es"),
        ({"covariance": "diagonal"}, "a covariance belongs to the method cma-es"),
        ({"method": "cma-es", "covariance": "round"}, "covariance must be one of 'full'"),
        ({"method": "cma-es", "hidden": 7}, "hidden must be an integer from 0 to 6"),
        ({"population": 2}, "population must be an integer >= 4"),
        ({"method": "cma-es", "starts": ("size",)}, "no number to tune"),
        ({"starts": ("sise",)}, "unknown name 'sise'"),
        ({"starts": ("size * processors",)}, "uses processors, which the training does not vary"),
        ({"starts": ("size + tried",)}, "uses tried, which the training does not vary"),
        ({"loads": ()}, "loads must be a list with at least one load, got ()"),
        ({"loads": 0.9}, "loads must be a list with at least one load, got 0.9"),
        ({"loads": (float("nan"),)}, "load must be a finite number > 0, got nan"),
    ],
)
def test_wrong_settings(tmp_path: Path, change: dict[str, object], message: str) -> None:
    """Each wrong setting is named."""
    with pytest.raises(BfenvError) as error:
        run_search(replace(SMALL, **change), tmp_path / "found", generations=1)  # type: ignore[arg-type]
    assert message in str(error.value)
    for length in ({"generations": 1.5}, {"budget": 0}):
        with pytest.raises(BfenvError, match="must be"):
            run_search(SMALL, tmp_path / "found", **length)
    assert not (tmp_path / "found").exists()


def test_other_search(tmp_path: Path) -> None:
    """A folder of another search, and a journal of other candidates, are refused."""
    run_search(SMALL, tmp_path, generations=1)
    with pytest.raises(BfenvError, match="is of another search: its seed is 3, not 4"):
        run_search(replace(SMALL, seed=4), tmp_path, generations=1)
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"policies": "', b'"policies": "x'))
    with pytest.raises(BfenvError, match="generation 0 scored other policies"):
        run_search(SMALL, tmp_path, generations=2)
    for damage in (b"hello\n", b"[1]\n"):
        journal.write_bytes(damage)
        with pytest.raises(BfenvError, match="is not the journal of a search"):
            run_search(SMALL, tmp_path, generations=2)
    with pytest.raises(BfenvError, match="is not the result"):
        read_result(journal)
    with pytest.raises(BfenvError, match="cannot be read"):
        read_result(tmp_path / "none.json")


def _bytes(folder: Path) -> bytes:
    return (folder / "result.json").read_bytes()


def _scores(folder: Path) -> list[object]:
    lines = map(json.loads, (folder / "journal.jsonl").read_text().splitlines()[1:])
    return [(line["policies"], line["scores"], line["best"]) for line in lines]


def test_left_out(tmp_path: Path) -> None:
    """Each workload is scored by what the search finds on the others, which the card has, too."""
    other = MODEL.replace("procs=32", "procs=16")
    settings = replace(SMALL, workloads=(MODEL, other), objective="penalized", shake_seconds=0)
    result = run_search(settings, tmp_path / "both", generations=1, leave_out=True)
    assert [score["workload"] for score in result["left_out"]] == [MODEL, other]
    alone = replace(settings, workloads=(other,))
    found = run_search(alone, tmp_path / "alone", generations=1)
    first = result["left_out"][0]
    assert first["policy"] == found["policy"]
    ratios = []
    for split in ("train", "validation"):
        trace = load_workload(MODEL, split=split)
        own, easy = (simulate(trace, policy) for policy in (first["policy"], "easy"))
        ratios.append(penalized_slowdown(own, easy))
    assert first["penalized_slowdown"] == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
    written = read_result(tmp_path / "both" / "result.json")
    assert written["left_out"] == result["left_out"]
    assert result["command"].endswith(" --leave-out")
    assert result_card("mine", "A formula.", result).found["left_out"] == result["left_out"]
    with pytest.raises(BfenvError, match="needs at least two"):
        run_search(SMALL, tmp_path / "one", generations=1, leave_out=True)


def test_margin() -> None:
    """By slowdown, a policy near to starving jobs loses to any other; by J, the value decides."""
    assert WAIT_MARGIN < 2
    near = Score(0.0, 1.0, WAIT_MARGIN, 1.0)
    far = Score(-2.0, 0.1, WAIT_MARGIN + 0.01, 0.1)
    assert rank(near, "slowdown") < rank(far, "slowdown")
    assert rank(far, "penalized") < rank(near, "penalized")
