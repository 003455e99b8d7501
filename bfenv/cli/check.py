"""The command `bfenv check`: what is wrong with a policy."""

from typing import Annotated

import typer


def check(
    policy: Annotated[
        str, typer.Argument(help="Name, expression, or module:object, also of the current folder.")
    ],
    workload: Annotated[
        str | None, typer.Option("--workload", "-w", help="Look at its first jobs, too.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many of these.")] = 200,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=1e6, help="After which a decision counts as endless.")
    ] = 60.0,
) -> None:
    """Look for faults in a policy of your own.

    Each is told in one line, and any makes the exit status 1. Looked for are illegal starts,
    failures, jobs that never start, endless decisions, changes of the machine but by its verbs,
    decisions that depend on true runtimes or on jobs to come, randomness that no seed governs, what
    is kept from run to run, and flags not declared.

    \b
    Examples:
      bfenv check easy
      bfenv check mymodule:shortest
      bfenv check mymodule:shortest --workload lublin:load=0.9 --jobs 300
    """
    from bfenv.testing.report import report_on
    from bfenv.workloads.load import load_workload

    trace = None if workload is None else load_workload(workload)[:jobs]
    report = report_on(policy, trace, seconds=seconds)
    print(report)
    if report.faults:
        raise typer.Exit(1)
