"""The command `bfenv when`."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bfenv.cli import show
from bfenv.cli.options import (
    ForceOption,
    SeedOption,
    check_new,
    choices,
    duration_option,
    option,
    options_given,
)
from bfenv.core.errors import BfenvError
from bfenv.core.text import counted
from bfenv_site.defaults import SINFO, SQUEUE, TODAY

if TYPE_CHECKING:
    from bfenv_site.forecasts.forecaster import Forecaster
    from bfenv_site.forecasts.start_forecast import StartForecast

MOMENTS = 100  # of an evaluation
# Options by what they are about
OF_LOG = "--log", "--at"
OF_QUEUE = (
    "--squeue",
    "--sinfo",
    "--processors",
    "--history",
    "--users",
    "--maintenance",
    "--partition",
)
OF_JOB = "--size", "--limit", "--user", "--job", "--advice"


class WhenFormat(StrEnum):
    """Output formats of forecasts."""

    text = "text"
    json = "json"
    csv = "csv"
    prometheus = "prometheus"


def when(
    context: typer.Context,
    log: str | None = option(
        None, "WORKLOAD", "Your log as SWF, or a name. Default: lublin.", "--log", "-w"
    ),
    at: str | None = option(
        None,
        "TIME",
        "Time of the forecast, such as 30d or '2001-05-04 13:00'. Default: the last submission; "
        "with --squeue, when it was printed.",
    ),
    size: int | None = option(None, "N", "Size of a job that you submit now, in processors."),
    limit: int | None = duration_option(
        None, "--limit", "Time limit of that job, such as 4h.", least=1
    ),
    user: int = option(-1, "N", "Number of its user in the log.", show_default=False),
    partition: str | None = option(
        None,
        "NAME",
        "With --squeue: partition of that job. Default: the one that sinfo marks with a star.",
    ),
    job: list[str] | None = option(
        None, "N", "Waiting job: its number in the log, or its Slurm id; repeat for several."
    ),
    policy: str | None = option(
        None,
        "POLICY",
        "Policy of the site. Default: easy. With --squeue and --sinfo: slurm. With --squeue alone: "
        "conservative-replan.",
        "--policy",
        "-p",
    ),
    recorded: bool | None = typer.Option(
        None,
        "--recorded/--simulated",
        help="Start from the machine as the log records it, or as the policy leaves it. "
        "Default: recorded, if the log has start times.",
    ),
    advice: bool = typer.Option(
        False, "--advice", help="Also forecast smaller requests of the job."
    ),
    squeue: Path | None = option(
        None, "FILE", "Forecast a live queue: the output of squeue, see above."
    ),
    sinfo: Path | None = option(None, "FILE", "With --squeue: the output of sinfo, see above."),
    processors: int | None = option(
        None, "N", "With --squeue and without --sinfo: size of the machine."
    ),
    history: str | None = option(
        None, "WORKLOAD", "With --squeue: accounting log, for runtimes and arrivals."
    ),
    users: Path | None = option(
        None,
        "FILE",
        "With --history: names of its users, as `bfenv workloads import --users` writes them.",
    ),
    maintenance: Path | None = option(
        None,
        "FILE",
        "With --squeue: maintenance to come, lines of begin,end or begin,end,processors.",
    ),
    evaluate: str | None = option(
        None, "WORKLOAD", "Instead, measure how good forecasts are on this log."
    ),
    moments: int | None = typer.Option(
        None,
        min=2,
        metavar="N",
        help=f"With --evaluate: number of forecasts for each kind of job. Default: {MOMENTS}.",
    ),
    months: bool = typer.Option(
        False, "--months", help="With --evaluate: one table for each month."
    ),
    futures: int = typer.Option(1000, min=1, metavar="N", help="Number of simulated futures."),
    past: int = typer.Option(
        256,
        min=0,
        metavar="N",
        help="Number of earlier moments whose forecasts correct the result.",
    ),
    seed: SeedOption = 0,
    format: WhenFormat = option(
        WhenFormat.text, "FORMAT", f"Output format: {choices(WhenFormat)}.", "--format", "-f"
    ),
    out: Path | None = option(
        None, "FILE", "Also draw the forecast of each job: .svg, .png or .pdf.", "--out", "-o"
    ),
    force: ForceOption = False,
) -> None:
    """Predict when jobs will start.

    The command simulates many futures of the machine under the site's policy, with runtimes and
    arrivals drawn from the log's past. The errors of earlier forecasts correct the result. Without
    --size or --job, it forecasts all waiting jobs. "by limits" is the start in a plan by time
    limits, as `squeue --start` prints it.

    --format prometheus prints expected waits of new jobs by processors and limit, for a node
    exporter's textfile folder. With several partitions, it asks for jobs of one of them.

    \b
    For --squeue, print the queue and the nodes of your cluster, or use squeue --json:
      {squeue} > queue.txt
      {sinfo} > nodes.txt

    \b
    Examples:
      bfenv when --log site.swf.gz --size 32 --limit 1h --advice
      bfenv when --log site.swf.gz --at 2h --format prometheus
      bfenv when --log site.swf.gz --simulated --policy fcfs --out when.svg

    \b
    More examples:
      bfenv when --log site.swf.gz --at '2001-05-04 13:00' --job 4711
      bfenv when --squeue queue.txt --sinfo nodes.txt --history site.swf.gz
      bfenv when --evaluate site.swf.gz --moments 50
    """
    _check_together(options_given(context), format, job or [])
    if evaluate is not None:
        _evaluate(
            evaluate,
            format,
            months,
            moments or MOMENTS,
            policy=policy or TODAY,
            recorded=recorded,
            futures=futures,
            past=past,
            seed=seed,
        )
        return
    if out is not None:
        from bfenv.analysis.plots.figure import check_target

        check_target(out)
        check_new(out, force)
    if squeue is None:
        from bfenv_site.forecasts.forecast import forecaster_at
        from bfenv_site.forecasts.forecaster import NewJob

        with show.progress("share") as bar:
            task = bar.add_task("forecasting", total=1.0)
            forecaster = forecaster_at(
                "lublin" if log is None else log,
                at,
                policy=policy or TODAY,
                recorded=recorded,
                futures=futures,
                past=past,
                seed=seed,
                new=None if size is None else NewJob(size, limit, user),
                done=lambda share: bar.update(task, completed=share),
            )
    else:
        from bfenv_site.live.live_queue import forecaster_of_queue

        forecaster = forecaster_of_queue(
            squeue,
            sinfo=sinfo,
            processors=processors,
            history=history,
            users=users,
            policy=policy,
            at=at,
            maintenance=maintenance,
            partition=partition,
            futures=futures,
            seed=seed,
        )
    if format is WhenFormat.prometheus:
        from bfenv_site.forecasts.when_text import prometheus_text

        show.text(prometheus_text(forecaster), end="")
        return
    forecast = forecaster.waiting(job) if size is None else forecaster.new(size, limit, user)
    if out is not None:
        from bfenv_site.forecasts.when_text import write_strips

        write_strips(forecast, out)
    _print(forecast, forecaster, format)
    if advice:
        from bfenv_site.forecasts.advice import advise

        number = forecaster.number(job[0]) if job else None
        advice_lines = advise(forecaster, size or 0, limit or 0, user, job=number)
        show.lines(
            map(str, advice_lines) if advice_lines else ["no smaller request starts much sooner"]
        )


def _check_together(typed_options: Sequence[str], format: WhenFormat, jobs: Sequence[str]) -> None:
    """Refuse options that contradict each other, or of which one would be ignored.

    * `typed_options`: their names.
    * `format`, `jobs`: values of --format and --job.
    """

    def any_of(*names: str) -> str | None:
        return next((name for name in typed_options if name in names), None)

    if any_of("--evaluate"):
        if format is WhenFormat.prometheus or any_of("--out"):
            raise BfenvError("--evaluate prints a table, json or csv, and has no picture")
        if ignored := any_of(*OF_LOG, *OF_QUEUE, *OF_JOB):
            raise BfenvError(f"--evaluate draws its own jobs and moments: leave out {ignored}")
        return
    if any_of("--months", "--moments"):
        raise BfenvError("--months and --moments are for --evaluate")
    if format is WhenFormat.prometheus:
        if ignored := any_of(*OF_JOB, "--out"):
            raise BfenvError(f"--format prometheus chooses its own jobs: leave out {ignored}")
    elif any_of("--partition") and not any_of("--size"):
        raise BfenvError("--partition names the partition of a new job: give --size, too")
    if any_of("--advice") and format is not WhenFormat.text:
        raise BfenvError(f"--advice needs --format text, got {format.value}")
    if any_of("--size") and jobs:
        raise BfenvError("give --size for a new job, or --job for one that waits, not both")
    if any_of("--limit", "--user") and not any_of("--size"):
        raise BfenvError("--limit and --user describe a new job: give --size, too")
    if any_of("--advice") and not any_of("--size") and len(jobs) != 1:
        raise BfenvError("--advice is for one job: give its --size and --limit, or its --job")
    if not any_of("--squeue"):
        if any_of(*OF_QUEUE):
            *most, last = OF_QUEUE[1:]
            raise BfenvError(f"{', '.join(most)} and {last} are for --squeue")
        return
    if any_of("--recorded"):
        raise BfenvError("--recorded and --simulated are for a log, not for --squeue")
    if any_of("--log"):
        raise BfenvError("--log is not for --squeue: give the accounting log as --history")
    if any_of("--past"):
        raise BfenvError("--past is for a log: forecasts of a live queue are not corrected")
    if any_of("--sinfo") and any_of("--processors"):
        raise BfenvError("--sinfo says how many processors there are: leave out --processors")
    if any_of("--users") and not any_of("--history"):
        raise BfenvError("--users needs --history, whose users it names")


def _print(forecast: "StartForecast", forecaster: "Forecaster", format: WhenFormat) -> None:
    from bfenv.analysis.formatting import moment
    from bfenv_site.forecasts.when_text import COLUMNS, forecast_lines, forecast_rows

    if format is not WhenFormat.text:
        show.rows(forecast_rows(forecast), show.Format(format))
        show.lines((f"bfenv: {note}" for note in forecast.notes), sys.stderr)
        return
    time_text = "" if forecaster.live else f" at {moment(forecast.time)}"
    title = f"{forecaster.name}{time_text}, under {forecast.policy}"
    lines, note = forecast_lines(forecast), "\n".join(forecast.notes)
    show.table(COLUMNS, lines, numbers=len(COLUMNS) - 1, whole_names=True, title=title, note=note)


def _evaluate(log: str, format: WhenFormat, months: bool, moments: int, **options: Any) -> None:
    import bfenv_site.forecasts.when_evaluation as ev
    from bfenv.workloads.load import load_workload

    with show.progress("share") as bar:
        task = bar.add_task("forecasting", total=1.0)
        evaluation = ev.evaluate_forecasts(
            load_workload(log),
            moments=moments,
            **options,
            done=lambda share: bar.update(task, completed=share),
        )
    rows = ev.evaluation_rows(evaluation, months=months)
    if format is not WhenFormat.text:
        show.rows(rows, show.Format(format))
        return
    starts = "the log's own starts" if evaluation.recorded else f"starts under {evaluation.policy}"
    show.prose(f"{evaluation.log}, against {starts}: {evaluation.drawn}.\n")
    for name in dict.fromkeys(row["jobs"] for row in rows):
        group = [row for row in rows if row["jobs"] == name]
        note = f"starts in each tenth of the forecasts, %: {group[0]['tenths']}"
        show.table(
            ev.COLUMNS,
            ev.evaluation_lines(group),
            numbers=len(ev.COLUMNS) - 1,
            whole_names=True,
            title=f"{name}, {counted(int(group[0]['number']), 'forecast')}",
            note=note,
        )
    show.prose("\n".join([ev.CAPTION, *evaluation.notes]))


when.__doc__ = when.__doc__ and when.__doc__.format(squeue=SQUEUE, sinfo=SINFO)
