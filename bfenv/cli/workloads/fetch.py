"""The command `bfenv workloads fetch`."""

import sys
from pathlib import Path

import typer

from bfenv.cli import show
from bfenv.cli.options import option


def fetch(
    name: str = typer.Argument(..., metavar="LOG", help="See `bfenv workloads`."),
    folder: Path | None = option(None, "FOLDER", "Folder of the file. Default: the user's cache."),
) -> None:
    """Download a log of the Parallel Workloads Archive.

    The command prints the path of the log. It does not download a log that is already on this
    machine. It checks the hash of the text if bfenv has one for this log.

    \b
    Examples:
      bfenv workloads fetch KTH-SP2-1996-2.1-cln
      bfenv workloads fetch SDSC-SP2-1998-4.2-cln --folder logs
    """
    from bfenv.workloads.archive import catalogue
    from bfenv.workloads.archive import download as archive

    log = catalogue.find_log(name)
    with show.progress() as progress:
        progress.add_task(log.name[:24], total=None)
        path = archive.fetch(log.name, folder)
    show.text(path)
    thanks = log.acknowledge or f"see {archive.BASE}/{log.folder}/index.html"
    show.text(f"terms: {log.terms}\nacknowledge: {thanks}\ncite: {catalogue.CITE}", file=sys.stderr)
