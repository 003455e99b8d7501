"""Print the scores of agents."""

from collections.abc import Mapping, Sequence
from typing import Any

from bfenv.analysis.formatting import alike, percent, ratio
from bfenv.cli.show import Format
from bfenv.cli.show_policies import CLAIRVOYANT_MEANING, MARK_MEANING, table_by_division
from bfenv.core.policy import CLAIRVOYANT, COMPLETION
from bfenv.core.text import counted
from bfenv.evaluation.agent_scores import best_policies, best_without_starving
from bfenv.evaluation.cases import Episodes
from bfenv.evaluation.episodes import MANY_OUTSIDE, is_random, outside_note
from bfenv.evaluation.row import Row
from bfenv.evaluation.summary import MARK, divisions_meaning, starving

Scored = Mapping[str, Any]  # of `bfenv evaluate --agent --format json`
NOTED = ("decisions", "outside_window", "replaced_actions", "illegal_actions")

COLUMNS = (
    "policy",
    "division",
    "penalized\nslowdown",
    "slowdown\nto EASY",
    "mean\nwait",
    "p95\nwait",
    "longest\nwait",
    "with jobs\noutside",
    "actions\nreplaced",
)
BEST = "+"  # marks the policy of the lowest penalized slowdown of its division
NO_STARVING = "°"  # marks the best policy that starves a job in no episode
REPLACED = (
    "actions replaced: starts of a policy that the environment's rules do not allow, or illegal "
    "choices of a model, in place of which its best legal one is taken"
)
AGREEMENT = 1.5  # ratios of two protocols that differ by at most this factor agree


def scored(rows: Sequence[Row], case: Episodes) -> list[Scored]:
    """Return what is shown of rows of episodes: what was played, metrics, and marks."""
    best, beyond, fair = best_policies(rows), starving(rows), best_without_starving(rows)
    settings = case.env_settings
    episodes = {
        "split": settings["split"],
        "episodes": len(case.windows),
        "episode_jobs": settings["episode_jobs"],
    }
    names = ("policy", "kind", "division", "workload", "processors", "jobs")
    return [
        {name: getattr(row, name) for name in names}
        | episodes
        | {"offered_load": case.traces[0].offered_load}
        | dict.fromkeys(NOTED, 0)  # policies make no decisions of the environment
        | dict(row.metrics)
        | {"starves": row.policy in beyond, "best": row in best}
        | {"best_without_starving": row is fair}
        for row in rows
    ]


def scores(rows: Sequence[Scored], format: Format, candidates: Sequence[str] = ()) -> None:
    """Print the rows of agents and their references on the same episodes.

    `candidates`: the policies that the best one without starving was chosen from, beside the rows.
    """
    mean_waits, p95_waits, longest_waits = (
        alike([row[name] for row in rows])[0] for name in ("mean_wait", "p95_wait", "max_wait")
    )
    lines = [
        (
            _short(row["policy"])
            + (BEST if row["best"] else "")
            + (NO_STARVING if candidates and row["best_without_starving"] else ""),
            row["division"],
            ratio(row["penalized_slowdown"]),
            ratio(row["relative_slowdown"]),
            mean_wait,
            p95_wait,
            longest_wait + (MARK if row["starves"] else ""),
            percent(row["outside_window"]) if row["decisions"] else "",
            percent(row["replaced_actions"] / row["decisions"]) if row["decisions"] else "",
        )
        for row, mean_wait, p95_wait, longest_wait in zip(
            rows, mean_waits, p95_waits, longest_waits, strict=True
        )
    ]
    first = rows[0]
    count = first["episodes"]
    episodes = f"{counted(count, 'episode')} of" if first["episode_jobs"] else "all"
    jobs = first["jobs"] // count if first["episode_jobs"] else first["jobs"]
    title = f"{first['workload']}, split {first['split']}: {episodes} {jobs:,} jobs"
    divisions = {row["division"] for row in rows}
    table_by_division(COLUMNS, lines, format, divisions, title, "\n".join(notes(rows, candidates)))


def notes(rows: Sequence[Scored], candidates: Sequence[str] = ()) -> list[str]:
    """Return what the marks mean, and what must be known to judge the scores."""
    divisions = {row["division"] for row in rows}
    scope = "of bfenv" if len(divisions) == 1 else "of its division"
    lines = [f"{BEST} the policy {scope} with the lowest penalized slowdown"]
    if candidates and any(row["best_without_starving"] for row in rows):
        unshown = [name for name in candidates if name not in {row["policy"] for row in rows}]
        tried = "; ".join(["the policies above", *unshown])
        lines.append(
            f"{NO_STARVING} the lowest penalized slowdown of the policies that starve a job in no "
            f"episode. Tried: {tried}"
        )
    if any(row["starves"] for row in rows):
        lines.append(MARK_MEANING)
    if divisions == {CLAIRVOYANT}:
        lines.append(CLAIRVOYANT_MEANING)
    elif divisions != {COMPLETION}:
        lines.append(divisions_meaning(divisions))
    if any(row["replaced_actions"] for row in rows):
        lines.append(REPLACED)
    for row in rows:
        name, decisions = _short(row["policy"]), row["decisions"]
        if row["illegal_actions"]:
            count = f"{row['illegal_actions']:,} of {decisions:,} actions"
            lines.append(f"{name}: {count} were illegal, and counted as passes")
        if row["outside_window"] > MANY_OUTSIDE:
            lines.append(outside_note(name, row["outside_window"]))
    return lines


def disagreements(
    episodes: Sequence[Mapping[str, Any]], long: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return how the scores of an agent on short episodes differ from those on a long one."""
    lines = []
    on_long = {row["policy"]: row for row in long}
    for row in episodes:
        long_row = on_long.get(row["policy"])
        if long_row is None or not row["decisions"] or is_random(row["policy"]):
            continue
        name = _short(row["policy"])
        ratios = row["relative_slowdown"], long_row["relative_slowdown"]
        if max(ratios) > AGREEMENT * min(ratios):
            short, whole = (ratio(value) for value in ratios)
            lines.append(f"{name}: to EASY, {short} in the episodes, but {whole} in the long one")
        if long_row["starves"] and not row["starves"]:
            lines.append(f"{name}: starves jobs in the long episode, but not in the others")
    return lines


def _short(name: str) -> str:
    """Return a name with at most one folder of a saved model; all are often called model.zip."""
    path, suffix, settings = name.partition(".zip")
    return "/".join(path.split("/")[-2:]) + suffix + settings if suffix else name
