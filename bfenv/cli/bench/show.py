"""The command `bfenv bench show`, and how measurements are printed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfenv.cli import show
from bfenv.cli.options import FormatOption
from bfenv.cli.show import Format
from bfenv.core.errors import UnknownNameError

if TYPE_CHECKING:
    from bfenv.speed.measurements import Measurements


def show_measurements(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="File of --out.  [default: the published measurements]",
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group", "-g", metavar="GROUP", help="Repeat for several. Default: all groups."
        ),
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Print measurements from a file.

    \b
    Examples:
      bfenv bench show
      bfenv bench show bench.json --group traces --format markdown
    """
    from bfenv.speed.measurements import PUBLISHED, read_measurements

    content = read_measurements(file or PUBLISHED)
    groups = dict.fromkeys(row["group"] for row in content["rows"])
    for name in group or ():
        if name not in groups:
            raise UnknownNameError("group", name, groups)
    rows = [row for row in content["rows"] if row["group"] in (group or groups)]
    print_measurements({**content, "rows": rows}, format)


def print_measurements(content: "Measurements", format: Format) -> None:
    """Print measurements, in a table with their provenance above."""
    rows = content["rows"]
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
        return
    lines = [
        (
            row["group"],
            row["what"],
            row["subject"],
            f"{row['jobs']:,}" if row["jobs"] else "",
            show.quantity(row["best"], row["unit"]),
            show.quantity(row["median"], row["unit"]),
            f"{row['best'] / row['jobs'] * 1e9:,.0f} ns" if row["jobs"] else "",
        )
        for row in rows
    ]
    columns = ["group", "what", "subject", "jobs", "best", "median", "per job"]
    filled = [k for k in range(len(columns)) if not lines or any(line[k] for line in lines)]
    columns, cells = [columns[k] for k in filled], [[line[k] for k in filled] for line in lines]
    show.table(columns, cells, format, numbers=len(columns) - 3, title=describe(content))


def describe(content: "Measurements") -> str:
    """Describe in one line what measurements depend on."""
    versions = content["versions"]
    return (
        f"{content['machine']}, Python {versions['python']}, numpy {versions['numpy']}, "
        f"numba {versions['numba']}, bfenv {versions['bfenv']}, commit {content['commit'] or '-'}"
    )
