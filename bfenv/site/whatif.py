"""What if: variants of a site side by side, each under the same policies."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bfenv.analysis.formatting import durations, percent, signed_durations
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Trace
from bfenv.evaluation.evaluator import evaluate, variant_cases
from bfenv.evaluation.page.document import document
from bfenv.evaluation.page.markup import Cell, element, join, table
from bfenv.evaluation.row import Row
from bfenv.workloads.logs.cleaning import left_out_text
from bfenv.workloads.whatif import Changed

AS_IS = "as is"
COLUMNS = (
    "variant", "policy", "mean wait", "change", "p95 wait", "longest wait", "used", "jobs",
    "processors",
)  # fmt: skip


class WhatIf(NamedTuple):
    """Each policy on each variant."""

    rows: list[Row]  # policy by policy, the trace as it is before its variants
    notes: list[str]  # about the jobs of the variants, a line for each


def what_if(
    trace: Trace,
    variants: Mapping[str, Changed],
    policies: Sequence[str] = ("easy",),
    *,
    as_is: bool = True,
    done: Callable[[Row], None] = lambda row: None,
) -> WhatIf:
    """Simulate variants of a trace, and the trace as it is, under each policy.

    Args:
        trace: The site's trace.
        variants: What the functions of `bfenv.workloads.whatif` return, by label.
        policies: Names of policies.
        as_is: Simulate the trace as it is, too.
        done: Called with each row.

    Returns:
        The row of each policy and variant.

    Raises:
        BfenvError: If a policy is unknown or cannot run, or there is nothing to simulate.
    """
    left_out = left_out_text(trace.cleaning)
    own = Changed(trace, (left_out,) if left_out else ())
    every = ({AS_IS: own} if as_is else {}) | dict(variants)
    if not every:
        raise BfenvError("there is no variant, and the site as it is was left out")
    cases = variant_cases({label: changed.trace for label, changed in every.items()})
    rows = [row for policy in policies for row in evaluate([policy], cases, done=done)]
    for row in rows:
        if not row.ok:
            raise PolicyError(row.error)
    notes = [f"{label}: {'; '.join(one.notes)}" for label, one in every.items() if one.notes]
    return WhatIf(rows, notes)


def what_if_lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the cells of COLUMNS for each row; changes are from its policy's first variant."""
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row.policy, row)
    means = [row.metrics["mean_wait"] or 0.0 for row in rows]
    changes = signed_durations(
        (mean - (first[row.policy].metrics["mean_wait"] or 0.0)
         for mean, row in zip(means, rows, strict=True)),
        like=means,
    )  # fmt: skip
    waits = (
        durations(row.metrics[name] for row in rows)
        for name in ("mean_wait", "p95_wait", "max_wait")
    )
    return [
        (
            row.workload,
            row.policy,
            mean,
            "" if row is first[row.policy] else change,
            p95,
            longest,
            percent(row.metrics["utilization"]),
            f"{row.jobs:,}",
            f"{row.processors:,}",
        )
        for row, change, mean, p95, longest in zip(rows, changes, *waits, strict=True)
    ]


def what_if_page(name: str, found: WhatIf) -> str:
    """Return a page with the table and the notes."""
    lines = [(None, [Cell(cell) for cell in line]) for line in what_if_lines(found.rows)]
    notes = [element("li", note) for note in found.notes]
    content = join(
        [
            table(f"Variants of {name}", COLUMNS, lines, text=(0, 1)),
            element("ul", notes) if notes else None,
        ]
    )
    heading, lead = f"What if: {name}", "The same site under other conditions"
    return document(heading, lead, [("variants", "Variants", content)])
