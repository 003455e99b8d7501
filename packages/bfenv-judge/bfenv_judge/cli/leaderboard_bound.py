"""The command `bfenv leaderboard bound`."""

import typer

from bfenv.cli import options, show
from bfenv.cli.options import FormatOption
from bfenv.cli.show import Format
from bfenv.core.text import counted


def bound(
    folder: options.LeaderboardArgument,
    moves: int = options.option(100, "N", "Moves of the local search per job.", min=0),
    seed: int = options.option(0, "N", "Seed of the local search.", min=0),
    jobs: options.JobsOption = -1,
    backend: options.BackendOption = "loky",
    scheduler: options.SchedulerOption = None,
    check: bool = typer.Option(False, "--check", help="Verify the files that are there instead."),
    format: FormatOption = Format.table,
) -> None:
    """Show how far policies are from the best possible schedule.

    For each trace, the command computes a certified lower bound of the mean bounded slowdown, and
    searches for the best schedules with full knowledge. It stores them in FOLDER/bounds, and the
    reports of the leaderboard then have a table of them. Interrupted runs resume: existing files
    are kept. bfenv includes the files of its suites.

    \b
    Examples:
      bfenv leaderboard bound board
      bfenv leaderboard bound board --moves 1000
      bfenv leaderboard bound board --check
    """
    from bfenv.leaderboard.store import read_leaderboard
    from bfenv_judge.gap_left import COLUMNS, MEANING, gap_lines
    from bfenv_judge.leaderboard_bounds import check_bounds, find_bounds

    leaderboard = read_leaderboard(folder)
    if check:
        files = counted(check_bounds(leaderboard), "file")
        show.text(f"{folder}: {files} of bounds, every number holds")
        return
    traces = len({row.workload_hash for row in leaderboard.rows})
    with show.progress() as progress:
        task = progress.add_task("bounds", total=traces)
        workers = {"jobs": jobs, "backend": backend, "scheduler": scheduler}
        for _ in find_bounds(leaderboard, moves=moves, seed=seed, **workers):
            progress.advance(task)
    lines = gap_lines(leaderboard)
    if format in (Format.json, Format.csv):
        show.rows([dict(zip(COLUMNS, line, strict=True)) for line in lines], format)
        return
    headings = [heading.replace(" ", "\n") for heading in COLUMNS]
    show.table(headings, lines, format, numbers=len(COLUMNS) - 2, whole_names=True, note=MEANING)
