"""What can be said to the command `bfenv`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bfenv.cli import bench, check, leaderboard, report, show, workloads
from bfenv.cli.options import (
    BackendOption,
    JobsOption,
    Once,
    SchedulerOption,
    ShardOption,
    check_new,
)
from bfenv.cli.show import Format
from bfenv.core.errors import BfenvError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
leaderboard.app.command(cls=Once)(report.report)
leaderboard.app.command(cls=Once)(report.export)
app.add_typer(leaderboard.app, name="leaderboard")
app.add_typer(workloads.app, name="workloads")
app.add_typer(bench.app, name="bench")
app.command(cls=Once)(report.gantt)
app.command(cls=Once)(check.check)


def _print_versions(asked: bool) -> None:
    if asked:
        from bfenv.leaderboard.provenance import versions

        print(", ".join(f"{what} {version}" for what, version in versions().items()))
        raise typer.Exit


@app.callback()
def bfenv(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print it and exit.", callback=_print_versions),
    ] = False,
) -> None:
    """Backfilling schedulers of HPC clusters: simulate, compare, look up."""


WorkloadOption = Annotated[
    str, typer.Option("--workload", "-w", help="Name (see `bfenv workloads`) or SWF file.")
]
LoadOption = Annotated[
    float | None, typer.Option(help="Offered load to bring the workload to, e.g. 0.9.")
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to print the rows.")]


@app.command(cls=Once)
def evaluate(
    workload: WorkloadOption = "lublin",
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="Repeat for several. Default: every policy that can."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0 on.")] = 1,
    load: LoadOption = None,
    jobs: JobsOption = 1,
    backend: BackendOption = "loky",
    scheduler: SchedulerOption = None,
    shard: ShardOption = "1/1",
    format: FormatOption = Format.table,
) -> None:
    """Compare policies on the same jobs.

    A seed draws the jobs of a workload that is generated, and the decisions of a stochastic
    policy. The table shows means over seeds; json and csv give every run. A policy is a name, an
    expression like "easy(order=sjf)", or "module:object", of a module that Python finds or that
    stands in the current folder. Left out of every policy are, where jobs ask to start at a certain
    time, those that do not plan for it. Nothing but the seconds of a run depends on how many run
    at once.

    \b
    Examples:
      bfenv evaluate
      bfenv evaluate --policy easy --policy fcfs --load 0.9 --seeds 3 --jobs 2
      bfenv evaluate --policy easy --format csv
      bfenv evaluate --shard 3/20 --format csv
    """
    from bfenv.baselines.registry import policies
    from bfenv.parallel.evaluation import plan_evaluation, run_plan
    from bfenv.parallel.shards import read_shard, take_shard

    plan = plan_evaluation(workload, list(policy or policies()), seeds, load)
    if not policy:
        plan = _able(plan)
    plan = take_shard(plan, read_shard(shard))
    with show.progress() as progress:
        task = progress.add_task("simulating", total=len(plan))
        rows = run_plan(
            plan,
            done=lambda row: progress.update(task, advance=1, description=row["policy"]),
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
        )
    if not rows and format is not Format.json:
        print(f"bfenv: shard {shard} of so few runs has none", file=sys.stderr)
    elif format in (Format.table, Format.markdown):
        show.comparison(rows, format)
    else:
        show.rows(rows, format)


@app.command(cls=Once)
def simulate(
    workload: WorkloadOption = "lublin",
    policy: Annotated[str, typer.Option("--policy", "-p", help="See `bfenv policies`.")] = "easy",
    seed: Annotated[int, typer.Option(min=0, help="Of a stochastic policy.")] = 0,
    load: LoadOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File; without it, CSV to the terminal.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write the schedule a policy makes.

    Its columns are job,submit,size,estimate,runtime,start,end. Times are in seconds since the first
    submit time. A file whose name ends in .swf or .swf.gz is written in the Standard Workload
    Format, one in jobs.csv as the simulator Batsim does.

    \b
    Examples:
      bfenv simulate --policy easy --out schedule.csv
      bfenv simulate --policy easy --out easy.swf.gz
      bfenv simulate --policy easy --out easy_jobs.csv
      bfenv simulate --policy fcfs --load 0.7
    """
    from bfenv.leaderboard.export import check_name, schedule_csv, write_schedule
    from bfenv.parallel.evaluation import simulate_safely
    from bfenv.workloads.load import load_workload

    if out is not None:
        check_name(out)
        check_new(out, force)
    trace = load_workload(workload, **({} if load is None else {"load": load}))
    schedule = simulate_safely(trace, policy, seed)
    if out is None:
        sys.stdout.write(schedule_csv(schedule))
    else:
        write_schedule(schedule, out)


@app.command(cls=Once)
def policies(format: FormatOption = Format.table) -> None:
    """List the policies.

    \b
    Examples:
      bfenv policies
      bfenv policies --format markdown
    """
    from bfenv.baselines.registry import policies

    _list(
        [
            {"policy": policy.name, "what it does": policy.summary, "source": policy.source}
            for policy in policies().values()
        ],
        format,
    )


def _able(runs: list) -> list:
    """The runs of the policies that can do all of theirs; says on stderr which cannot."""
    from bfenv.baselines.registry import find_policy
    from bfenv.core.policy import able
    from bfenv.workloads.load import load_workload

    unable = set()
    for seed in {run.seed for run in runs}:
        here = [run for run in runs if run.seed == seed]
        jobs = load_workload(here[0].workload, **here[0].options).jobs
        unable |= {run.policy for run in here if not able(find_policy(run.policy), jobs)}
    if unable:
        what = "left out, for they do not plan for requested start times"
        names = ", ".join(dict.fromkeys(run.policy for run in runs if run.policy in unable))
        print(f"bfenv: {what}: {names}", file=sys.stderr)
    return [run for run in runs if run.policy not in unable]


def main() -> None:
    """Run the command; bad input is one line on stderr and exit status 2.

    Modules in the current folder can be named, after all others, so that none of them is shadowed.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        sys.exit(app(prog_name="bfenv", standalone_mode=False))
    except BfenvError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted")
    except Exception as error:
        # A wrong use of the command line; typer brings its own copy of click's exceptions.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            sys.exit(2)
        _fail(error.format_message())


def _fail(message: str) -> None:
    print("bfenv: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(2)


def _list(rows: list[dict[str, str]], format: Format) -> None:
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
    else:
        show.table(list(rows[0]), [list(row.values()) for row in rows], format)
