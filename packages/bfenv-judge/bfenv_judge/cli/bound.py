"""The command `bfenv evaluate bound`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bfenv.cli.options as o
from bfenv.cli import show
from bfenv.cli.show import Format
from bfenv.core.errors import BfenvError
from bfenv.core.text import counted

if TYPE_CHECKING:
    from bfenv.core.jobs import Trace
    from bfenv.core.schedule import Schedule
    from bfenv_judge.bounds.gap import Gap

COLUMNS = ("schedule", "{metric}", "longest wait", "gap closed")
PARTS = 4  # what `find_gap` reports


def bound(
    workload: o.WorkloadArgument = "lublin",
    policy: list[str] | None = o.option(
        None, "POLICY", "Policy to compare; repeat for several.", "--policy", "-p"
    ),
    metric: str = o.option(
        "mean_bounded_slowdown", "NAME", "Metric: mean_bounded_slowdown or mean_wait."
    ),
    load: o.LoadOption = None,
    moves: int = o.option(100, "N", "Moves of the local search per job.", min=0),
    seed: int = o.option(0, "N", "Seed of the local search.", min=0),
    out: Path | None = o.option(
        None, "FILE", "Save schedules and certificate (.npz).", "--out", "-o"
    ),
    force: o.ForceOption = False,
    check: Path | None = o.option(
        None, "FILE", "Check a file of --out, made for the same WORKLOAD."
    ),
    format: o.FormatOption = Format.table,
) -> None:
    """Show how far EASY is from the best possible schedule.

    No schedule that runs jobs to completion has a metric below the bound, even if all jobs and
    runtimes are known in advance. The best schedules that were found use this knowledge. In the
    fair schedule, no job waits longer than twice EASY's longest wait. "Gap closed" places a policy
    between EASY (0 %) and the best schedule that was found (100 %).

    \b
    Examples:
      bfenv evaluate bound --policy easy-sjf --policy conservative
      bfenv evaluate bound lublin:jobs=500,load=0.9 --moves 1000
      bfenv evaluate bound lublin:jobs=500 --out gap.npz
      bfenv evaluate bound lublin:jobs=500 --check gap.npz
    """
    from bfenv.baselines.registry import find_competitor
    from bfenv.parallel.sweep import simulate_safely
    from bfenv.workloads.load import load_workload
    from bfenv_judge.bounds.gap import check_gap, find_gap, load_gap, save_gap

    if out is not None:
        o.check_new(out, force)
        if out.suffix != ".npz":
            raise BfenvError(f"--out {out}: the file is in NumPy's format, so name it *.npz")
    trace = load_workload(workload, **({} if load is None else {"load": load}))
    for name in policy or ():
        find_competitor(name)  # before the search, which takes longer
    if check is not None:
        gap = check_gap(load_gap(check, trace))
    else:
        with show.progress() as progress:
            task = progress.add_task("reference", total=PARTS)
            gap = find_gap(
                trace,
                metric,
                moves=moves,
                seed=seed,
                done=lambda part: progress.update(task, advance=1, description=part),
            )
    schedules = [simulate_safely(trace, name, 0) for name in policy or ()]
    if out is not None:  # before the table, whose reader may stop early
        save_gap(gap, out)
    _print(trace, gap, schedules, format)
    if check is not None and format not in show.DATA:
        show.prose(f"{check}: every number holds.", format)


def _print(trace: "Trace", gap: "Gap", schedules: "list[Schedule]", format: Format) -> None:
    import bfenv.analysis.formatting as fmt
    from bfenv.analysis import STARVES, metrics

    def value(number: float) -> str:
        return fmt.duration(number) if gap.metric == "mean_wait" else fmt.slowdown(number)

    rivals = [
        ("best found", gap.offline),
        ("best found, fair", gap.fair),
        (gap.reference.policy, gap.reference),
        *((schedule.policy, schedule) for schedule in schedules),
    ]
    best = gap.numbers
    rows: list[dict[str, Any]]
    rows = [{"schedule": "bound", gap.metric: gap.bound, "max_wait": None, "gap_closed": None}]
    for name, schedule in sorted(rivals, key=lambda pair: metrics(pair[1])[gap.metric]):
        numbers = metrics(schedule)
        closed = best.closed(numbers[gap.metric])
        rows.append(
            {
                "schedule": name,
                gap.metric: numbers[gap.metric],
                "max_wait": numbers["max_wait"],
                "gap_closed": closed if closed == closed else None,
            }
        )
    if format in show.DATA:
        show.rows(rows, format)
        return
    lines = [("no schedule is below", value(gap.bound), "", "")]
    for row in rows[1:]:
        share = "" if row["gap_closed"] is None else fmt.percent(row["gap_closed"])
        wait = fmt.duration(row["max_wait"])
        lines.append((row["schedule"], value(row[gap.metric]), wait, share))
    machine = f"{counted(len(trace), 'job')} on {counted(trace.processors, 'processor')}"
    show.table(
        [column.format(metric=gap.metric.replace("_", " ")) for column in COLUMNS],
        lines,
        format,
        numbers=len(COLUMNS) - 1,
        title=f"{trace.name}: {machine}, {fmt.offered_load([trace.offered_load])}",
        note=f"fair: no job waits over {STARVES:g} times EASY's longest wait",
    )
