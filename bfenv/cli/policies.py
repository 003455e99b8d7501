"""The command `bfenv evaluate policies`."""

import typer

from bfenv.cli import show
from bfenv.cli.options import FormatOption
from bfenv.cli.show import Format


def policies(
    names: list[str] | None = typer.Argument(
        None, metavar="NAME", help="Policies, with options or without [all]."
    ),
    format: FormatOption = Format.table,
) -> None:
    """List the policies.

    \b
    Examples:
      bfenv evaluate policies
      bfenv evaluate policies easy-lxf "easy(order='estimate')"
      bfenv evaluate policies --format markdown
    """
    from bfenv.baselines.registry import find_competitor, policies

    listed = map(find_competitor, names) if names else policies().values()
    rows = [
        {"policy": policy.name, "what it does": policy.summary, "source": policy.source}
        for policy in listed
    ]
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
    else:
        show.table(list(rows[0]), [list(row.values()) for row in rows], format)
