"""The command `bfenv workloads simulate`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bfenv.cli import show
from bfenv.cli.options import ForceOption, LoadOption, SeedOption, WorkloadOption, check_new, option
from bfenv.core.errors import BfenvError

if TYPE_CHECKING:
    from bfenv.core.policy import Policy


def simulate(
    workload: WorkloadOption = "lublin",
    policy: str | None = option(
        None, "POLICY", "See `bfenv evaluate policies`.  [default: easy]", "--policy", "-p"
    ),
    player: str | None = option(
        None, "COMMAND", "Program that schedules instead, see docs/players.md."
    ),
    seed: SeedOption = 0,
    load: LoadOption = None,
    out: Path | None = option(
        None, "FILE", "File to write. Default: CSV on stdout.", "--out", "-o"
    ),
    force: ForceOption = False,
) -> None:
    """Simulate a policy, and write its schedule.

    The columns of CSV are job,submit,size,estimate,runtime,start,end, and for a log number. Times
    are in seconds since the first submit time. Jobs count from 0, without dropped jobs. "number" is
    the job's number in the log.

    The file name selects the format: .swf or .swf.gz is the Standard Workload Format, and a name
    that ends in jobs.csv is the format of the simulator Batsim.

    \b
    Examples:
      bfenv workloads simulate --policy easy --out schedule.csv
      bfenv workloads simulate --policy easy --out easy.swf.gz
      bfenv workloads simulate --policy easy --out easy_jobs.csv
      bfenv workloads simulate --policy fcfs --load 0.7
      bfenv workloads simulate --player "./my-scheduler" --out mine.csv
    """
    from bfenv.analysis.schedule_files import check_name, schedule_csv, write_schedule
    from bfenv.parallel.sweep import simulate_safely
    from bfenv.workloads.load import load_workload

    if out is not None:
        check_name(out)
        check_new(out, force)
    if player is not None and policy is not None:
        raise BfenvError("--policy and --player exclude each other")
    trace = load_workload(workload, **({} if load is None else {"load": load}))
    chosen: str | Policy = policy or "easy"
    if player is not None:
        from bfenv.leaderboard.referee import find_referee

        referee = find_referee("--player")
        chosen = referee.player_policy(referee.check_command(player), player)
    with show.share_done("simulating") as watch:
        schedule = simulate_safely(trace, chosen, seed, watch)
    if out is None:
        sys.stdout.write(schedule_csv(schedule))
    else:
        write_schedule(schedule, out)
