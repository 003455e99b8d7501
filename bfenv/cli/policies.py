"""The command `bfenv policies`."""

from bfenv.cli import show
from bfenv.cli.options import FormatOption
from bfenv.cli.show import Format


def policies(format: FormatOption = Format.table) -> None:
    """List the policies.

    \b
    Examples:
      bfenv policies
      bfenv policies --format markdown
    """
    from bfenv.baselines.registry import policies

    rows = [
        {"policy": policy.name, "what it does": policy.summary, "source": policy.source}
        for policy in policies().values()
    ]
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
    else:
        show.table(list(rows[0]), [list(row.values()) for row in rows], format)
