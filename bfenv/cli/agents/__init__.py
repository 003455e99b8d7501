"""The commands `bfenv agents ...`."""

import typer

from bfenv.cli.agents import listing
from bfenv.cli.groups import Group
from bfenv.cli.options import Once

app = typer.Typer(cls=Group, add_completion=False, rich_markup_mode=None)
app.callback(invoke_without_command=True)(listing.agents)
app.command("show", cls=Once)(listing.show_agent)
