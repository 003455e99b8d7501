"""What if: variants of a site side by side, each under the same policies."""

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np

from bfenv.analysis.formatting import durations, percent, signed_durations, typical_duration
from bfenv.analysis.intervals import Interval, batch_means
from bfenv.analysis.logged import logged_schedule
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.schedule import Schedule
from bfenv.evaluation.cases import variant_cases
from bfenv.evaluation.evaluator import evaluate, with_known_partitions
from bfenv.evaluation.row import Row
from bfenv.workloads.logs.cleaning import left_out_text
from bfenv_site.page import plot
from bfenv_site.page.document import document
from bfenv_site.page.first_screen import Line, first_screen, picture
from bfenv_site.page.markup import Cell, Markup, element, join, table
from bfenv_site.reports.comparison import compare_site
from bfenv_site.reports.variants import Changed
from bfenv_site.reports.words import less_or_more, reality

AS_IS = "as is"
COLUMNS = (
    "variant",
    "policy",
    "mean wait",
    "change",
    "low",
    "high",
    "p95 wait",
    "longest wait",
    "used",
    "jobs",
    "processors",
)  # low and high: ends of the 95 % interval of the change
WAITS = ("mean_wait", "p95_wait", "max_wait")


class WhatIf(NamedTuple):
    """Each policy on each variant."""

    rows: list[Row]  # policy by policy, the trace as it is before its variants
    changes: list[Interval]  # of the mean wait, from the same policy's first variant
    notes: list[str]  # about the jobs of the variants, a line for each
    fit: str  # how well today's policy, the first, repeats the log; "" if that is not known


def what_if(
    trace: Trace,
    variants: Mapping[str, Changed],
    policies: Sequence[str] = ("easy",),
    *,
    as_is: bool = True,
    done: Callable[[Row], None] = lambda row: None,
    **workers: Any,
) -> WhatIf:
    """Simulate variants of a trace, and the trace as it is, under each policy.

    Args:
        trace: The site's trace.
        variants: What the functions of `bfenv_site.reports.variants` return, by label.
        policies: Names of policies.
        as_is: Simulate the trace as it is, too.
        done: Called with each row.
        **workers: Where to run: `jobs`, `backend` and `scheduler` of `bfenv.parallel.run_tasks`.

    Returns:
        The row of each policy and variant.

    Raises:
        BfenvError: If a policy is unknown or cannot run, or there is nothing to simulate.
    """
    left_out = left_out_text(trace.cleaning)
    site = Changed(trace, (left_out,) if left_out else ())
    by_label = ({AS_IS: site} if as_is else {}) | dict(variants)
    if not by_label:
        raise BfenvError("there is no variant, and the site as it is was left out")
    cases = variant_cases({label: variant.trace for label, variant in by_label.items()})
    cases = with_known_partitions(policies, cases)
    rows = evaluate(policies, cases, keep_schedules=True, done=done, **workers)
    for row in rows:
        if not row.ok:
            raise PolicyError(row.failure)
    names = list(dict.fromkeys(row.policy for row in rows))
    rows.sort(key=lambda row: names.index(row.policy))  # which keeps the order of the variants
    notes = [
        f"{label}: {'; '.join(variant.notes)}"
        for label, variant in by_label.items()
        if variant.notes
    ]
    first = {row.policy: row for row in reversed(rows)}
    changes = [_change(first[row.policy].schedule, row.schedule) for row in rows]
    logged, today = logged_schedule(trace) if as_is else None, rows[0].schedule
    fit = "" if logged is None or today is None else reality(compare_site(today, [], logged))
    return WhatIf(rows, changes, notes, fit)


def _change(base: Schedule | None, variant: Schedule | None) -> Interval:
    """Return how much longer jobs wait; without an interval if they are not the same jobs."""
    if base is None or variant is None:
        return Interval(nan, nan, nan)
    if np.array_equal(base.trace.jobs.size, variant.trace.jobs.size):
        return batch_means(variant.wait - base.wait)
    return Interval(float(variant.wait.mean() - base.wait.mean()), nan, nan)


def _typical(result: WhatIf) -> list[float]:
    return [typical_duration(row.metrics[name] for row in result.rows for name in WAITS)]


def what_if_lines(result: WhatIf) -> list[tuple[str, ...]]:
    """Return the cells of COLUMNS for each row; all durations are in one unit."""
    like, base, lines = _typical(result), result.rows[0].workload, []
    for row, change in zip(result.rows, result.changes, strict=True):
        mean, p95, longest = durations((row.metrics[name] for name in WAITS), like)
        ends = [
            "" if row.workload == base or end != end else signed_durations([end], like)[0]
            for end in change[:3]
        ]
        used = percent(row.metrics["utilization"])
        machine = f"{row.jobs:,}", f"{row.processors:,}"
        lines.append((row.workload, row.policy, mean, *ends, p95, longest, used, *machine))
    return lines


def what_if_page(name: str, result: WhatIf) -> str:
    """Return a page: what changes most, in words and in a picture, and then the table."""
    lines = [(None, [Cell(cell) for cell in line]) for line in what_if_lines(result)]
    notes = [element("li", note) for note in result.notes]
    content = join(
        [
            table(f"Variants of {name}", COLUMNS, lines, text=(0, 1)),
            element("ul", notes) if notes else None,
        ]
    )
    heading, lead = f"What if: {name}", "The same site under other conditions"
    sections = [("variants", "Variants", content)]
    return document(heading, lead, _first(result), sections, unfolded=["variants"])


def _first(result: WhatIf) -> Markup:
    like, base = _typical(result), result.rows[0]
    variants = [
        (row, change)
        for row, change in zip(result.rows, result.changes, strict=True)
        if row.workload != base.workload
    ]
    now = durations([base.metrics["mean_wait"]], like)[0]
    figures = [(now, f"mean wait {base.workload}")]
    if not variants:
        return first_screen(f"The mean wait of {base.policy} is {now}.", figures, None, result.fit)
    row, change = min(
        (pair for pair in variants if pair[0].policy == base.policy), key=lambda pair: pair[1].value
    )
    mean, p95 = durations((row.metrics[metric] for metric in WAITS[:2]), like)
    verb = "falls" if change.value < 0 else "grows"
    moves = f"{verb} from {now} to {mean}" if change.value else f"stays at {now}"
    verdict = (
        f"With {row.workload}, the mean wait of {row.policy} {moves} "
        f"({less_or_more(change, like) if change.low <= change.high else 'not the same jobs'})."
    )
    figures += [(mean, f"mean wait, {row.workload}"), (p95, "95 of 100 jobs wait less then")]
    several = len({row.policy for row in result.rows}) > 1
    picture_lines = []
    for variant_row, variant_change in variants:
        value, *ends = (
            "" if end != end else signed_durations([end], like)[0] for end in variant_change[:3]
        )
        text = f" ({ends[0]} to {ends[1]})" if ends[0] else ""
        name = variant_row.workload + f", {variant_row.policy}" * several
        picture_lines.append(Line(name, variant_change, value, text, variant_row is row))
    axis = plot.changes(
        [end for _, variant_change in variants for end in variant_change[:3]],
        like[0],
        "change of the mean wait",
    )
    title = "Change of the mean wait, with 95 % intervals where the jobs are the same"
    drawing = picture(
        "first", title, "To the left is better.", picture_lines, axis, (0.0, base.workload)
    )
    return first_screen(verdict, figures, drawing, *([result.fit] if result.fit else []))
