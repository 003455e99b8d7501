"""The report of a site: the candidates beside today's policy, and the page that shows them."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from bfenv.analysis.intervals import batch_means
from bfenv.analysis.logged import LOGGED
from bfenv.analysis.plots.gantt_interval import choose_begin, readable_span
from bfenv.baselines.registry import find_competitor
from bfenv.core.errors import BfenvError
from bfenv.core.partitions import partitions_of
from bfenv.core.schedule import Schedule, bounded_slowdown
from bfenv.evaluation.calibration_lines import calibration_lines
from bfenv.evaluation.cases import Case
from bfenv.evaluation.evaluator import evaluate, plan_runs, with_known_partitions
from bfenv.evaluation.row import Row
from bfenv.evaluation.summary import FAIR, REFERENCE, summarize
from bfenv_site.page.as_it_ran import as_it_ran
from bfenv_site.page.document import document, failed_runs
from bfenv_site.page.gantt import gantt_section
from bfenv_site.page.panel import Reference, panels
from bfenv_site.reports.comparison import SiteComparison, compare_site
from bfenv_site.reports.opening import by_workload, candidates, details, people, verdict
from bfenv_site.reports.parties import NONE, Names
from bfenv_site.reports.words import sentences

HIGHLIGHTED = 6  # policies whose lines are coloured at first


class Report(NamedTuple):
    """What `site_report` found."""

    comparisons: list[SiteComparison]  # one for each log
    rows: list[Row]  # of what the logs record, and of all policies
    users: Names = NONE  # names of users and groups, by kind and number

    @property
    def failed(self) -> list[Row]:
        """The rows of policies that failed."""
        return [row for row in self.rows if not row.ok]

    @property
    def page(self) -> str:
        """The page of HTML."""
        first = self.comparisons[0]
        shown = [first.today, *([] if first.best is None else [first.best.schedule])]
        span = readable_span(first.today)
        hours = "The same hours under two policies" if len(shown) > 1 else "Some hours job by job"
        logs = [row for row in self.rows if row.kind == "log"]
        rows = [row for row in self.rows if row.kind != "log" and row.ok]
        summaries = {
            comparison.workload: dict(enumerate(summarize(rows, comparison.workload)))
            for comparison in self.comparisons
        }
        slots = {
            n: "ref" if summary.policy == first.today.policy else str(n)
            for n, summary in list(summaries[first.workload].items())[:HIGHLIGHTED]
        }
        starving = {finding.policy for finding in first.findings if finding.starves}
        sections = [
            ("candidates", "All candidates", by_workload(self.comparisons, candidates)),
            ("verdict", "The verdict in detail", by_workload(self.comparisons, details)),
            (
                "people",
                "Who waits less, and who longer",
                by_workload(self.comparisons, lambda comparison: people(comparison, self.users)),
            ),
            (
                "workloads",
                "How long jobs waited, and how many",
                panels(summaries, slots, self._reference()),
            ),
            (
                "gantt",
                hours,
                gantt_section(
                    first.workload, shown, choose_begin(shown, span), span, starving=starving
                )
                if find_spec("matplotlib")
                else None,
            ),
            (
                "logged",
                "Log and simulation",
                as_it_ran(calibration_lines(rows, logs, first.today.policy)),
            ),
            ("failed", "Failed runs", failed_runs(self.failed)),
        ]
        lead = " ".join(sentences(comparison)[0] for comparison in self.comparisons)
        top = by_workload(self.comparisons, verdict)
        return document("What another policy would do to your users", lead, top, sections)

    def _reference(self) -> Reference:
        """Return today's policy as what the tables of policies compare with."""
        differences = {
            comparison.workload: {
                finding.policy: (
                    batch_means(_slowdown(finding.schedule) - _slowdown(comparison.today)),
                    finding.change,
                )
                for finding in comparison.findings
            }
            for comparison in self.comparisons
        }
        today = self.comparisons[0].today.policy
        return Reference(today, f"today's policy, {today},", "today's", differences)


def _slowdown(schedule: Schedule) -> np.ndarray:
    slowdown: np.ndarray = bounded_slowdown(schedule.wait, schedule.trace.runtime)
    return slowdown


def site_report(
    logs: Sequence[str],
    today: str,
    candidates: Sequence[str],
    *,
    begin: Callable[[int], None] = lambda rows: None,
    done: Callable[[Row], None] = lambda row: None,
    users: Names = NONE,
    **workers: Any,
) -> Report:
    """Simulate today's policy and the candidates on a site's logs.

    Args:
        logs: What `load_workload` takes, such as the path of an SWF file.
        today: The policy closest to the site's.
        candidates: The policies to compare with it. EASY and FCFS are simulated as well.
        begin: Called with the number of rows to come.
        done: Called with each row.
        users: Names of users and groups, by kind and number, such as ("user", 7).
        **workers: Where to run: `jobs`, `backend` and `scheduler` of `bfenv.parallel.run_tasks`.

    Returns:
        With a comparison of each log.

    Raises:
        BfenvError: If a log or a policy is unknown, two logs have one name, today's policy fails,
            or every candidate does. `done` has had the rows of those that failed.
    """
    cases = [Case(log) for log in logs]
    names = [case.trace().name for case in cases]
    if len(set(names)) < len(names):
        raise BfenvError(f"two logs have one name: {', '.join(names)}")
    today, *candidate_names = (find_competitor(policy).name for policy in (today, *candidates))
    cases = with_known_partitions([today, *candidate_names], cases)
    shared = any(partitions_of(case.trace()).shared for case in cases)
    added = () if shared else (REFERENCE, FAIR)  # neither knows nodes of several partitions
    competitors = list(dict.fromkeys([LOGGED, today, *added, *candidate_names]))
    begin(len(plan_runs(competitors, cases)))
    rows = evaluate(competitors, cases, full=True, keep_schedules=True, done=done, **workers)
    failed = {row.policy for row in rows if not row.ok}
    if today in failed:
        raise BfenvError(f"{today} is today's policy, so there is nothing to compare with")
    if failed.issuperset(candidate_names):
        raise BfenvError(f"there is no candidate to compare with {today}")
    comparisons = []
    for name in names:
        own_rows = (row for row in rows if row.workload == name)
        schedules = {row.policy: row.schedule for row in own_rows if row.schedule is not None}
        logged, schedule_today = schedules.pop(LOGGED, None), schedules.pop(today)
        comparisons.append(compare_site(schedule_today, list(schedules.values()), logged))
    return Report(comparisons, rows, users)
