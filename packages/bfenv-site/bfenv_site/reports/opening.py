"""The verdict that a site's page shows first, the candidates behind it, and who wins or loses."""

from collections.abc import Callable, Iterable, Sequence

from bfenv.analysis.formatting import durations, signed_durations
from bfenv.analysis.logged import LOGGED, cautions
from bfenv_site.page.first_screen import Line, first_screen, picture
from bfenv_site.page.markup import Cell, Markup, element, join, table
from bfenv_site.page.plot import changes as axis_of_changes
from bfenv_site.reports.comparison import Finding, SiteComparison
from bfenv_site.reports.parties import Names, Party, parties
from bfenv_site.reports.words import alarms, in_words, less_or_more, reality, sentences

COLUMNS = (
    "policy",
    "mean\nwait",
    "change",
    "longest\nwait",
    "Slurm",
    "users\nless",
    "users\nmore",
    "change, 95 % interval",
)
MOST = 5  # winners, and losers, of each kind that are listed
RECOMMENDED = " (recommended)"  # behind the name of the best candidate
STARVING = "These starve jobs: their longest wait is over twice that of today's policy"


def by_workload(
    comparisons: Sequence[SiteComparison], part: Callable[[SiteComparison], Markup | None]
) -> Markup | None:
    """Join a part for each workload, under its name if there are several; None without any."""
    parts = [(comparison.workload, part(comparison)) for comparison in comparisons]
    sections = [
        join([element("h3", name) if len(comparisons) > 1 else None, content])
        for name, content in parts
        if content is not None
    ]
    return join(sections) if sections else None


def verdict(comparison: SiteComparison) -> Markup:
    """Make the first screen of a workload: sentence, figures, and the candidates' changes."""
    typical, today = [comparison.typical], comparison.today
    fair = [finding for finding in comparison.findings if not finding.starves]
    best = comparison.best or (fair[0] if fair and comparison.has_verdict else None)
    means = durations([float(today.wait.mean()), best.mean_wait if best else None], typical)
    figures = [(means[0], "mean wait today")]
    if not comparison.has_verdict and comparison.logged is not None:
        real = durations([float(comparison.logged.wait.mean())], typical)[0]
        figures.append((real, "mean wait in your log"))
    if best is not None:
        then = "then" if comparison.best else f"at best, {best.policy}"
        figures.append((means[1], f"mean wait {then}"))
        longest = durations([int(today.wait.max()), best.longest_wait], typical)
        less, more = best.users_less, best.users_more
        figures.append(
            (f"{less:,} / {more:,}", "users wait over a minute less / more")
            if less or more
            else (longest[1], f"longest wait then, {longest[0]} now")
        )
    texts = signed_durations((finding.change.value for finding in fair), typical)
    lines = []
    for finding, text in zip(fair, texts, strict=True):
        low, high = finding.change[1:3]
        interval = "no interval"
        if low <= high:
            interval = " to ".join(signed_durations((low, high), typical))
        lines.append(
            Line(
                finding.policy,
                finding.change,
                text,
                ends=f" ({interval})",
                is_chosen=finding is comparison.best,
            )
        )
    ends = [end for finding in fair for end in finding.change[:3]]
    title = "Change of the mean wait by candidate, with 95 % intervals"
    text = f"Differences from {today.policy}, job by job; to the left is better."
    axis = axis_of_changes(ends, comparison.typical, "change of the mean wait")
    drawing = picture(f"first-{comparison.workload}", title, text, lines, axis, (0.0, "today"))
    starving = len(comparison.findings) - len(fair)
    notes = alarms(comparison)
    if comparison.logged is not None:
        notes.append(reality(comparison))
    if starving:
        notes.append(f"Not in the picture: {starving} of the candidates starve jobs.")
    return first_screen(sentences(comparison)[1], figures, drawing, *notes)


def candidate_lines(comparison: SiteComparison) -> tuple[list[list[str]], list[list[str]]]:
    """Return the cells of COLUMNS: the log, today's policy and the candidates; then the starving.

    Each list has one list of cells for each line. All durations are in one unit.
    """
    today, logged, findings = comparison.today, comparison.logged, comparison.findings
    typical = [comparison.typical]
    schedules = [today, *(finding.schedule for finding in findings)]
    if logged is not None:
        schedules.insert(0, logged)
    means = durations((float(schedule.wait.mean()) for schedule in schedules), typical)
    changes = signed_durations((finding.change.value for finding in findings), typical)
    longest = durations((int(schedule.wait.max()) for schedule in schedules), typical)
    lines = [
        ["", mean, "", wait, "", "", "", ""] for mean, wait in zip(means, longest, strict=True)
    ]
    if logged is not None:
        lines[0][0] = LOGGED
    first = len(lines) - len(findings)
    lines[first - 1][0] = f"{today.policy} (today)"
    for line, finding, change in zip(lines[first:], findings, changes, strict=True):
        line[0] = finding.policy + RECOMMENDED * (finding is comparison.best)
        line[2] = change
        line[4:] = (
            finding.slurm.answer,
            f"{finding.users_less:,}",
            f"{finding.users_more:,}",
            less_or_more(finding.change, typical).removeprefix("95 %: "),
        )
    starving = sum(finding.starves for finding in findings)  # they come last
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
                Cell(finding.policy),
                Cell(in_words(finding.policy), None, "how"),
                Cell(finding.slurm.answer),
                Cell(finding.slurm.explanation, None, "how"),
            ],
        )
        for finding in findings
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
    for division, members in parties(comparison.today, best.schedule, names).items():
        shown_parties, left_out = winners_and_losers(members)
        waits = [wait for party in shown_parties for wait in (party.before, party.after)]
        texts = durations(waits, [comparison.typical])  # all in one unit
        changes = signed_durations(
            [party.after - party.before for party in shown_parties], [comparison.typical]
        )
        rows = [
            (None, [Cell(party.label), *map(Cell, numbers), Cell(f"{party.jobs:,}")])
            for party, *numbers in zip(shown_parties, changes, texts[::2], texts[1::2], strict=True)
        ]
        caption = f"Mean waits by {division}" + (
            f": the {MOST} that save the most hours in all, and the {MOST} that lose the most; "
            f"{left_out:,} between them are not shown"
            if left_out
            else ""
        )
        columns = (division, "change", comparison.today.policy, best.policy, "jobs")
        tables.append(table(caption, columns, rows))
    heading = f"Under {best.policy} instead of {comparison.today.policy}"
    return join([element("p", heading), element("div", tables, class_="tables")])
