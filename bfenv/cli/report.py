"""The command `bfenv report`."""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfenv.cli import show
from bfenv.cli.options import ForceOption, JobsOption, check_page
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.defaults import CANDIDATES, TODAY

if TYPE_CHECKING:
    from bfenv.leaderboard.site import SiteComparison
    from bfenv.leaderboard.suite import Suite

SLURMS = ("slurm", "backfill", "sched/backfill", "builtin", "sched/builtin")
SLURM_IS = (
    "name what comes closest: conservative-replan for Slurm's sched/backfill, easy if it has "
    "bf_job_part_count_reserve=1, fcfs for sched/builtin"
)


def report(
    log: Annotated[
        list[str],
        typer.Argument(metavar="LOG...", help="Your log as SWF, with options if needed."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write, .html.")
    ],
    today: Annotated[
        str, typer.Option(metavar="POLICY", help="The policy closest to your site's today.")
    ] = TODAY,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="POLICY",
            help="Candidate; repeat for several. Default: see above.",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep the rows there, so a later run resumes."),
    ] = None,
    jobs: JobsOption = -1,
    force: ForceOption = False,
) -> None:
    """Report what another policy would do to your users.

    The report is a page of HTML that begins with a verdict in hours and days. It compares each
    candidate with today's policy, job by job, and shows who waits less, who waits longer, and how
    well the simulation repeats what your log records. `bfenv workloads import` converts accounting
    logs to SWF. If a candidate fails, the report compares the others, and the exit status is 1.

    Add :outages=find to the log to detect outages: times in which jobs waited but the whole machine
    was idle. No simulated job starts if it could run into one.

    If your site runs Slurm's sched/backfill, give --today conservative-replan. With
    bf_job_part_count_reserve=1, easy comes closest, which is the default.

    \b
    Default candidates, which Slurm can be configured or extended to follow:
      {candidates}

    \b
    Examples:
      bfenv report site.swf.gz --out site.html
      bfenv report site.swf.gz:outages=find --out site.html
      bfenv report site.swf.gz --today conservative-replan --policy easy --out site.html
    """
    from bfenv.core.files import write_atomically
    from bfenv.leaderboard.competitors import one_name
    from bfenv.leaderboard.reference import FAIR, REFERENCE
    from bfenv.leaderboard.report.gantt_selection import select_gantt
    from bfenv.leaderboard.report.page import render_page
    from bfenv.leaderboard.site import opening, site_comparisons
    from bfenv.leaderboard.store import read_leaderboard
    from bfenv.leaderboard.suite import suite_of
    from bfenv.workloads.load import path_in

    check_page(out, force)
    if today.lower() in SLURMS:
        raise BfenvError(f"--today {today}: {SLURM_IS}")
    suite = suite_of(log)
    today, *given = map(one_name, (today, *(policy or ())))
    candidates = [name for name in given if name != today]
    if given and not candidates:
        raise BfenvError(f"--policy {today} is today's policy; name another to compare it with")
    if len(candidates) < len(given):
        print(f"bfenv: {today} is today's policy, not a candidate as well", file=sys.stderr)
    names = list(dict.fromkeys([today, REFERENCE, FAIR, *(candidates or CANDIDATES)]))
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        failed = _run(suite, names, folder, jobs)
        if today in failed:
            raise BfenvError(f"{today} is today's policy, so there is nothing to compare with")
        if failed.issuperset(candidates or CANDIDATES):
            raise BfenvError(f"there is no candidate to compare with {today}")
        leaderboard = read_leaderboard(folder)
        comparisons = site_comparisons(leaderboard, today)
        best = comparisons[0].best
        shown = [today] if best is None else [today, best.policy]
        logs = [Path(path) for path in map(path_in, log) if path is not None]
        selection = select_gantt(leaderboard, policies=shown, logs=logs)
        page = render_page(leaderboard, selection, opening(comparisons))
    write_atomically(out, page.encode())
    for comparison in comparisons:
        _tell(comparison)
    print(f"{out}: the full report, with charts and the users who win or lose")
    if failed:
        raise typer.Exit(1)


def _run(suite: "Suite", names: list[str], folder: Path, jobs: int) -> set[str]:
    """Make the rows that are missing, print and return the policies that failed on any log."""
    from bfenv.leaderboard.report.ranking import failures
    from bfenv.leaderboard.row import Row
    from bfenv.leaderboard.run import run_suite

    with show.progress() as progress:
        bar = progress.add_task("simulating", total=None)

        def begin(rows: int, cost: float) -> None:
            progress.update(bar, total=rows)

        def done(row: Row, cost: float) -> None:
            progress.update(bar, advance=1, description=row.policy)

        outcome = run_suite(
            suite, names, out=folder, seeds=1, keep_schedules=True, argv=sys.argv[1:],
            begin=begin, done=done, jobs=jobs,
        )  # fmt: skip
    failed = [row for row in (*outcome.new_rows, *outcome.existing_rows) if not row.ok]
    show.lines((f"bfenv: failed: {text}" for text in failures(failed)), sys.stderr)
    return {row.policy for row in failed}


def _tell(comparison: "SiteComparison") -> None:
    from bfenv.leaderboard.site.opening import COLUMNS, STARVING, candidate_lines
    from bfenv.leaderboard.site.words import sentences

    show.prose("\n".join(sentences(comparison)) + "\n")
    lines, starving = candidate_lines(comparison)
    show.table(COLUMNS, lines, numbers=len(COLUMNS) - 1, whole_names=True)
    if starving:
        show.table(COLUMNS, starving, numbers=len(COLUMNS) - 1, whole_names=True, title=STARVING)


report.__doc__ = report.__doc__ and report.__doc__.format(candidates="\n      ".join(CANDIDATES))
