"""The ranking in words."""

from types import SimpleNamespace

from bfenv.leaderboard.report.markdown import render_markdown
from bfenv.leaderboard.report.ranking import agent_notes
from bfenv.leaderboard.store import read_leaderboard
from tests.leaderboard.report.conftest import page_of
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
    outside, replaced = agent_notes(rows)
    assert outside.startswith("a.zip: at 30.0 % of its decisions jobs waited outside")
    assert replaced.startswith("a.zip: 10.0 % of its choices were illegal")


def test_single_run(rows, tmp_path):
    """Columns that say nothing of a single run are left out, and why there are no ranks is told."""
    silent = {"rank", "95 % interval", "runs", "failed"}
    single = [row for (_, workload), row in rows.items() if workload == "lublin-64-0.8"]
    leaderboard = read_leaderboard(write_store(tmp_path / "one", single))
    page, text = page_of(leaderboard), render_markdown(leaderboard)
    table = page.partition('<section id="ranking"')[2].partition("</table>")[0]
    assert not any(f">{name}</th>" in table for name in silent) and "bounded slowdown" in table
    assert "| rank |" not in text and "| bounded slowdown |" in text
    assert all("There are no ranks" in one for one in (page, text))
    leaderboard = read_leaderboard(write_store(tmp_path / "all", rows.values()))
    table = page_of(leaderboard).partition('<section id="ranking"')[2].partition("</table>")[0]
    assert all(f">{name}</th>" in table for name in silent)
    assert "There are no ranks" not in page_of(leaderboard)
