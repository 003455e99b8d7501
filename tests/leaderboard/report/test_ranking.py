"""The ranking in words."""

import re
from types import SimpleNamespace

import pytest

import bfenv
import bfenv.leaderboard.report.ranking as ranking
from bfenv.analysis.formatting import MISSING
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.report.ranking import (
    TEXT_COLUMNS,
    escaped,
    notes,
    ranked,
    render_markdown,
    title,
)
from bfenv.leaderboard.store import read_leaderboard
from tests.leaderboard.stores import write_store


def row(policy, kind="agent", **metrics):
    return SimpleNamespace(policy=policy, kind=kind, metrics=metrics)


def test_agent_notes():
    """Shares are of all decisions of an agent; nothing is said of a few, or of policies."""
    rows = [
        row("a.zip", decisions=100.0, outside_window=0.0, replaced_actions=0.0),
        row("a.zip", decisions=300.0, outside_window=0.4, replaced_actions=40.0),
        row("b.zip", decisions=100.0, outside_window=0.04, replaced_actions=0.0),
        row("easy", "policy", decisions=100.0, outside_window=1.0, replaced_actions=9.0),
        row("old", mean_wait=1.0),
    ]
    outside, replaced = ranking.agent_notes(rows)
    assert outside.startswith("a.zip: at 30.0 % of its decisions jobs waited outside")
    assert replaced.startswith("a.zip: 10.0 % of its choices were illegal")


def made_by(sources="a", commit="c", **others):
    versions = {"bfenv": "1", "numpy": "2", "numba": "3", "python": "4", "sources": sources}
    kept = {name: value for name, value in (versions | others).items() if value is not None}
    return SimpleNamespace(versions=kept, commit=commit)


def test_version_notes():
    """Other sources and programs are pointed out, another commit of the same sources is not."""
    first = made_by()
    assert ranking.version_notes([first, made_by(), made_by(commit="d"), made_by(torch="5")]) == []
    for other, text in [
        (made_by("b"), "bfenv 1 (a), 1 (b)."),
        (made_by(None), "bfenv 1 (a), 1 (c)."),
        (made_by(numpy="3"), "numpy 2, 3."),
        (made_by(numba=None), "numba 3, unknown."),
        (made_by("b", python="5"), "bfenv 1 (a), 1 (b); python 4, 5."),
    ]:
        (note,) = ranking.version_notes([first, other])
        assert "several versions" in note and note.endswith(f"same results: {text}")
    assert len(ranking.version_notes([made_by(torch="5"), made_by(torch="6")])) == 1


def test_random_agent():
    """An agent that learns nothing is not to be trained."""
    rows = [row("random:window=4", decisions=10.0, outside_window=0.5)]
    (note,) = ranking.agent_notes(rows)
    assert note.endswith("outside the window") and "train" not in note


def test_failures():
    """Each error of a policy is one line with the number of its runs."""
    runs = [("a", 0, "no"), ("a", 1, "no"), ("a", 2, "no"), ("a", 3, "late"), ("b", 0, "no")]
    rows = [
        SimpleNamespace(policy=policy, workload="w", seed=seed, error=error)
        for policy, seed, error in runs
    ]
    assert ranking.failures(rows) == [
        "a on w, seed 0 and 2 other runs: no",
        "a on w, seed 3: late",
        "b on w, seed 0: no",
    ]


def test_shared_rank(rows, tmp_path):
    """The rule of shared ranks stands below a table that has some, and below no other."""
    own = [row | {"policy": "copy"} for row in rows.values() if row["policy"] == "fcfs"]
    leaderboard = read_leaderboard(write_store(tmp_path / "all", [*rows.values(), *own]))
    ranks = [line.rank for line in ranking.ranked(leaderboard)]
    assert len(set(ranks)) < len(ranks)
    assert ranking.SHARED_RANK in ranking.render_markdown(leaderboard)
    pair = [row for row in rows.values() if row["policy"] in ("fcfs", "easy")]
    leaderboard = read_leaderboard(write_store(tmp_path / "two", pair))
    assert [line.rank for line in ranking.ranked(leaderboard)] == [1, 2]
    assert ranking.SHARED_RANK not in ranking.render_markdown(leaderboard)


def test_foresight_notes():
    """Who could not be tested for foresight is named once, with the reason; others are not."""
    found = ["not checked: two runs differ", "not checked: two runs differ", "none found", None]
    rows = [
        SimpleNamespace(policy=name, foresight=foresight)
        for name, foresight in zip(["a:b", "a:b", "c:d", "easy"], found, strict=True)
    ]
    assert ranking.foresight_notes(rows) == ["a:b: not tested for foresight: two runs differ"]


def test_single_run(rows, tmp_path):
    """Columns that say nothing of a single run are left out, and why there are no ranks is told."""
    silent = {"rank", "95 % interval", "runs", "failed"}
    single = [row for (_, workload), row in rows.items() if workload == "lublin-64-0.8"]
    leaderboard = read_leaderboard(write_store(tmp_path / "one", single))
    text = ranking.render_markdown(leaderboard)
    assert not any(f"| {name} |" in text for name in silent) and "| bounded slowdown |" in text
    assert "There are no ranks" in text
    leaderboard = read_leaderboard(write_store(tmp_path / "all", rows.values()))
    text = ranking.render_markdown(leaderboard)
    assert all(f"| {name} |" in text for name in silent - {"failed", "runs"})  # on the page only
    assert "There are no ranks" not in text


