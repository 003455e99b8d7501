"""The command `bfenv leaderboard submit`."""

from pathlib import Path
from typing import Annotated

import typer

from bfenv.cli import options


def submit(
    folder: options.LeaderboardArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Bundle to write (.zip).")
    ],
    force: options.ForceOption = False,
) -> None:
    """Bundle the rows of a leaderboard, so that anyone can verify them.

    The bundle holds the suite, rows, schedules, bounds, and the code of policies and agents that
    are not bfenv's own. Use `bfenv leaderboard run --keep-schedules`, so that schedules can be
    checked without running anything.

    \b
    Examples:
      bfenv leaderboard submit board --out mine.zip
      bfenv leaderboard verify mine.zip
    """
    from bfenv.leaderboard.submission import submit as bundle

    options.check_new(out, force)
    names = bundle(folder, out)
    rows = sum(name.startswith("rows/") for name in names)
    print(f"wrote {out}: {rows} rows, {len(names)} files")
