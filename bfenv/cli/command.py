"""What can be said to the command `bfenv` (top layer)."""

import csv
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from bfenv.cli import leaderboard, show, workloads
from bfenv.cli.options import BackendOption, JobsOption, SchedulerOption, ShardOption
from bfenv.cli.show import Format
from bfenv.core.errors import BfenvError

app = typer.Typer(
    help="Backfilling schedulers of HPC clusters: simulate, compare, look up.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
bench = typer.Typer(
    help="Measure how fast bfenv is on this machine.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(leaderboard.app, name="leaderboard")
app.add_typer(workloads.app, name="workloads")
app.add_typer(bench, name="bench")


WorkloadOption = Annotated[
    str, typer.Option("--workload", "-w", help="Name (see `bfenv workloads`) or SWF file.")
]
LoadOption = Annotated[
    float | None, typer.Option(help="Offered load to bring the workload to, e.g. 0.9.")
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to print the rows.")]


@app.command()
def evaluate(
    workload: WorkloadOption = "lublin",
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="Repeat for several. Default: every policy."),
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
    policy. The table shows means over seeds; json and csv give every run. Nothing but the
    seconds of a run depends on how many run at once.

    \b
    Examples:
      bfenv evaluate
      bfenv evaluate --policy easy --policy fcfs --load 0.9 --seeds 3 --jobs 2
      bfenv evaluate --policy easy --format csv
      bfenv evaluate --shard 3/20 --format csv
    """
    from bfenv.bench.evaluation import evaluate, runs
    from bfenv.bench.sweep import read_shard, share
    from bfenv.core.policy import policies

    chosen = list(policy or policies())
    part = read_shard(shard)
    with show.progress() as progress:
        total = len(share(runs(workload, chosen, seeds, load), part))
        task = progress.add_task("simulating", total=total)
        rows = evaluate(
            workload,
            chosen,
            seeds=seeds,
            load=load,
            shard=part,
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


@app.command()
def simulate(
    workload: WorkloadOption = "lublin",
    policy: Annotated[str, typer.Option("--policy", "-p", help="See `bfenv policies`.")] = "easy",
    seed: Annotated[int, typer.Option(min=0, help="Of a stochastic policy.")] = 0,
    load: LoadOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV file; without it, the terminal.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write the schedule a policy makes: job,submit,size,estimate,runtime,start,end.

    Times are in seconds since the first submit time.

    \b
    Examples:
      bfenv simulate --policy easy --out schedule.csv
      bfenv simulate --policy fcfs --load 0.7
    """
    from bfenv.core.files import write_atomically
    from bfenv.core.simulator import simulate
    from bfenv.workloads.load import load_workload

    if out is not None and out.exists() and not force:
        raise BfenvError(f"{out} is there already; --force overwrites it")
    if out is not None and not out.parent.is_dir():
        raise BfenvError(f"no such folder: {out.parent}")
    trace = load_workload(workload, **({} if load is None else {"load": load}))
    schedule = simulate(trace, policy, seed)
    jobs = trace.jobs
    columns = (jobs.submit, jobs.size, jobs.estimate, trace.runtime, schedule.start, schedule.end)
    rows = zip(range(len(trace)), *(column.tolist() for column in columns), strict=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["job", "submit", "size", "estimate", "runtime", "start", "end"])
    writer.writerows(rows)
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        write_atomically(out, text.getvalue().encode())


@app.command()
def policies(format: FormatOption = Format.table) -> None:
    """List the policies.

    \b
    Examples:
      bfenv policies
      bfenv policies --format markdown
    """
    from bfenv.core.policy import policies

    _list(
        [
            {"policy": policy.name, "what it does": policy.summary, "source": policy.source}
            for policy in policies().values()
        ],
        format,
    )


@bench.command()
def engine(
    repeat: Annotated[int, typer.Option(min=1, help="Runs per figure; the best counts.")] = 10,
    largest: Annotated[int, typer.Option(min=1, help="Most jobs to generate.")] = 1_000_000,
    format: FormatOption = Format.table,
) -> None:
    """Time whole traces under FCFS and EASY, the start of a process, and the memory of it.

    The traces are those at hand of KTH, SDSC-SP2, CTC, BLUE and HPC2N, and generated ones.

    \b
    Examples:
      bfenv bench engine --repeat 1 --largest 10000
    """
    from bfenv.bench import speed

    _measure(speed.engine(repeat, largest), format)


@bench.command("policies")
def policies_(
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", help="Repeat for several. Default: every policy."),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs per figure; the best counts.")] = 3,
    format: FormatOption = Format.table,
) -> None:
    """Time policies on whole traces, and as the queue and the machine grow.

    \b
    Examples:
      bfenv bench policies --policy easy --policy los --repeat 1
    """
    from bfenv.bench import speed
    from bfenv.core.policy import find_policy, policies

    names = [find_policy(name) for name in policy or policies()]
    _measure(speed.policies(names, repeat), format)


def _measure(measurements: Iterator[dict], format: Format) -> None:
    from bfenv.bench import speed

    rows = []
    with show.progress() as progress:
        task = progress.add_task("", total=None)
        for row in measurements:
            rows.append(row)
            progress.update(task, description=f"{row['policy']} {row['what']}")
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
        return
    lines = [
        (
            row["what"],
            row["policy"],
            f"{row['jobs']:,}" if row["jobs"] else "",
            show.quantity(row["best"], row["unit"]),
            show.quantity(row["median"], row["unit"]),
            f"{row['best'] / row['jobs'] * 1e9:,.0f} ns" if row["jobs"] else "",
        )
        for row in rows
    ]
    columns = ["what", "policy", "jobs", "best", "median", "per job"]
    show.table(columns, lines, format, numbers=True, title=speed.machine())


def main() -> None:
    """Run the command; bad input is one line on stderr and exit status 2."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # where a user's own module:object may be
    try:
        sys.exit(app(prog_name="bfenv", standalone_mode=False))
    except (BfenvError, OSError) as error:
        _fail(str(error))
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
