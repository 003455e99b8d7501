"""The command `bfenv simulate`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from bfenv.cli import show
from bfenv.cli.options import (
    ForceOption,
    LoadOption,
    PolicyOption,
    SeedOption,
    WorkloadOption,
    check_new,
)


def simulate(
    workload: WorkloadOption = "lublin",
    policy: PolicyOption = "easy",
    seed: SeedOption = 0,
    load: LoadOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write. Default: CSV on stdout."),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write the schedule of a policy.

    The columns of CSV are job,submit,size,estimate,runtime,start,end. Times are in seconds since
    the first submit time. A file name that ends in .swf or .swf.gz selects the Standard Workload
    Format, one that ends in jobs.csv the format of the simulator Batsim.

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
    with show.share_done("simulating") as watch:
        schedule = simulate_safely(trace, policy, seed, watch)
    if out is None:
        sys.stdout.write(schedule_csv(schedule))
    else:
        write_schedule(schedule, out)
