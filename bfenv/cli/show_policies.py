"""Print the metrics of policies on a workload."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

import bfenv.analysis.formatting as fmt
from bfenv.analysis.calibration import VERDICTS_MEANING
from bfenv.analysis.comparison import STARVES
from bfenv.analysis.logged import LOGGED
from bfenv.cli import show
from bfenv.cli.show import Format
from bfenv.core.durations import TAU
from bfenv.core.errors import UnknownNameError
from bfenv.core.policy import CLAIRVOYANT, COMPLETION, DIVISIONS
from bfenv.core.text import counted
from bfenv.evaluation.calibration_lines import COLUMNS as CALIBRATION
from bfenv.evaluation.calibration_lines import calibration_lines
from bfenv.evaluation.row import Row
from bfenv.evaluation.summary import MARK, REFERENCE, divisions_meaning, starving

if TYPE_CHECKING:
    from bfenv.leaderboard.standings import Standing

COLUMNS = (
    "policy",
    "division",
    "bounded\nslowdown",
    "mean\nwait",
    "p95\nwait",
    "longest\nwait",
    "used",
    "run",
)
WAITS = ("mean_wait", "p95_wait", "max_wait")
SLOWDOWN = "mean_bounded_slowdown"
RATIOS = "penalized\nslowdown", "slowdown\n/ EASY's", "longest wait\n/ EASY's"
YEAR = re.compile(r"-(19|20)[0-9]{2}\b.*")  # and the version, in a name of the archive
BAND = "5 to 95 %\nof seeds"  # percentiles of the bounded slowdown
METRICS = (SLOWDOWN, *WAITS, "utilization", "seconds")
UNCOMPILED = "~"  # before a time
UNCOMPILED_MEANING = (
    f"{UNCOMPILED} not all of its code was compiled yet; `bfenv warm` compiles bfenv's own code"
)
MARK_MEANING = f"{MARK} starves: its longest wait is over {STARVES:g} times EASY's"
LOGGED_MEANING = "logged is not judged: in a log, jobs also wait for what is not simulated"
NOT_JUDGED = f"starvation is not judged, because there are no runs of {REFERENCE}"
CLAIRVOYANT_MEANING = (
    "clairvoyant: the estimates are the runtimes, as in a log without estimates, so the policies "
    "know how long each job will run"
)


def comparison(
    results: Sequence[Row],
    format: Format,
    metrics: Sequence[str] = (),
    tau: int = TAU,
) -> None:
    """Print a table of means over seeds, by division, the lowest bounded slowdown first.

    What the log records stands above all policies, and those that starve jobs below the others.
    With several seeds, the 5th and 95th percentile of the bounded slowdown over the seeds stand
    beside its mean (Tsafrir 2010, Figure 4). `metrics` names further columns.
    """
    rows = [row.flat() for row in results]
    runs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        runs.setdefault((row["division"], row["policy"]), []).append(row)
    means = {
        key: {name: sum(row[name] for row in group) / len(group) for name in METRICS}
        for key, group in runs.items()
    }
    beyond = starving(results)  # a low mean may be bought by starving jobs
    ranked = sorted(
        means,
        key=lambda key: (
            key[1] != LOGGED,
            DIVISIONS.index(key[0]),
            key[1] in beyond,
            means[key]["mean_bounded_slowdown"],
        ),
    )
    waits = fmt.alike(*([means[key][name] for key in ranked] for name in WAITS))
    uncompiled = {(row.division, row.policy) for row in results if row.is_uncompiled}
    times = {
        key: UNCOMPILED * (key in uncompiled) + show.quantity(means[key]["seconds"], "s")
        for key in ranked
    }
    chosen_columns = [_column([runs[key] for key in ranked], name) for name in metrics]
    chosen = list(zip(*chosen_columns, strict=True)) if metrics else [()] * len(ranked)
    is_banded = any(len(group) > 1 for group in runs.values())
    lines = [
        (
            policy,
            "" if policy == LOGGED else division,
            fmt.slowdown(means[division, policy]["mean_bounded_slowdown"]),
            *([_band(runs[division, policy])] if is_banded else []),
            mean_wait,
            p95_wait,
            max_wait + (MARK if policy in beyond - {LOGGED} else ""),
            fmt.percent(means[division, policy]["utilization"]),
            *numbers,
            "" if policy == LOGGED else times[division, policy],
        )
        for (division, policy), mean_wait, p95_wait, max_wait, numbers in zip(
            ranked, *waits, chosen, strict=True
        )
    ]
    divisions = {division for division, policy in ranked if policy != LOGGED}
    mark = [UNCOMPILED_MEANING] if uncompiled else []
    note = "\n".join(_notes(rows, beyond, divisions) + mark + _bound(tau))
    *columns, run = COLUMNS
    if is_banded:
        columns.insert(3, BAND)
    columns += [_heading(name) for name in metrics]
    table_by_division([*columns, run], lines, format, divisions, _title(rows), note)


def _bound(tau: int) -> list[str]:
    """Return what must be said of the bound of slowdowns."""
    return [] if tau == TAU else [f"slowdowns are bounded at {tau} s, not at {TAU} s"]


def check_metrics(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> None:
    """Check that rows have these metrics; BfenvError names the first that none has."""
    numbers = {name for row in rows for name, value in row.items() if not isinstance(value, str)}
    for name in metrics:
        if name not in numbers:
            raise UnknownNameError("metric", name, sorted(numbers))


def _band(runs: Sequence[Mapping[str, Any]]) -> str:
    """Write the 5th and 95th percentile of the mean bounded slowdown over the seeds."""
    if len(runs) < 2:
        return ""
    ends = np.percentile([row["mean_bounded_slowdown"] for row in runs], (5, 95))
    return " to ".join(map(fmt.slowdown, ends))


def _column(groups: Sequence[Sequence[Mapping[str, Any]]], metric: str) -> list[str]:
    """Write the means of a metric over groups of runs; one is missing if a run lacks the number."""
    values: list[list[Any]] = [[row.get(metric) for row in group] for group in groups]
    means = [None if None in group else sum(group) / len(group) for group in values]
    return fmt.metric(metric, means)


def _heading(metric: str) -> str:
    """Break the name of a metric in two lines of about equal length."""
    words = metric.split("_")
    half = len(words) // 2
    return f"{' '.join(words[:half])}\n{' '.join(words[half:])}" if half else metric


def table_by_division(
    columns: Sequence[str],
    lines: Sequence[Sequence[str]],
    format: Format,
    divisions: set[str],
    title: str,
    note: str,
) -> None:
    """Print a table; its second column, the division, is left out if all run to completion."""
    shown = list(range(len(columns)))
    if divisions <= {COMPLETION} and format is not Format.markdown:
        del shown[1]
    cells = [[line[i] for i in shown] for line in lines]
    show.table(
        [columns[i] for i in shown],
        cells,
        format,
        numbers=len(columns) - 2,
        title=title,
        note=note,
        ranked=True,
    )


def over_workloads(
    rows: Sequence[Row],
    format: Format,
    split: str | None = None,
    seeds: int = 1,
    tau: int = TAU,
) -> None:
    """Print each policy's slowdown on each workload, and ratios to EASY's over all.

    Intervals have columns of their own, but in LaTeX stand below the numbers in a small line.
    `split`, `seeds` and `tau` are what the rows were made with, for the caption and the note.
    """
    from bfenv.leaderboard.standings import interval_notes, rank_policies

    names, standings = list(dict.fromkeys(row.workload for row in rows)), rank_policies(rows)
    lines, intervals = _cells_over_workloads(rows, names, standings)
    is_judged = any(row.policy == REFERENCE for row in rows)
    notes = [] if is_judged else [NOT_JUDGED]
    if any(standing.starves for standing in standings):
        notes.append(MARK_MEANING)
    note = "\n".join(notes + interval_notes(standings, rows) + _bound(tau))
    if format is Format.latex:
        scope = f" of the split {split}" if split else ""
        means = f", means of {seeds} seeds" if seeds > 1 else ""
        show.latex_table(
            ["policy", *short_names(names), *RATIOS],
            lines,
            intervals,
            f"Mean bounded slowdown{scope}{means}. Below it, the 95 % interval of the difference "
            "from EASY's, job by job. The last three columns are over all workloads.",
            note,
        )
        return
    whole = [
        [line[0], *chain(*zip(line[1:-2], interval[1:-2], strict=True)), *line[-2:]]
        for line, interval in zip(lines, intervals, strict=True)
    ]
    headings = [part for name in names for part in (f"{name}\nslowdown", "95 % interval\n− EASY's")]
    penalized, *ratios = RATIOS
    show.table(
        ["policy", *headings, penalized, "95 %\ninterval", *ratios],
        whole,
        format,
        numbers=2 * len(names) + 4,
        whole_names=1,
        title="Mean bounded slowdown, and ratios to EASY's over all workloads",
        note=note,
        ranked=True,
    )


def _cells_over_workloads(
    rows: Sequence[Row], names: Sequence[str], standings: "Sequence[Standing]"
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the cells of each policy, and below each number its interval, "" if it has none.

    The numbers are the slowdown on each workload, and RATIOS over all of them.
    """
    from bfenv.evaluation.summary import summarize
    from bfenv.leaderboard.report.ranking import interval_text

    summaries = {
        name: {summary.policy: summary for summary in summarize(rows, name)} for name in names
    }
    lines, intervals = [], []
    for standing in standings:
        numbers, ends_of = [], []
        for name in names:
            summary = summaries[name].get(standing.policy)
            versus = summary and summary.versus["mean_bounded_slowdown"]
            ends = [fmt.ratio(end).replace("-", "−") for end in versus[1:3]] if versus else []
            numbers.append(fmt.slowdown(summary.metrics[SLOWDOWN] if summary else None))
            ends_of.append(" to ".join(ends) if standing.policy != REFERENCE else "")
        over_easy = standing.penalized, standing.ratio, standing.longest_ratio
        numbers += map(fmt.ratio, over_easy)
        lines.append([standing.policy + MARK * standing.starves, *numbers])
        over_all = interval_text(standing) if standing.policy != REFERENCE else ""
        intervals.append(["", *ends_of, over_all, "", ""])
    return lines, intervals


