"""The commands `bfenv leaderboard ...`."""

import typer

from bfenv.cli.leaderboard import bound, export, report, run, submit, verify
from bfenv.cli.options import Once

app = typer.Typer(
    help="Compare policies and agents on frozen suites of traces.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for command in (run.run, report.report, bound.bound, export.export, submit.submit, verify.verify):
    app.command(cls=Once)(command)
