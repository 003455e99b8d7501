"""The command `bfenv reproduce`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfenv.cli import options, show
from bfenv.core.errors import BfenvError

if TYPE_CHECKING:
    from bfenv.reproduce.item import Item, Paper, Run

ALL = "all"
LIST = "list"


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Name of a paper, all, or list.")],
    items: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ITEM]...", help="Tables and figures, such as table-2. Default: all."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder of pages and rows.")
    ] = Path("reproductions"),
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Use small generated workloads instead of logs."),
    ] = False,
    jobs: options.JobsOption = 1,
    backend: options.BackendOption = "loky",
    scheduler: options.SchedulerOption = None,
    shard: options.ShardOption = "1/1",
) -> None:
    """Recompute a paper's tables and figures, and compare them.

    `bfenv reproduce list` lists the papers and their items. For a paper, the command writes the
    page DIR/PAPER.md, with each computed table and figure, the printed numbers and a verdict, and
    the folder DIR/PAPER with figures and rows. If you name items, the page has these and any others
    that are complete.

    Rows that the folder already has are kept, so an interrupted run resumes, and shards may share
    a folder. Items that need a log that is not on this machine are left out; see `bfenv workloads`.

    \b
    Examples:
      bfenv reproduce list
      bfenv reproduce shmueli-los2003 table-1.1 table-3.7
      bfenv reproduce zotkin2000 table-2 table-9 --quick
      bfenv reproduce all --jobs 2 --out docs/reproductions
    """
    from bfenv.analysis.plots.figure import check_matplotlib
    from bfenv.reproduce import PAPERS, find_items, find_paper

    if paper == LIST:
        if items:
            raise BfenvError("list takes no items")
        _list()
        return
    options.check_output_folder(out)
    papers = list(PAPERS.values()) if paper == ALL else [find_paper(paper)]
    if paper == ALL and items:
        raise BfenvError("items need the name of their paper, not all")
    chosen = {one.name: find_items(one, items or ()) for one in papers}
    check_matplotlib()
    for one in papers:
        _reproduce(one, chosen[one.name], out, quick, shard, jobs, backend, scheduler)


def _list() -> None:
    from bfenv.reproduce import PAPERS

    for paper in PAPERS.values():
        lines = [(item.name, item.title) for item in paper.items]
        show.table(("item", ""), lines, title=f"{paper.name}: {paper.title}")


def _reproduce(
    paper: "Paper",
    items: "list[Item]",
    out: Path,
    quick: bool,
    shard: str,
    jobs: int,
    backend: str,
    scheduler: str | None,
) -> None:
    from bfenv.parallel.shards import read_shard
    from bfenv.parallel.sweep import check_workers
    from bfenv.reproduce.page import is_complete, judge_items, write_page
    from bfenv.reproduce.results import Results
    from bfenv.reproduce.rows import read_rows
    from bfenv.reproduce.run import plan, run
    from bfenv.reproduce.tables import grid, summary

    folder = out / paper.name
    part = read_shard(shard)
    check_workers(jobs, backend, scheduler)
    planned = plan(items, folder, quick)
    if planned.unavailable:
        names = ", ".join(sorted(planned.unavailable))
        typer.echo(f"bfenv: left out, because they are not on this machine: {names}", err=True)
    with show.progress() as progress:
        bar = progress.add_task(paper.name, total=sum(one.seeds for one in planned.missing))

        def done(one: "Run") -> None:
            label = f"{one.policy or 'workload'} on {one.workload}"
            progress.update(bar, advance=one.seeds, description=label[:24])

        rows = run(
            planned,
            folder,
            shard=part,
            done=done,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
        )
    verdicts = judge_items(paper, items, rows, quick)
    headings, lines = summary(items, verdicts)
    show.table(headings, lines, title=f"{paper.name}: {paper.title}")
    if len(items) <= 3:
        for item, verdict in zip(items, verdicts, strict=True):
            if verdict.cells:
                columns, cells = grid(item, verdict, Results(rows))
                show.table(columns, cells, numbers=len(columns) - 1, title=item.heading)
    every = plan(paper.items, folder, quick).wanted
    kept = read_rows(folder, {one: set() for one in every}) | rows  # whatever their measures
    shown = [one for one in paper.items if one in items or is_complete(one, kept, quick)]
    page = write_page(paper, shown, kept, out, quick=quick)
    print(f"{page}: {len(rows)} rows, {len(planned.rows)} of them from earlier runs")
