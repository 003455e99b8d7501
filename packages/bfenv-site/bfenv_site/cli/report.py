"""The command `bfenv report`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bfenv.cli import show
from bfenv.cli.options import (
    BackendOption,
    ForceOption,
    JobsOption,
    SchedulerOption,
    check_page,
    option,
)
from bfenv.core.errors import BfenvError
from bfenv_site.defaults import CANDIDATES, TODAY

if TYPE_CHECKING:
    from bfenv_site.reports.comparison import SiteComparison

SLURMS = ("backfill", "sched/backfill", "builtin", "sched/builtin")
SLURM_IS = "Slurm's scheduler is the policy slurm, or with your settings slurm(conf=slurm.conf)"


def report(
    log: list[str] = typer.Argument(
        ..., metavar="LOG", help="Your log as SWF, with options if needed."
    ),
    out: Path = option(..., "FILE", "HTML page to write.", "--out", "-o"),
    today: str = option(TODAY, "POLICY", "Policy closest to what your site runs today."),
    policy: list[str] | None = option(
        None, "POLICY", "Candidate; repeat for several. Default: see above.", "--policy", "-p"
    ),
    users: Path | None = option(
        None, "FILE", "Names of users and groups: lines of kind,number,name, like user,7,ann."
    ),
    jobs: JobsOption = -1,
    backend: BackendOption = "loky",
    scheduler: SchedulerOption = None,
    force: ForceOption = False,
) -> None:
    """Report what another policy would do to your users.

    The report is a page of HTML that begins with a verdict in hours and days. It compares each
    candidate with today's policy, job by job, and shows who waits less, who waits longer, and how
    well the simulation repeats what your log records. `bfenv workloads import` converts accounting
    logs to SWF, and its option --users writes the names for --users here. If a candidate fails, the
    report compares the others, and the exit status is 1.

    Add :outages=find to the log to detect outages: times in which jobs waited but the whole machine
    was idle. No simulated job starts if it could run into one.

    If your site runs Slurm, give --today "slurm(conf=slurm.conf)" with the path of your file.

    \b
    Default candidates, which Slurm can be configured or extended to follow:
      {candidates}

    \b
    Examples:
      bfenv report site.swf.gz --out site.html
      bfenv report site.swf.gz:outages=find --out site.html
      bfenv report site.swf.gz --today "slurm(conf=slurm.conf)" --out site.html
    """
    from bfenv.baselines.registry import find_competitor
    from bfenv.core.files import write_atomically
    from bfenv.evaluation.row import Row, failures
    from bfenv_site.logs.selection import read_users
    from bfenv_site.reports.report import site_report

    check_page(out, force)
    if today.lower() in SLURMS:
        raise BfenvError(f"--today {today}: {SLURM_IS}")
    today, *alternatives = (find_competitor(name).name for name in (today, *(policy or ())))
    candidates = [name for name in alternatives if name != today]
    if alternatives and not candidates:
        raise BfenvError(f"--policy {today} is today's policy; name another to compare it with")
    if len(candidates) < len(alternatives):
        show.text(f"bfenv: {today} is today's policy, not a candidate as well", file=sys.stderr)
    names = {} if users is None else read_users(users)
    failed: list[Row] = []
    try:
        with show.progress() as progress:
            bar = progress.add_task("simulating", total=None)

            def done(row: Row) -> None:
                progress.update(bar, advance=1, description=row.policy)
                if not row.ok:
                    failed.append(row)

            result = site_report(
                log,
                today,
                candidates or CANDIDATES,
                begin=lambda rows: progress.update(bar, total=rows),
                done=done,
                jobs=jobs,
                backend=backend,
                scheduler=scheduler,
                users=names,
            )
    finally:
        show.lines((f"bfenv: failed: {text}" for text in failures(failed)), sys.stderr)
    with show.progress() as progress:
        progress.add_task("drawing", total=None)
        write_atomically(out, result.page.encode())
    for comparison in result.comparisons:
        _tell(comparison)
    show.text(f"{out}: the full report, with charts and the users who win or lose")
    if failed:
        raise typer.Exit(1)


def _tell(comparison: "SiteComparison") -> None:
    from bfenv_site.reports.opening import COLUMNS, STARVING, candidate_lines
    from bfenv_site.reports.words import sentences

    show.prose("\n".join(sentences(comparison)) + "\n")
    lines, starving = candidate_lines(comparison)
    show.table(COLUMNS, lines, numbers=len(COLUMNS) - 1, whole_names=True)
    if starving:
        show.table(COLUMNS, starving, numbers=len(COLUMNS) - 1, whole_names=True, title=STARVING)


report.__doc__ = report.__doc__ and report.__doc__.format(candidates="\n      ".join(CANDIDATES))
