"""The command `bfenv workloads fetch`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.progress import Progress


def fetch(
    name: Annotated[str, typer.Argument(metavar="LOG", help="See `bfenv workloads`.")],
    folder: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to put it. Default: the user's cache."),
    ] = None,
) -> None:
    """Download a log of the Parallel Workloads Archive.

    The path of the log is printed. A log that is already on this machine is not downloaded again,
    and an interrupted download resumes. The hash of the text is compared with the known one, or if
    there is none, with that of the first download.

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


def _progress() -> "Progress":
    """Return a progress bar of bytes on stderr; it is disabled if that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

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