def short_names(names: Sequence[str]) -> list[str]:
    """Return names of workloads without year, version and jobs, as papers write them.

    Names that would then be equal stay as they are.
    """
    short = [YEAR.sub("", name.partition("[")[0]) for name in names]
    return [
        name if short.count(brief) > 1 else brief for brief, name in zip(short, names, strict=True)
    ]


def _title(rows: Sequence[Mapping[str, Any]]) -> str:
    first = rows[0]
    machine = f"{counted(first['jobs'], 'job')} on {counted(first['processors'], 'processor')}"
    load = fmt.offered_load(row["offered_load"] for row in rows)
    seeds = len({row["seed"] for row in rows})
    means = f", means of {seeds} seeds" if seeds > 1 else ""
    return f"{first['workload']}: {machine}, {load}{means}"


def _notes(rows: Sequence[Mapping[str, Any]], beyond: set[str], divisions: set[str]) -> list[str]:
    """Return what the marks and divisions mean."""
    notes = []
    if beyond - {LOGGED}:
        notes.append(MARK_MEANING)
    if LOGGED in beyond:
        notes.append(LOGGED_MEANING)
    if not any(row["policy"] == REFERENCE for row in rows):
        notes.append(NOT_JUDGED)
    if divisions == {CLAIRVOYANT}:
        notes.append(CLAIRVOYANT_MEANING)
    elif divisions - {COMPLETION}:
        notes.append(divisions_meaning(divisions))
    return notes


def calibration(rows: Sequence[Row], format: Format) -> None:
    """Print how well each policy's first run repeats the log; only the closest is judged."""
    logs, simulated = (
        [row for row in rows if (row.kind == "log") is is_log] for is_log in (True, False)
    )
    headings = [heading.replace(" ", "\n", 1) for heading in CALIBRATION]
    (cells,) = calibration_lines(simulated, logs).values()
    note = (
        f"Only the closest policy is judged: the others need not repeat the log. {VERDICTS_MEANING}"
    )
    title = "How closely the policies repeat the log"
    numbers = len(headings) - 1
    show.table(headings, cells, format, numbers=numbers, whole_names=1, title=title, note=note)
