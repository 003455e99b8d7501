"""The commands `bfenv bench ...`."""

import typer

from bfenv.cli.bench import compare, measure, show
from bfenv.cli.groups import Group
from bfenv.cli.options import Once

app = typer.Typer(
    cls=Group,
    help="""Measure how fast bfenv is on this machine. The best of several runs counts.

    \b
    Examples:
      bfenv bench engine
      bfenv bench all --out bench.json
      bfenv bench show bench.json
    """,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
for command in (
    measure.engine,
    measure.environment,
    measure.scaling,
    measure.policies,
    measure.search,
    measure.training,
    measure.start,
):
    app.command(cls=Once)(command)
app.command("all", cls=Once)(measure.measure_all)
app.command("show", cls=Once)(show.show_measurements)
app.command(cls=Once)(compare.compare)
