"""The command `bfenv bench compare`."""

from pathlib import Path
from typing import Annotated

import typer

from bfenv.cli import show
from bfenv.cli.bench.show import describe
from bfenv.cli.options import FormatOption
from bfenv.cli.show import Format


def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="Older measurements file.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Newer measurements file.")],
    format: FormatOption = Format.table,
) -> None:
    """Compare two files of measurements.

    \b
    Examples:
      bfenv bench compare before.json after.json
    """
    from bfenv.speed import measurements

    old, new = map(measurements.read_measurements, (before, after))
    changes = measurements.compare(old, new)
    if format in (Format.json, Format.csv):
        show.rows(changes, format)
        return
    lines = [
        (
            change["group"],
            change["what"],
            change["subject"],
            "-" if change["faster"] is None else f"{change['faster']:.2f}x",
            _quantity(change["before"], change["unit"]),
            _quantity(change["after"], change["unit"]),
        )
        for change in changes
    ]
    names = ["group", "what", "subject", "times as fast", "before", "after"]
    title = f"before: {describe(old)}\nafter:  {describe(new)}"
    show.table(names, lines, format, numbers=3, title=title)


def _quantity(value: float | None, unit: str) -> str:
    return "-" if value is None else show.quantity(value, unit)
