"""The command `python -m reproductions`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bfenv.analysis.plots.figure import check_matplotlib
from bfenv.cli import options, show
from bfenv.cli.app import run_app
from bfenv.core.errors import BfenvError
from bfenv.parallel.shards import read_shard
from bfenv.parallel.sweep import check_workers
from reproductions.checklist import NAME as CHECKLIST
from reproductions.checklist import write_checklist
from reproductions.item import Item, Paper, Run
from reproductions.page import grid, judge_items, summary, write_page
from reproductions.papers import PAPERS, find_items, find_paper
from reproductions.results import Results
from reproductions.rows import plan, read_rows, run

ALL = "all"
LIST = "list"
app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(cls=options.Once)
def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="Name of a paper, all, list, or checklist.")
    ],
    items: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ITEM]...", help="Tables and figures, such as table-2. Default: all."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder of pages and rows.")
    ] = Path("reproduced"),
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

    `list` lists the papers and their items. `checklist` writes the page FOLDER/checklist.md, which
    has every algorithm, parameter, metric, table and figure of the five papers with its place in
    bfenv. For a paper, the command writes the page
    FOLDER/PAPER.md, with each computed table and figure, the printed numbers and a verdict, and the
    folder FOLDER/PAPER with figures and rows. If you name items, the page has these and any others
    that are complete.

    Rows that the folder already has are kept, so an interrupted run resumes, and shards may share
    a folder. Items that need a log that is not on this machine are left out; see `bfenv workloads`.

    \b
    Examples:
      python -m reproductions list
      python -m reproductions shmueli-los2003 table-1.1 table-3.7
      python -m reproductions zotkin2000 table-2 table-9 --quick
      python -m reproductions all --jobs 2 --out docs/reproductions
    """
    if paper == CHECKLIST:
        if items:
            raise BfenvError("checklist takes no items")
        options.check_output_folder(out)
        print(write_checklist(out))
        return
    if paper == LIST:
        if items:
            raise BfenvError("list takes no items")
        for study in PAPERS.values():
            lines = [(item.name, item.title) for item in study.items]
            show.table(("item", ""), lines, title=f"{study.name}: {study.title}")
        return
    options.check_output_folder(out)
    if paper == ALL and items:
        raise BfenvError("items need the name of their paper, not all")
    papers = list(PAPERS.values()) if paper == ALL else [find_paper(paper)]
    chosen = [find_items(study, items or ()) for study in papers]
    part = read_shard(shard)
    check_workers(jobs, backend, scheduler)
    check_matplotlib()
    workers = {"jobs": jobs, "backend": backend, "scheduler": scheduler}
    for study, paper_items in zip(papers, chosen, strict=True):
        _reproduce(study, paper_items, out, quick, shard=part, **workers)
    if paper == ALL:
        print(write_checklist(out))


def _reproduce(
    paper: Paper, items: Sequence[Item], out: Path, quick: bool, **run_options: Any
) -> None:
    folder = out / paper.name
    planned = plan(items, folder, quick)
    if planned.unavailable:
        names = ", ".join(sorted(planned.unavailable))
        typer.echo(f"bfenv: left out, because they are not on this machine: {names}", err=True)
    with show.progress() as progress:
        bar = progress.add_task(
            paper.name, total=sum(planned_run.seeds for planned_run in planned.missing)
        )

        def done(finished: Run) -> None:
            label = f"{finished.policy or 'workload'} on {finished.workload}"
            progress.update(bar, advance=finished.seeds, description=label[:24])

        rows = run(planned, folder, done=done, **run_options)
    verdicts = judge_items(paper, items, rows, quick)
    headings, lines = summary(items, verdicts)
    show.table(headings, lines, title=f"{paper.name}: {paper.title}")
    for item, verdict in zip(items, verdicts, strict=True):
        if len(items) <= 3 and verdict.cells:
            columns, cells = grid(item, verdict, Results(rows))
            show.table(columns, cells, numbers=len(columns) - 1, title=item.heading)
    every = plan(paper.items, folder, quick).wanted
    # Whatever their measures
    kept = read_rows(folder, {planned_run: set() for planned_run in every}) | rows
    shown = [item for item in paper.items if item in items or _is_complete(item, kept, quick)]
    page = write_page(paper, shown, kept, out, quick=quick)
    print(f"{page}: {len(rows)} rows, {len(planned.rows)} of them from earlier runs")


def _is_complete(item: Item, rows: dict[Run, Any], quick: bool) -> bool:
    return all(
        value.run in rows and value.measure in rows[value.run]["values"]
        for value in item.build(quick).values()
    )


if __name__ == "__main__":
    run_app(app, "python -m reproductions")
