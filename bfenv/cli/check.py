"""The command `bfenv check`."""

import typer

from bfenv.cli import show
from bfenv.cli.options import duration_option, option
from bfenv.core.durations import MINUTE
from bfenv.core.errors import BfenvError

JOBS = 200  # of a workload


def check(
    policy: str = typer.Argument(
        ..., metavar="POLICY", help='Name, "name(option=value)" or "module:object".'
    ),
    workload: str | None = option(
        None, "WORKLOAD", "Check it on these jobs as well.", "--workload", "-w"
    ),
    jobs: int | None = option(
        None, "N", f"Use the first N jobs of --workload.  [default: {JOBS}]", min=1
    ),
    seconds: int = duration_option(
        MINUTE, "--seconds", "Time limit of a decision.  [default: 1min]", least=1
    ),
) -> None:
    """Find faults in your policy.

    Faults are illegal starts, exceptions, jobs that never start, endless decisions, changes to the
    cluster that bypass its functions, decisions that depend on true runtimes or on future jobs,
    randomness that ignores the seed, state that is kept between runs, and undeclared flags. Each
    fault is printed in one line, and the exit status is then 1. The policy runs on small cases that
    provoke such faults, and on --workload if you give one.

    \b
    Examples:
      bfenv check easy
      bfenv check mine:smallest_first
      bfenv check mine:smallest_first --workload lublin:load=0.9 --jobs 300
    """
    from bfenv.testing.report import report_on
    from bfenv.workloads.load import load_workload

    if jobs is not None and workload is None:
        raise BfenvError("--jobs needs --workload: the small cases have jobs of their own")
    trace = None if workload is None else load_workload(workload)[: jobs or JOBS]
    report = report_on(policy, trace, seconds=seconds)
    show.text(report)
    if report.faults:
        raise typer.Exit(1)
