"""The command `bfenv workloads`: the list."""

from typing import Any

import typer

from bfenv.cli import show
from bfenv.cli.options import FormatOption
from bfenv.cli.show import Format


def workloads(context: typer.Context, format: FormatOption = Format.table) -> None:
    """List workloads, or describe, download, import or simulate one.

    The list has the embedded models, the SWF files in the folders that $BFENV_TRACES names, and the
    logs of the Parallel Workloads Archive. An asterisk marks the logs on this machine. json and
    csv have more columns: period, address, file, terms of use, whom to acknowledge and what to
    cite.

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
    columns = ("workload", "", "remarks", "procs", "jobs")
    show.table(columns, lines, format, numbers=2, whole_names=1)  # names to type


def _rows() -> list[dict[str, Any]]:
    """Return a row for each model, then each log on this machine, then each other log."""
    from bfenv.workloads import load
    from bfenv.workloads.archive import catalogue
    from bfenv.workloads.archive.catalogue import local_logs
    from bfenv.workloads.archive.download import BASE

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
            url=f"{BASE}/{log.folder}/{name}.swf.gz" if log.folder else None,
            terms=log.terms,
            acknowledge=log.acknowledge,
            cite=catalogue.CITE,
            file=str(files[name]) if name in files else None,
        )
        for name, log in logs.items()
    ]
    own_files = (name for name in files if name not in logs)
    rows += [_row(name, file=str(files[name]), remarks="a file") for name in own_files]
    return sorted(rows, key=lambda row: row["workload"] not in models and not row["file"])


def _row(name: str, **cells: Any) -> dict[str, Any]:
    columns = "processors jobs remarks period file url terms acknowledge cite".split()
    return {"workload": name} | {column: cells.get(column) for column in columns}