def test_ranking(leaderboard):
    """The policies are in the order of the ranking, with a cell for each column."""
    text = render_markdown(leaderboard)
    names = re.findall(r"^\| ([a-z0-9-]+(?:\\\*)?) \|", text, re.M)
    lines = ranked(leaderboard)
    assert names == ["policy", *(line.policy + "\\*" * line.starves for line in lines)]
    assert {line.policy for line in lines if line.starves} == {"easy-saf", "sjf"}
    cells = [line.count("|") for line in text.splitlines() if line.startswith("|")]
    assert cells == [len(TEXT_COLUMNS)] * (2 + len(lines))  # without the division, which is one
    assert text.startswith(f"**{escaped(title(leaderboard))}**")
    assert title(leaderboard) == "test-v1: 8 policies on 2 workloads, 16 runs"


def test_by(leaderboard):
    """The measure ranked by stands behind the rank, with its interval, and decides the order."""
    headings = {
        "penalized": "penalized slowdown",
        "slowdown": "slowdown / EASY's",
        "wait": "wait / EASY's",
        "p95_wait": "p95 wait / EASY's",
    }
    for by, heading in headings.items():
        text = render_markdown(leaderboard, by=by)
        table = next(line for line in text.splitlines() if line.startswith("| policy"))
        cells = [cell.strip() for cell in table.split("|")]
        assert (
            cells[2:5] == ["rank", heading, "95 % interval"] and len(set(cells)) == len(cells) - 1
        )
        lines = ranked(leaderboard, by)
        scores = [line.score for line in lines]
        assert scores == sorted(scores, key=lambda score: (score is None, score))
    assert [line.ratio for line in ranked(leaderboard, "slowdown")] == [
        line.score for line in ranked(leaderboard, "slowdown")
    ]
    with pytest.raises(BfenvError, match="unknown measure to rank by 'nothing'"):
        ranked(leaderboard, "nothing")


def test_starving_policy_is_marked(rows, tmp_path):
    """Over twice EASY's longest wait is starving: a mark with its meaning, and the cost of it."""
    for (policy, _), row in rows.items():
        row["metrics"]["max_wait"] = 200.0 if policy == "los" else 100.0
    before = read_leaderboard(write_store(tmp_path / "no", rows.values()))
    assert "starves" not in render_markdown(before)
    assert not any(line.starves for line in ranked(before))
    rows["los", "lublin-64-0.8"]["metrics"]["max_wait"] = 201.0
    text = render_markdown(read_leaderboard(write_store(tmp_path / "yes", rows.values())))
    assert "over 2 times EASY's" in text
    (line,) = (line for line in text.splitlines() if line.startswith("| los\\* |"))
    assert "2.010" in [cell.strip() for cell in line.split("|")]


def test_failed_rows(rows, tmp_path):
    """Failed rows are listed with their error, and their policy has no rank."""
    row = rows["los", "lublin-64-0.8"]
    row |= {"status": "failed", "error": "illegal <start> of job 7", "metrics": {}, "versus": {}}
    row |= {"classes": {}, "curves": {}}
    leaderboard = read_leaderboard(write_store(tmp_path / "store", rows.values()))
    line = ranked(leaderboard)[-1]
    assert (line.policy, line.rank) == ("los", None)
    assert "illegal &lt;start&gt; of job 7" in render_markdown(leaderboard)


def test_metric_of_failed_policy(rows, tmp_path):
    """The column of a metric has no number for a policy of which every row failed."""
    for row in rows.values():
        if row["policy"] == "los":
            row |= {"status": "failed", "error": "late", "metrics": {}, "versus": {}}
            row |= {"classes": {}, "curves": {}}
    leaderboard = read_leaderboard(write_store(tmp_path / "store", rows.values()))
    column = ranking.metric_column(leaderboard, "max_wait")
    lines = ranked(leaderboard)
    texts = dict(zip([line.policy for line in lines], column.texts(lines), strict=True))
    assert [name for name, text in texts.items() if text == MISSING] == ["los"]


def test_metric_units(rows, tmp_path):
    """The column of a metric has a unit if it is a duration."""
    leaderboard = read_leaderboard(write_store(tmp_path / "store", rows.values()))
    lines = ranked(leaderboard)
    for name, has_unit in (("max_wait", True), ("mean_bounded_slowdown", False)):
        texts = ranking.metric_column(leaderboard, name).texts(lines)
        assert all(text.replace(",", "").replace(".", "").isdigit() != has_unit for text in texts)


def test_several_versions(rows, tmp_path):
    """Rows made by several versions of bfenv are not compared without a note."""
    versions = f"{bfenv.__version__} (None)"
    before = read_leaderboard(write_store(tmp_path / "one", rows.values()))
    assert not any(versions in note for note in notes(before, ranked(before)))
    rows["los", "lublin-64-0.8"]["commit"] = "f" * 40
    after = read_leaderboard(write_store(tmp_path / "two", rows.values()))
    (note,) = (note for note in notes(after, ranked(after)) if versions in note)
    assert "f" * 40 in note


def test_markdown_single_run(rows, tmp_path):
    """On a single run all policies share rank 1, and a note says that there are no ranks."""
    one = [row for (_, workload), row in rows.items() if workload == "lublin-64-0.8"]
    assert len({row["seed"] for row in one}) == 1
    leaderboard = read_leaderboard(write_store(tmp_path / "store", one))
    assert {line.rank for line in ranked(leaderboard)} == {1}
    assert any("There are no ranks" in note for note in notes(leaderboard, ranked(leaderboard)))


def test_escaped():
    """Text has no markup left, and is one line."""
    assert escaped("a|b\n<c>_`d`") == "a\\|b &lt;c&gt;\\_\\`d\\`"
