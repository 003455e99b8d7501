"""The command `bfenv evolve-task`."""

from pathlib import Path

import typer

from bfenv.cli.options import Sandbox, SandboxOption, option


def evolve_task(
    folder: Path = typer.Argument(..., metavar="FOLDER", help="Folder to write the task to."),
    workload: list[str] | None = option(
        None,
        "WORKLOAD",
        "Jobs to evolve on; repeat for several. Only the first half by time is used."
        "  [default: two of the embedded model]",
        "--workload",
        "-w",
    ),
    windows: int = option(4, "N", "Short windows of each workload.", min=1),
    window_jobs: int = option(400, "N", "Jobs of a window.", min=2),
    sandbox: SandboxOption = Sandbox.none,
) -> None:
    """Write a task for OpenEvolve or a similar service.

    A language model rewrites the scheduler in initial_program.py, and evaluator.py scores the new
    program. It first checks that the program is legal, in time and without foresight. Then it
    scores the program on short windows, and finally on the training parts of the workloads.
    Programs run as players, on randomized copies of the jobs. docs/how_to/evolve.md explains the
    result.

    \b
    Examples:
      bfenv evolve-task task
      bfenv evolve-task other -w lublin:procs=64,jobs=3000,load=0.9 --windows 8 --sandbox bwrap
    """
    from bfenv_judge.evolution import WORKLOADS, write_task

    numbers = {"windows": windows, "window_jobs": window_jobs}
    print(*write_task(folder, workload or WORKLOADS, sandbox=sandbox.value, **numbers), sep="\n")
