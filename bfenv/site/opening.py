"""The opening of a site's page: the verdict, the candidates, and who wins or loses."""

from collections.abc import Iterable

from bfenv.analysis.formatting import durations, signed_durations
from bfenv.analysis.logged import cautions
from bfenv.analysis.parties import Party, parties
from bfenv.evaluation.page.as_it_ran import AS_IT_RAN
from bfenv.evaluation.page.markup import Cell, Markup, element, join, table
from bfenv.site.comparison import Finding, SiteComparison
from bfenv.site.words import in_words, less_or_more, sentences

COLUMNS = (
    "policy", "mean\nwait", "change", "longest\nwait", "Slurm", "users\nless", "users\nmore",
    "change, 95 % interval",
)  # fmt: skip
MOST = 5  # winners, and losers, of each kind that are listed
STARVING = "These starve jobs: their longest wait is over twice that of today's policy"


def opening(comparisons: Iterable[SiteComparison]) -> Markup:
    """Make the opening, one part for each workload."""
    return join(_part(one) for one in comparisons)


def candidate_lines(comparison: SiteComparison) -> tuple[list[list[str]], list[list[str]]]:
    """Return the cells of COLUMNS: the log, today's policy and the candidates; then the starving.

    Each list has one list of cells for each line.
    """
    own, real, findings = comparison.today, comparison.logged, comparison.findings
    schedules = [*([] if real is None else [real]), own, *(one.schedule for one in findings)]
    waits = [float(one.wait.mean()) for one in schedules]
    changes = signed_durations([one.change.value for one in findings], waits)
    means = durations(waits)
    longest = durations(int(one.wait.max()) for one in schedules)
    lines = [
        ["", mean, "", wait, "", "", "", ""] for mean, wait in zip(means, longest, strict=True)
    ]
    if real is not None:
        lines[0][0] = AS_IT_RAN
    first = len(lines) - len(findings)
    lines[first - 1][0] = f"{own.policy} (today)"
    for line, one, change in zip(lines[first:], findings, changes, strict=True):
        line[0], line[2] = one.policy, change
        line[4:] = (
            one.slurm.answer,
            f"{one.users_less:,}",
            f"{one.users_more:,}",
            less_or_more(one.change, waits).removeprefix("95 %: "),
        )
    starving = sum(one.starves for one in findings)  # they come last
    return lines[: len(lines) - starving], lines[len(lines) - starving :]


def winners_and_losers(members: list[Party]) -> tuple[list[Party], int]:
    """Return the parties to list, and how many between them are left out."""
    left_out = max(0, len(members) - 2 * MOST)
    return (members[:MOST] + members[-MOST:] if left_out else members), left_out


def _part(comparison: SiteComparison) -> Markup:
    lines, starving = candidate_lines(comparison)
    parts = [
        element("ul", [element("li", text) for text in sentences(comparison)], class_="verdict"),
        _table("Today's policy and the candidates, shortest mean wait first", lines),
    ]
    if starving:
        parts.append(_table(STARVING, starving))
    parts.append(_how(comparison.findings))
    if comparison.logged is not None:
        parts.append(
            element("p", "What the simulation leaves out, and contradictions in this log:")
        )
        parts.append(element("ul", [element("li", text) for text in cautions(comparison.logged)]))
    if comparison.best is not None:
        parts.append(_parties(comparison, comparison.best))
    return element("div", parts)


def _table(caption: str, lines: list[list[str]]) -> Markup:
    rows = [(None, [Cell(cell) for cell in line]) for line in lines]
    return table(caption, [name.replace("\n", " ") for name in COLUMNS], rows, text=(0, 4, 7))


def _how(findings: list[Finding]) -> Markup:
    rows = [
        (
            None,
            [
                Cell(one.policy),
                Cell(in_words(one.policy), None, "how"),
                Cell(one.slurm.answer),
                Cell(one.slurm.how, None, "how"),
            ],
        )
        for one in findings
    ]
    columns = ("policy", "what it does", "Slurm", "how")
    return element(
        "details",
        element("summary", "What each candidate does, and how Slurm can follow it"),
        table("The candidates", columns, rows, text=(0, 1, 2, 3)),
        class_="numbers",
    )


def _parties(comparison: SiteComparison, best: Finding) -> Markup:
    tables = []
    for what, members in parties(comparison.today, best.schedule).items():
        listed, left_out = winners_and_losers(members)
        waits = [wait for one in listed for wait in (one.before, one.after)]  # all in one unit
        texts = durations(waits)
        changes = signed_durations([one.after - one.before for one in listed], waits)
        rows = [
            (None, [Cell(one.label), *map(Cell, numbers), Cell(f"{one.jobs:,}")])
            for one, *numbers in zip(listed, changes, texts[::2], texts[1::2], strict=True)
        ]
        caption = f"Mean waits by {what}" + (
            f": the {MOST} that save the most hours in all, and the {MOST} that lose the most; "
            f"{left_out:,} between them are not shown"
            if left_out
            else ""
        )
        columns = (what, "change", comparison.today.policy, best.policy, "jobs")
        tables.append(table(caption, columns, rows))
    heading = f"Who waits less, and who longer, under {best.policy}"
    return element("div", element("h3", heading), element("div", tables, class_="tables"))
