"""What can be said to `bfenv leaderboard`."""

import sys
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from bfenv.cli import options, show
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.suite import DEFAULT, SUITES
from bfenv.parallel.worker_process import TIMEOUT

app = typer.Typer(
    help="Compare policies and agents on frozen suites of traces.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
MOST = 10  # lines of where the time went


@app.callback()
def leaderboard() -> None:
    """Compare policies and agents on frozen suites of traces."""


def run(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the rows; made if need be.")],
    suite: Annotated[str, typer.Option("--suite", "-s", help="See the list above.")] = DEFAULT,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="Repeat for several.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every registered policy.")] = False,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", help="Name, module:object or saved model; repeat."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="The first so many of the suite's seeds.")
    ] = None,
    jobs: options.JobsOption = -1,
    backend: options.BackendOption = "loky",
    scheduler: options.SchedulerOption = None,
    shard: options.ShardOption = "1/1",
    keep_schedules: Annotated[
        bool, typer.Option("--keep-schedules", help="Write start and end of every job, too.")
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds that a row may take.")] = TIMEOUT,
    retry: Annotated[bool, typer.Option("--retry", help="Make failed rows again.")] = False,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Open saved models, which may run anything, all the same."),
    ] = False,
) -> None:
    """Make the rows of policies and agents on a suite.

    Only those that the folder does not have yet are made. A run that was interrupted or killed goes
    on where it was. A policy that crashes or takes too long costs its own row, which says so. A row
    is the same whoever makes it, so that shards may share a folder, or their folders be merged. The
    exit status is 1 where a row failed, now or before; --retry makes failed ones again.

    \b
    Suites:
      {suites}

    An agent is a name, module:object with a predict() or a function of environment and seed that
    makes one, or a model saved by stable-baselines3 or sb3-contrib; options of its environment may
    follow, as in model.zip:reservation_depth=1.

    \b
    Examples:
      bfenv leaderboard run --suite smoke-v1 --policy easy --policy fcfs --out board
      bfenv leaderboard run --suite smoke-v1 --policy easy --agent random --jobs 2 --out board
    """
    from bfenv.baselines.registry import policies
    from bfenv.leaderboard.row import Row
    from bfenv.leaderboard.run import run_suite
    from bfenv.leaderboard.suite import find_suite
    from bfenv.parallel.shards import read_shard

    names = [*(policies() if all_ else ()), *(policy or ())]
    if not names and not agent:
        raise BfenvError("nothing to run: see --policy, --all and --agent")
    with show.progress(show.ROWS) as progress:
        bar = progress.add_task("preparing", total=None, rows="")
        total, number = 0, count(1)

        def begin(rows: int, cost: float) -> None:
            nonlocal total
            total = rows
            progress.update(bar, total=cost, rows=f"0/{rows}", description="simulating")

        def done(row: Row, cost: float) -> None:
            text = f"{row.policy} on {row.workload}"
            progress.update(
                bar, advance=cost, rows=f"{next(number)}/{total}", description=text[:40]
            )

        outcome = run_suite(
            find_suite(suite),
            names,
            agent or (),
            out=out,
            seeds=seeds,
            timeout=timeout,
            trust=trust,
            keep_schedules=keep_schedules,
            retry=retry,
            shard=read_shard(shard),
            argv=sys.argv[1:],
            begin=begin,
            done=done,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
        )
    _tell(outcome, out)


run.__doc__ = run.__doc__ and run.__doc__.format(
    suites="\n      ".join(f"{suite.name}: {suite.summary}" for suite in SUITES.values())
)
app.command(cls=options.Once)(run)


def _tell(outcome, out: Path) -> None:
    """How many rows there are, which failed, and where the time went."""
    from bfenv.leaderboard.timings import time_spent

    for column, lines in time_spent(out).items() if outcome.new_rows else ():
        cells = [
            (name, f"{rows:,}", show.duration(time) if time >= 2 else show.quantity(time, "s"))
            for name, rows, time in lines[:MOST]
        ]
        show.table(
            (column, "rows", "time"),
            cells,
            numbers=2,
            title=f"Time by {column}"
            + (f", first {MOST} of {len(lines)}" if len(lines) > MOST else ""),
        )
    failed = [row for row in outcome.new_rows + outcome.existing_rows if not row.ok]
    print(f"{out}: {len(outcome.new_rows)} rows made, {len(outcome.existing_rows)} there already")
    for row in failed:
        print(
            f"failed: {row.policy} on {row.workload}, seed {row.seed}: {row.error}",
            file=sys.stderr,
        )
    if failed:
        raise typer.Exit(1)
