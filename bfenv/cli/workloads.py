"""What can be said to `bfenv workloads`: list them, fetch them from the archive."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from bfenv.cli import show
from bfenv.cli.imports import import_
from bfenv.cli.info import info
from bfenv.cli.options import Once
from bfenv.cli.show import Format

app = typer.Typer(rich_markup_mode=None)
app.command("import", cls=Once)(import_)
app.command(cls=Once)(info)


@app.callback(invoke_without_command=True)
def workloads(
    context: typer.Context,
    format: Annotated[
        Format, typer.Option("--format", "-f", help="How to print the rows.")
    ] = Format.table,
) -> None:
    """List the workloads known by name; make, fetch, look at one.

    Known are the embedded models, the logs of the archive, and the SWF files in the folders that
    $BFENV_TRACES names. An asterisk marks the files at hand. json and csv have more columns:
    period, address, file, terms of use, whom to acknowledge and what to cite.

    \b
    Examples:
      bfenv workloads
      bfenv workloads --format csv
    """
    if context.invoked_subcommand:
        return
    rows = _rows()
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
        return
    lines = [
        (
            row["workload"],
            "*" if row["file"] else "",
            row["remarks"],
            *(f"{row[column]:,}" if row[column] else "" for column in ("processors", "jobs")),
        )
        for row in rows
    ]
    show.table(("workload", "", "remarks", "procs", "jobs"), lines, format, numbers=2)


@app.command(cls=Once)
def fetch(
    name: Annotated[str, typer.Argument(help="Of a log, see `bfenv workloads`.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where to put it; default: the user's cache.")
    ] = None,
) -> None:
    """Download a log of the Parallel Workloads Archive.

    Its path is printed. A log at hand is not downloaded again, one that broke off is continued. The
    hash of its text is compared with the known one, or else with that of the first download.

    \b
    Examples:
      bfenv workloads fetch KTH-SP2-1996-2.1-cln
      bfenv workloads fetch SDSC-SP2-1998-4.2-cln --folder logs
    """
    from bfenv.workloads.archive import catalogue
    from bfenv.workloads.archive import download as archive

    log = catalogue.find_log(name)
    with _progress() as progress:
        task = progress.add_task(log.name, total=None)
        path = archive.fetch(
            log.name,
            folder,
            lambda done, total: progress.update(task, completed=done, total=total),
        )
    print(path)
    thanks = log.acknowledge or f"see {archive.BASES[0]}/{log.folder}/index.html"
    print(f"terms: {log.terms}\nacknowledge: {thanks}\ncite: {catalogue.CITE}", file=sys.stderr)


def _rows() -> list[dict[str, Any]]:
    """Models, then the archive's logs, then other files at hand."""
    from bfenv.workloads import load
    from bfenv.workloads.archive import catalogue
    from bfenv.workloads.archive import download as archive
    from bfenv.workloads.archive.local import local_logs

    files = local_logs()
    logs = {log.name: log for log in catalogue.CATALOGUE}
    models = {name: text for name, text in load.workloads().items() if name not in files | logs}
    rows = [_row(name, remarks=text) for name, text in models.items()]
    rows += [
        _row(
            name,
            processors=log.processors,
            jobs=log.jobs,
            remarks=log.remarks,
            period=log.period,
            url=f"{archive.BASES[0]}/{log.folder}/{name}.swf.gz",
            terms=log.terms,
            acknowledge=log.acknowledge,
            cite=catalogue.CITE,
            file=str(files[name]) if name in files else None,
        )
        for name, log in logs.items()
    ]
    others = (name for name in files if name not in logs)
    return rows + [_row(name, file=str(files[name]), remarks="a file") for name in others]


def _row(name: str, **known: Any) -> dict[str, Any]:
    columns = "processors jobs remarks period file url terms acknowledge cite".split()
    return {"workload": name} | {column: known.get(column) for column in columns}


def _progress() -> Progress:
    """A progress bar of bytes on stderr, where that is a terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
