"""The verdict that a site's page shows first, the candidates behind it, and who wins or loses."""

from collections.abc import Callable, Iterable, Sequence

from bfenv.analysis.formatting import durations, signed_durations
from bfenv.analysis.logged import cautions
from bfenv.evaluation.calibration_lines import AS_IT_RAN
from bfenv_site.page.first_screen import Line, first_screen, picture
from bfenv_site.page.markup import Cell, Markup, element, join, table
from bfenv_site.page.plot import changes
from bfenv_site.reports.comparison import Finding, SiteComparison
from bfenv_site.reports.parties import Names, Party, parties
from bfenv_site.reports.words import alarms, in_words, less_or_more, reality, sentences

COLUMNS = (
    "policy", "mean\nwait", "change", "longest\nwait", "Slurm", "users\nless", "users\nmore",
    "change, 95 % interval",
)  # fmt: skip
MOST = 5  # winners, and losers, of each kind that are listed
RECOMMENDED = " (recommended)"  # behind the name of the best candidate
STARVING = "These starve jobs: their longest wait is over twice that of today's policy"


def each(
    comparisons: Sequence[SiteComparison], part: Callable[[SiteComparison], Markup | None]
) -> Markup | None:
    """Join a part for each workload, under its name if there are several; None without any."""
    parts = [(one.workload, part(one)) for one in comparisons]
    there = [
        join([element("h3", name) if len(comparisons) > 1 else None, content])
        for name, content in parts
        if content is not None
    ]
    return join(there) if there else None


def verdict(comparison: SiteComparison) -> Markup:
    """Make the first screen of a workload: sentence, figures, and the candidates' changes."""
    typical, own = [comparison.typical], comparison.today
    fair = [one for one in comparison.findings if not one.starves]
    best = comparison.best or (fair[0] if fair and comparison.has_verdict else None)
    means = durations([float(own.wait.mean()), best.mean_wait if best else None], typical)
    figures = [(means[0], f"mean wait now, {own.policy}")]
    if not comparison.has_verdict and comparison.logged is not None:
        real = durations([float(comparison.logged.wait.mean())], typical)[0]
        figures.append((real, "mean wait in your log"))
    if best is not None:
        then = "then" if comparison.best else "at best"
        figures.append((means[1], f"mean wait {then}, {best.policy}"))
        longest = durations([int(own.wait.max()), best.longest_wait], typical)
        less, more = best.users_less, best.users_more
        figures.append(
            (f"{less:,} / {more:,}", "users wait over a minute less / more")
            if less or more
            else (longest[1], f"longest wait then, {longest[0]} now")
        )
    texts = signed_durations((one.change.value for one in fair), typical)
    lines = [
        Line(one.policy, one.change, text, f" ({_ends(one, typical)})", one is comparison.best)
        for one, text in zip(fair, texts, strict=True)
    ]
    ends = [end for one in fair for end in one.change[:3]]
    title = "Change of the mean wait by candidate, with 95 % intervals"
    text = f"Differences from {own.policy}, job by job; to the left is better."
    axis = changes(ends, comparison.typical, "change of the mean wait")
    drawing = picture(f"first-{comparison.workload}", title, text, lines, axis, (0.0, "today"))
    starving = len(comparison.findings) - len(fair)
    notes = alarms(comparison)
    if comparison.logged is not None:
        notes.append(reality(comparison))
    if starving:
        notes.append(f"Not in the picture: {starving} of the candidates starve jobs.")
    return first_screen(sentences(comparison)[1], figures, drawing, *notes)


def _ends(one: Finding, like: list[float]) -> str:
    low, high = one.change[1:3]
    return " to ".join(signed_durations((low, high), like)) if low <= high else "no interval"


