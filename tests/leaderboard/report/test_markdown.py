"""The leaderboard as Markdown, also within a README (with `ranking`)."""

import re

import pytest

import bfenv
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.report.ranking import (
    BEGIN,
    END,
    TEXT_COLUMNS,
    escaped,
    notes,
    ranked,
    render_markdown,
    title,
    with_block,
    write_readme,
)
from bfenv.leaderboard.store import read_leaderboard
from tests.leaderboard.stores import write_store


def test_ranking(leaderboard):
    """The policies are in the order of the ranking, with a cell for each column."""
    text = render_markdown(leaderboard)
    names = re.findall(r"^\| ([a-z0-9-]+) \|", text, re.M)
    assert names == ["policy", *(line.policy for line in ranked(leaderboard))]
    cells = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert cells == {len(TEXT_COLUMNS) + 1}
    assert text.startswith(f"**{escaped(title(leaderboard))}**")
    assert title(leaderboard) == "test-v1: 8 policies on 2 workloads, 16 runs"


def test_starving_policy_is_marked(rows, tmp_path):
    """A policy that starves is marked wherever its mean is; over twice EASY's wait is starving."""
    for (policy, _), row in rows.items():
        row["metrics"]["max_wait"] = 200.0 if policy == "los" else 100.0
    before = read_leaderboard(write_store(tmp_path / "no", rows.values()))
    assert "starves" not in render_markdown(before)
    assert not any(line.starves for line in ranked(before))
    rows["los", "lublin-64-0.8"]["metrics"]["max_wait"] = 201.0
    text = render_markdown(read_leaderboard(write_store(tmp_path / "yes", rows.values())))
    (line,) = (line for line in text.splitlines() if line.startswith("| los |"))
    is_marked = [cell.strip().endswith("\\*") for cell in line.split("|")[1:-1]]
    assert [column.lines.split()[0] for column, mark in zip(TEXT_COLUMNS, is_marked, strict=True)
            if mark] == ["slowdown", "bounded", "mean", "longest"]  # fmt: skip
    assert text.count("\\*") == 5 and "over 2 times EASY's" in text


def test_failed_rows(rows, tmp_path):
    """Failed rows are listed with their error, and their policy has no rank."""
    row = rows["los", "lublin-64-0.8"]
    row |= {"status": "failed", "error": "illegal <start> of job 7", "metrics": {}, "versus": {}}
    row |= {"classes": {}, "curves": {}}
    leaderboard = read_leaderboard(write_store(tmp_path / "store", rows.values()))
    assert (ranked(leaderboard)[-1].policy, ranked(leaderboard)[-1].rank) == ("los", None)
    assert "illegal &lt;start&gt; of job 7" in render_markdown(leaderboard)


def test_several_versions(rows, tmp_path):
    """Rows made by several versions of bfenv are not compared without a note."""
    versions = f"{bfenv.__version__} (None)"
    before = read_leaderboard(write_store(tmp_path / "one", rows.values()))
    assert not any(versions in note for note in notes(before, ranked(before)))
    rows["los", "lublin-64-0.8"]["commit"] = "f" * 40
    after = read_leaderboard(write_store(tmp_path / "two", rows.values()))
    (note,) = (note for note in notes(after, ranked(after)) if versions in note)
    assert "f" * 40 in note


def test_single_run(rows, tmp_path):
    """On a single run all policies share rank 1, and a note says that there are no ranks."""
    one = [row for (_, workload), row in rows.items() if workload == "lublin-64-0.8"]
    assert len({row["seed"] for row in one}) == 1
    leaderboard = read_leaderboard(write_store(tmp_path / "store", one))
    assert {line.rank for line in ranked(leaderboard)} == {1}
    assert any("There are no ranks" in note for note in notes(leaderboard, ranked(leaderboard)))


def test_escaped():
    """Text has no markup left, and is one line."""
    assert escaped("a|b\n<c>_`d`") == "a\\|b &lt;c&gt;\\_\\`d\\`"


def test_readme(tmp_path):
    """A README is changed between its marks only, and keeps its line ends."""
    path = tmp_path / "README.md"
    path.write_bytes(f"one\r\n{BEGIN}\r\nold\r\n{END}\r\ntwo\r\n".encode())
    write_readme(path, "new\n")
    assert path.read_bytes() == f"one\r\n{BEGIN}\nnew\n{END}\r\ntwo\r\n".encode()
    readme = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert with_block(readme, "new\n", path) == f"before\n{BEGIN}\nnew\n{END}\nafter\n"


def test_bad_readme(tmp_path):
    """A README without exactly one pair of marks, or not in UTF-8, is named and left alone."""
    path = tmp_path / "README.md"
    for bad in (b"none", f"{BEGIN} open".encode(), f"{BEGIN}{END}{BEGIN}".encode(), b"\xff\xfe"):
        path.write_bytes(bad)
        with pytest.raises(BfenvError, match=r"README\.md"):
            write_readme(path, "new")
        assert path.read_bytes() == bad
