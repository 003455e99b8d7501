"""The commands `bfenv leaderboard ...`."""

import typer

from bfenv.cli.groups import Group
from bfenv.cli.leaderboard import report, run
from bfenv.cli.options import Once

app = typer.Typer(
    cls=Group,
    help="""Compare policies and agents on frozen suites of traces.

    \b
    Examples:
      bfenv leaderboard run --suite smoke-v1 --policy easy --policy sjf --out board
      bfenv leaderboard report board --html board.html
      bfenv leaderboard verify board --sample 10
    """,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
for command in (run.run, report.report):
    app.command(cls=Once)(command)