def candidate_lines(comparison: SiteComparison) -> tuple[list[list[str]], list[list[str]]]:
    """Return the cells of COLUMNS: the log, today's policy and the candidates; then the starving.

    Each list has one list of cells for each line. All durations are in one unit.
    """
    own, real, findings = comparison.today, comparison.logged, comparison.findings
    typical = [comparison.typical]
    schedules = [*([] if real is None else [real]), own, *(one.schedule for one in findings)]
    means = durations((float(one.wait.mean()) for one in schedules), typical)
    changes = signed_durations((one.change.value for one in findings), typical)
    longest = durations((int(one.wait.max()) for one in schedules), typical)
    lines = [
        ["", mean, "", wait, "", "", "", ""] for mean, wait in zip(means, longest, strict=True)
    ]
    if real is not None:
        lines[0][0] = AS_IT_RAN
    first = len(lines) - len(findings)
    lines[first - 1][0] = f"{own.policy} (today)"
    for line, one, change in zip(lines[first:], findings, changes, strict=True):
        line[0], line[2] = one.policy + RECOMMENDED * (one is comparison.best), change
        line[4:] = (
            one.slurm.answer,
            f"{one.users_less:,}",
            f"{one.users_more:,}",
            less_or_more(one.change, typical).removeprefix("95 %: "),
        )
    starving = sum(one.starves for one in findings)  # they come last
    return lines[: len(lines) - starving], lines[len(lines) - starving :]


def winners_and_losers(members: list[Party]) -> tuple[list[Party], int]:
    """Return the parties to list, and how many between them are left out."""
    left_out = max(0, len(members) - 2 * MOST)
    return (members[:MOST] + members[-MOST:] if left_out else members), left_out


def candidates(comparison: SiteComparison) -> Markup:
    """Make the tables of candidates, and of what each does."""
    lines, starving = candidate_lines(comparison)
    parts = [_table("Today's policy and the candidates, shortest mean wait first", lines)]
    if starving:
        parts.append(_table(STARVING, starving))
    return join([*parts, _how(comparison.findings)])


def details(comparison: SiteComparison) -> Markup:
    """Make the verdict's other sentences, and what the simulation leaves out."""
    texts = sentences(comparison)
    parts = [_list(texts[:1] + texts[2:])]
    if comparison.logged is not None:
        parts.append(
            element("p", "What the simulation leaves out, and contradictions in this log:")
        )
        parts.append(_list(cautions(comparison.logged)))
    return join(parts)


def _list(texts: Iterable[str]) -> Markup:
    return element("ul", [element("li", text) for text in texts], class_="texts")


def _table(caption: str, lines: list[list[str]]) -> Markup:
    rows = [
        (None, [Cell(cell, None, "chosen" if RECOMMENDED in line[0] else None) for cell in line])
        for line in lines
    ]
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


def people(comparison: SiteComparison, names: Names) -> Markup | None:
    """Make the tables of who wins and who loses; None if no candidate is better.

    * `names`: of users and groups, by kind and number.
    """
    best = comparison.best
    if best is None:
        return None
    tables = []
    for what, members in parties(comparison.today, best.schedule, names).items():
        listed, left_out = winners_and_losers(members)
        waits = [wait for one in listed for wait in (one.before, one.after)]  # all in one unit
        texts = durations(waits, [comparison.typical])
        moved = signed_durations([one.after - one.before for one in listed], [comparison.typical])
        rows = [
            (None, [Cell(one.label), *map(Cell, numbers), Cell(f"{one.jobs:,}")])
            for one, *numbers in zip(listed, moved, texts[::2], texts[1::2], strict=True)
        ]
        caption = f"Mean waits by {what}" + (
            f": the {MOST} that save the most hours in all, and the {MOST} that lose the most; "
            f"{left_out:,} between them are not shown"
            if left_out
            else ""
        )
        columns = (what, "change", comparison.today.policy, best.policy, "jobs")
        tables.append(table(caption, columns, rows))
    heading = f"Under {best.policy} instead of {comparison.today.policy}"
    return join([element("p", heading), element("div", tables, class_="tables")])
