"""What the logs record, and beside it how well each policy's simulation repeats it."""

from collections.abc import Mapping

from bfenv.analysis.calibration import VERDICTS_MEANING
from bfenv.evaluation.calibration_lines import COLUMNS
from bfenv_site.page.markup import Cell, Markup, element, join, table


def as_it_ran(tables: Mapping[str, list[tuple[str, ...]]]) -> Markup | None:
    """Make a page's tables of `calibration_lines`; None without any."""
    if not tables:
        return None
    explanation = (
        "The first line is what the log records. The other lines are simulations of the same "
        f"jobs, those closest to it first. Only the policy that should repeat the log is judged. "
        f"{VERDICTS_MEANING}"
    )
    parts = [
        table(
            f"{workload}: logged and simulated waits",
            COLUMNS,
            [(None, [Cell(cell) for cell in line]) for line in lines],
            text=(0, 8),
        )
        for workload, lines in tables.items()
    ]
    return join([*parts, element("p", explanation, class_="note")])
