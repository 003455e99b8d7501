"""How far the policies are from the best possible, as a section of a report."""

from bfenv.analysis.comparison import STARVES
from bfenv.analysis.formatting import MISSING, percent, slowdown
from bfenv.leaderboard.report.sections import Section, SectionTable, Value
from bfenv.leaderboard.store import Leaderboard
from bfenv_judge.leaderboard_bounds import gaps, read_bounds, shares_closed

COLUMNS = (
    "workload",
    "best policy",
    "bound",
    "best known",
    "fair",
    "the policy's",
    "EASY's",
    "closed",
)
MEANING = (
    "Mean bounded slowdown, over the traces of a workload. Bound: no schedule is below it, even "
    "with all runtimes and all jobs known in advance; prices on capacity certify it. Best known: "
    "the best schedule found with that knowledge. Fair: the best one in which no job waits over "
    f"{STARVES:g} times EASY's longest wait. Closed: how much of the way from EASY (0 %) to the "
    "best known schedule (100 %) the best policy goes. Policies that kill and requeue jobs are "
    "left out."
)


def gap_lines(leaderboard: Leaderboard) -> list[tuple[str, ...]]:
    """Return the cells of COLUMNS, a line for each workload with bounds."""
    lines: list[tuple[str, ...]] = []
    for gap in gaps(leaderboard.rows, read_bounds(leaderboard)):
        numbers = gap.numbers
        values = (numbers.bound, numbers.offline, numbers.fair, gap.value, numbers.reference)
        closed = percent(gap.closed) if gap.closed == gap.closed else MISSING
        lines.append((gap.workload, gap.policy, *map(slowdown, values), closed))
    return lines


def gap_left(leaderboard: Leaderboard) -> Section | None:
    """Make the section of the report; None without bounds."""
    lines = gap_lines(leaderboard)
    if not lines:
        return None
    shown = [[Value(cell) for cell in line] for line in lines]
    table = SectionTable("Bounds and best schedules known", COLUMNS, shown, 2, MEANING)
    return Section("gap", "How far from the best possible", (table, _closed(leaderboard)))


def _closed(leaderboard: Leaderboard) -> SectionTable:
    """Make the table of all policies: the share of the gap that each closes."""
    shares = shares_closed(leaderboard.rows, read_bounds(leaderboard))
    workloads = sorted(
        {workload for policy_shares in shares.values() for workload in policy_shares}
    )
    means = {
        policy: sum(policy_shares.values()) / len(policy_shares)
        for policy, policy_shares in shares.items()
    }
    lines = [
        [
            Value(policy),
            _share(means[policy]),
            *(_share(shares[policy].get(workload)) for workload in workloads),
        ]
        for policy in sorted(shares, key=lambda policy: (-means[policy], policy))
    ]
    columns = ("policy", "mean", *workloads)
    return SectionTable("Share of the gap that each policy closes", columns, lines, in_text=False)


def _share(value: float | None) -> Value:
    is_known = value is not None and value == value
    return Value(percent(value) if is_known else MISSING, value if is_known else None)
