"""What if: variants of a site side by side, each under the same policies."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bfenv.analysis.formatting import durations, percent, signed_durations
from bfenv.analysis.schedule_metrics import metrics
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.leaderboard.report.element import Markup, element, join
from bfenv.leaderboard.report.grid import Cell, table
from bfenv.leaderboard.report.page import document
from bfenv.parallel.evaluation import simulate_safely
from bfenv.workloads.logs.cleaning import left_out_text
from bfenv.workloads.whatif import Changed

AS_IS = "as is"
COLUMNS = (
    "variant", "policy", "mean wait", "change", "p95 wait", "longest wait", "used", "jobs",
    "processors",
)  # fmt: skip


class Outcome(NamedTuple):
    """One policy on one variant."""

    variant: str
    policy: str
    jobs: int
    processors: int
    metrics: Mapping[str, float]  # of `bfenv.metrics`
    notes: tuple[str, ...]  # about the variant's jobs


def what_if(
    trace: Trace,
    variants: Mapping[str, Changed],
    policies: Sequence[str] = ("easy",),
    *,
    as_is: bool = True,
    done: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Simulate variants of a trace, and the trace as it is, under each policy.

    Parameters
    ----------
    trace
        The site's trace.
    variants
        What the functions of `bfenv.workloads.whatif` return, by label.
    policies
        Names of policies.
    as_is
        Simulate the trace as it is, too.
    done
        Called with each outcome.

    Returns
    -------
    list
        Policy by policy, the trace as it is before its variants.

    Raises
    ------
    BfenvError
        If a policy is unknown or cannot run, or there is nothing to simulate.
    """
    left_out = left_out_text(trace.cleaning)
    own = Changed(trace, (left_out,) if left_out else ())
    every = ({AS_IS: own} if as_is else {}) | dict(variants)
    if not every:
        raise BfenvError("there is no variant, and the site as it is was left out")
    outcomes = []
    for policy in policies:
        for label, changed in every.items():
            numbers = metrics(simulate_safely(changed.trace, policy, 0))
            outcome = Outcome(
                label, policy, len(changed.trace), changed.trace.processors, numbers, changed.notes
            )
            outcomes.append(outcome)
            done(outcome)
    return outcomes


def what_if_lines(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Return the cells of COLUMNS for each outcome; changes are from its policy's first variant."""
    first: dict[str, Outcome] = {}
    for one in outcomes:
        first.setdefault(one.policy, one)
    means = [one.metrics["mean_wait"] for one in outcomes]
    changes = signed_durations(
        (mean - first[one.policy].metrics["mean_wait"]
         for mean, one in zip(means, outcomes, strict=True)),
        like=means,
    )  # fmt: skip
    waits = (
        durations(one.metrics[name] for one in outcomes)
        for name in ("mean_wait", "p95_wait", "max_wait")
    )
    return [
        (
            one.variant,
            one.policy,
            mean,
            "" if one is first[one.policy] else change,
            p95,
            longest,
            percent(one.metrics["utilization"]),
            f"{one.jobs:,}",
            f"{one.processors:,}",
        )
        for one, change, mean, p95, longest in zip(outcomes, changes, *waits, strict=True)
    ]


def what_if_notes(outcomes: Sequence[Outcome]) -> list[str]:
    """Return what to know about the variants, a line for each."""
    notes = {one.variant: "; ".join(one.notes) for one in outcomes if one.notes}
    return [f"{variant}: {text}" for variant, text in notes.items()]


def what_if_page(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return a page with the table and the notes."""
    rows = [(None, [Cell(cell) for cell in line]) for line in what_if_lines(outcomes)]
    notes = [element("li", note) for note in what_if_notes(outcomes)]
    content: list[Markup] = [table(f"Variants of {name}", COLUMNS, rows, text=(0, 1))]
    if notes:
        content.append(element("ul", notes))
    sections = [("variants", "Variants", join(content))]
    return document(f"What if: {name}", "The same site under other conditions", sections)
