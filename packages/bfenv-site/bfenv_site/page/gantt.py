"""A page's Gantt chart: the same hours under two policies, drawn by matplotlib, and their jobs."""

from collections.abc import Collection, Sequence

from bfenv.analysis.formatting import MISSING, compound_duration, duration, moment
from bfenv.analysis.plots.figure import inline_svg
from bfenv.analysis.plots.gantt import draw_gantt
from bfenv.analysis.plots.gantt_overview import is_large
from bfenv.analysis.plots.gantt_scene import Scene, clock_time, scene
from bfenv.core.errors import BfenvError
from bfenv.core.schedule import Schedule
from bfenv.workloads.logs.header import date_at
from bfenv_site.page.charts import badge, data
from bfenv_site.page.markup import Cell, Markup, element, join, table

LISTED = 400  # jobs in the table of numbers
QUEUE = "The strip below is the number of waiting jobs."
SAME = (
    "The jobs are the same; each has the same colour and number under both policies. Point at one, "
    "or touch it, to see both. "
)
MEANING = {
    False: "Hatched jobs were backfilled, gaps are idle processors.",
    True: "Above: the processors in use, coloured by the size of the jobs. Below: the jobs that "
    "hold most of the machine, labelled with number and processors. The line before a bar is the "
    "time that the job waited.",
}  # of the drawing, whether `is_large`


def gantt_section(
    workload: str,
    schedules: Sequence[Schedule],
    begin: int,
    span: int,
    absent: str = "",
    starving: Collection[str] = (),
) -> Markup:
    """Draw some hours of schedules, or say why they are not shown.

    * `workload`: its label.
    * `schedules`, `begin`, `span`: what to draw, see `bfenv.analysis.plots.draw_gantt`.
    * `absent`: why there are no schedules.
    * `starving`: policies that starve jobs.
    """
    if not schedules:
        return element("p", f"Not shown: {absent}.", class_="absent")
    try:
        scenes = [scene(schedule, begin, span) for schedule in schedules]
        drawing = Markup(inline_svg(lambda: draw_gantt(schedules, begin, span)))
    except BfenvError as error:
        return element("p", f"Not shown: {error}.", class_="absent")
    trace, date = schedules[0].trace, date_at(schedules[0].trace, begin)
    begin_text = moment(begin) if date is None else f"{date:%Y-%m-%d %H:%M} ({date.tzinfo})"
    period = f"{workload}: {compound_duration(span)} from {begin_text} on"
    explanation = SAME * (len(scenes) > 1) + MEANING[is_large(scenes)]
    label = f"Gantt chart: {' and '.join(schedule.policy for schedule in schedules)}"
    marks = [
        element("p", schedule.policy, " ", badge(True))
        for schedule in schedules
        if schedule.policy in starving
    ]
    return join(
        [
            element("p", f"{period}, on {trace.processors:,} processors. {explanation} {QUEUE}"),
            element("div", drawing, class_="gantt", role="img", tabindex="0", aria_label=label),
            *marks,
            data(_job_table(scenes)),
        ]
    )


def _job_table(scenes: list[Scene]) -> Markup:
    jobs = sorted({run.job for drawn_scene in scenes for run in drawn_scene.runs})
    trace = scenes[0].schedule.trace
    columns = ["job", "processors", "submitted", "runtime"]
    for drawn_scene in scenes:
        columns += [f"start, {drawn_scene.schedule.policy}", "backfilled"]
    rows = []
    for job in jobs[:LISTED]:
        cells = [
            Cell(str(job)),
            Cell(f"{trace.jobs.size[job]:,}"),
            Cell(clock_time(trace, int(trace.jobs.submit[job]))),
            Cell(duration(int(trace.runtime[job]))),
        ]
        for drawn_scene in scenes:
            cells.append(Cell(clock_time(trace, int(drawn_scene.schedule.start[job]))))
            cells.append(Cell("yes" if drawn_scene.backfilled[job] else MISSING))
        rows.append((None, cells))
    caption = "Jobs that run in these hours" + (
        f", the first {LISTED} of {len(jobs):,}" if len(jobs) > LISTED else ""
    )
    return table(caption, columns, rows)
