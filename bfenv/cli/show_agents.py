"""How the scores of agents are printed."""

from collections.abc import Mapping, Sequence
from typing import Any

from bfenv.analysis.formatting import duration, percent, ratio, slowdown
from bfenv.cli import show
from bfenv.cli.show import Format
from bfenv.cli.show_policies import CLAIRVOYANT_MEANING, MARK, MARK_MEANING
from bfenv.core.policy import CLAIRVOYANT, COMPLETION, DIVISIONS_MEANING
from bfenv.core.text import counted
from bfenv.evaluation.episodes import MANY_OUTSIDE, RANDOM, outside_note

Scored = Mapping[str, Any]  # of `bfenv evaluate --agent --format json`

COLUMNS = (
    "policy", "division", "bounded\nslowdown", "to\nEASY", "mean\nwait", "p95\nwait",
    "longest\nwait", "with jobs\noutside",
)  # fmt: skip
BEST = "+"  # marks the best policy of its division that starves no jobs
AGREEMENT = 1.5  # ratios of two protocols that differ by at most this factor agree


def merged(tables: Sequence[Sequence[Scored]]) -> list[list[Scored]]:
    """Put agents that were scored on the same jobs into one table.

    * `tables`: for each agent and kind of episodes: the agent's rows, random actions, policies.

    Returns the rows of all agents, random actions, policies.
    """
    groups: dict[str, list[Sequence[Scored]]] = {}
    for table in tables:
        policies = [{**row, "agent": ""} for row in table if not row["decisions"]]
        groups.setdefault(repr(policies), []).append(table)  # same scores, same jobs
    return [_merge(group) for group in groups.values()]


def _merge(tables: Sequence[Sequence[Scored]]) -> list[Scored]:
    rows: list[Scored] = []
    actors = [row for table in tables for row in table if row["decisions"]]
    for row in sorted(actors, key=lambda row: row["policy"] == RANDOM and row["agent"] != RANDOM):
        if row["policy"] != RANDOM or all(other["policy"] != RANDOM for other in rows):
            rows.append(row)
    return rows + [row for row in tables[0] if not row["decisions"]]


def scores(rows: Sequence[Scored], format: Format) -> None:
    """Print the rows of agents and their references on the same episodes."""
    lines = [
        (
            _short(row["policy"]) + (BEST if row["best"] else ""),
            row["division"],
            slowdown(row["mean_bounded_slowdown"]),
            ratio(row["slowdown_ratio"]),
            duration(row["mean_wait"]),
            duration(row["p95_wait"]),
            duration(row["max_wait"]) + (MARK if row["starves"] else ""),
            percent(row["outside_window"]) if row["decisions"] else "",
        )
        for row in rows
    ]
    first = rows[0]
    episodes = f"{counted(first['episodes'], 'episode')} of" if first["episode_jobs"] else "all"
    title = f"{first['workload']}, split {first['split']}: {episodes} {first['jobs']:,} jobs"
    whole = format is Format.markdown or any(row["division"] != COMPLETION for row in rows)
    shown = [i for i, heading in enumerate(COLUMNS) if whole or heading != "division"]
    show.table(
        [COLUMNS[i] for i in shown],
        [[line[i] for i in shown] for line in lines],
        format,
        numbers=len(COLUMNS) - 2,
        title=title,
        note="\n".join(notes(rows)),
        ranked=True,
    )


def notes(rows: Sequence[Scored]) -> list[str]:
    """Return what the marks mean, and what must be known to judge the scores."""
    divisions = {row["division"] for row in rows}
    where = "of bfenv" if len(divisions) == 1 else "of its division"
    found = [f"{BEST} the best policy {where} that starves no jobs"]
    if any(row["starves"] for row in rows):
        found.append(MARK_MEANING)
    if divisions == {CLAIRVOYANT}:
        found.append(CLAIRVOYANT_MEANING)
    elif divisions != {COMPLETION}:
        found.append(DIVISIONS_MEANING)
    for row in rows:
        name, decisions = _short(row["policy"]), row["decisions"]
        if row["replaced_actions"]:
            count = f"{row['replaced_actions']:,} of {decisions:,} choices"
            found.append(
                f"{name}: {count} were illegal, and replaced by the model's best legal one"
            )
        if row["illegal_actions"]:
            count = f"{row['illegal_actions']:,} of {decisions:,} actions"
            found.append(f"{name}: {count} were illegal, and counted as passes")
        if row["outside_window"] > MANY_OUTSIDE:
            found.append(outside_note(name, row["outside_window"]))
    return found


def disagreements(
    episodes: Sequence[Mapping[str, Any]], long: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return how the scores of an agent on short episodes differ from those on a long one."""
    found = []
    for i, (one, other) in enumerate(zip(episodes, long, strict=False)):
        if not one["decisions"] or (i > 0 and one["policy"] == RANDOM):
            break  # the references follow the agent
        name, ratios = _short(one["policy"]), (one["slowdown_ratio"], other["slowdown_ratio"])
        if max(ratios) > AGREEMENT * min(ratios):
            short, whole = (ratio(value) for value in ratios)
            found.append(f"{name}: to EASY, {short} in the episodes, but {whole} in the long one")
        if other["starves"] and not one["starves"]:
            found.append(f"{name}: starves jobs in the long episode, but not in the others")
    return found


def _short(name: str) -> str:
    """Return a name without the folders of a saved model."""
    path, suffix, rest = name.partition(".zip")
    return path.rpartition("/")[2] + suffix + rest if suffix else name
