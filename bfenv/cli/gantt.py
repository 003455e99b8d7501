"""The command `bfenv gantt`."""

from pathlib import Path

import bfenv.cli.options as o
from bfenv.cli import show
from bfenv.core.durations import HOUR
from bfenv.core.errors import BfenvError


def gantt(
    out: Path = o.option(..., "FILE", "Picture: .png, .svg or .pdf.", "--out", "-o"),
    workload: o.WorkloadOption = "lublin",
    policy: list[str] | None = o.option(
        None, "POLICY", "One, or two to compare. Default: easy.", "--policy", "-p"
    ),
    begin: int | None = o.duration_option(
        None, "--from", "Time at which the chart begins, such as 36h or 5d."
    ),
    span: int = o.duration_option(
        6 * HOUR, "--span", "Length of the chart, such as 2d.  [default: 6h]", least=1
    ),
    seed: o.SeedOption = 0,
    force: o.ForceOption = False,
) -> None:
    """Draw a Gantt chart of one policy, or of two on the same jobs.

    Backfilled jobs are hatched, and the queue is drawn below the machine. Without --from, the chart
    shows the time in which two policies differ most, or in which one policy starts the jobs that
    waited longest.

    \b
    Examples:
      bfenv gantt --out gantt.png
      bfenv gantt --policy fcfs --policy easy --from 5d --span 12h --out gantt.svg
    """
    from bfenv.analysis.plots.figure import check_target
    from bfenv.analysis.plots.gantt import write_gantt
    from bfenv.analysis.plots.gantt_interval import choose_begin
    from bfenv.parallel.sweep import simulate_safely
    from bfenv.workloads.load import load_workload

    names = policy or ["easy"]
    if len(names) > 2:
        raise BfenvError(f"--policy must be given once or twice, got {len(names)} policies")
    check_target(out)
    o.check_new(out, force)
    trace = load_workload(workload)
    schedules = [simulate_safely(trace, name, seed) for name in names]
    end = max(int(schedule.end.max()) for schedule in schedules)
    span = min(span, end)
    if begin is None:
        begin = choose_begin(schedules, span)
    if begin < end:  # otherwise write_gantt raises
        span = min(span, end - begin)
    with show.progress() as progress:
        progress.add_task("drawing", total=None)
        write_gantt(schedules, out, begin, span)
