"""The commands `bfenv workloads ...`."""

import typer

from bfenv.cli.groups import Group
from bfenv.cli.options import Once
from bfenv.cli.workloads import fetch, info, listing, simulate

app = typer.Typer(cls=Group, add_completion=False, rich_markup_mode=None)
app.callback(invoke_without_command=True)(listing.workloads)
app.command(cls=Once)(info.info)
app.command(cls=Once)(fetch.fetch)
app.command(cls=Once)(simulate.simulate)
