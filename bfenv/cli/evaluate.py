"""The command `bfenv evaluate`."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bfenv.cli import show
from bfenv.cli.options import (
    BackendOption,
    FormatOption,
    JobsOption,
    LoadOption,
    SchedulerOption,
    ShardOption,
    WorkloadOption,
)
from bfenv.cli.show import Format

if TYPE_CHECKING:
    from bfenv.parallel.evaluation import Run


def evaluate(
    workload: WorkloadOption = "lublin",
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", "-p", metavar="POLICY", help="Repeat for several. Default: all policies."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Number of seeds, from 0.")] = 1,
    load: LoadOption = None,
    jobs: JobsOption = 1,
    backend: BackendOption = "loky",
    scheduler: SchedulerOption = None,
    shard: ShardOption = "1/1",
    format: FormatOption = Format.table,
) -> None:
    """Compare policies on the same jobs.

    The table shows means over seeds; json and csv show every run. A seed sets the jobs of a
    generated workload and the decisions of a stochastic policy. Only run times depend on --jobs.

    A policy is a name, a name with options such as "easy(order=sjf)", or "module:object" from a
    module that can be imported or is in the current folder. If jobs request start times, the
    default leaves out the policies that do not plan for them.

    A log that records its starts comes first, as "logged": as it ran. A second table shows how
    well each policy repeats it, and what is not simulated.

    \b
    Examples:
      bfenv evaluate
      bfenv evaluate --policy easy --policy fcfs --load 0.9 --seeds 3 --jobs 2
      bfenv evaluate --policy easy --format csv
      bfenv evaluate --shard 3/20 --format csv
    """
    from bfenv.analysis.logged import LOGGED
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
    if rows and rows[0]["policy"] == LOGGED and format in (Format.table, Format.markdown):
        _show_with_log(workload, load, rows, format)
    elif not rows and format is not Format.json:
        print(f"bfenv: shard {shard} has no runs, because there are too few", file=sys.stderr)
    elif format in (Format.table, Format.markdown):
        show.comparison(rows, format)
    else:
        show.rows(rows, format)


def _show_with_log(
    workload: str, load: float | None, rows: "list[dict[str, Any]]", format: Format
) -> None:
    """Print the comparison, then how well it repeats the log, and what it leaves out."""
    from bfenv.analysis.logged import cautions, logged_schedule
    from bfenv.workloads.load import load_workload

    show.comparison(rows, format)
    show.calibration(rows, format)
    logged = logged_schedule(load_workload(workload, **({} if load is None else {"load": load})))
    if logged is not None:
        print("Not simulated, or contradictory, in this log:")
        print("\n".join(f"* {caution}" for caution in cautions(logged)))


def _able(runs: "list[Run]") -> "list[Run]":
    """Return the runs of the policies that can do all of theirs; print which cannot to stderr."""
    from bfenv.analysis.logged import LOGGED
    from bfenv.baselines.registry import find_policy
    from bfenv.core.policy import able
    from bfenv.workloads.load import load_workload

    unable = set()
    for seed in {run.seed for run in runs}:
        here = [run for run in runs if run.seed == seed and run.policy != LOGGED]
        jobs = load_workload(here[0].workload, **here[0].options).jobs
        unable |= {run.policy for run in here if not able(find_policy(run.policy), jobs)}
    if unable:
        what = "left out, because they do not plan for requested start times"
        names = ", ".join(dict.fromkeys(str(run.policy) for run in runs if run.policy in unable))
        print(f"bfenv: {what}: {names}", file=sys.stderr)
    return [run for run in runs if run.policy not in unable]
