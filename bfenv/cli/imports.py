"""The command that makes a workload of a cluster's own log."""

import shlex
import sys
import warnings
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bfenv.cli import show
from bfenv.cli.options import check_new
from bfenv.core.durations import parse_duration
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace


class Source(StrEnum):
    """What kinds of log there are."""

    sacct = "sacct"
    csv = "csv"
    parquet = "parquet"


class Unit(StrEnum):
    """What a processor is."""

    cpus = "cpus"
    nodes = "nodes"


class Overrun(StrEnum):
    """What becomes of a job that ran longer than its limit."""

    kill = "kill"
    extend = "extend"


def import_(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The log, gzipped or not.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="File to write, .swf or .swf.gz.", show_default=False),
    ],
    source: Annotated[Source, typer.Option("--from", help="What the log is.")] = Source.sacct,
    processors: Annotated[
        int | None, typer.Option(help="How many the machine has; without it, a hint.")
    ] = None,
    timezone: Annotated[
        str, typer.Option(help="Of the cluster, and of local times in the log.")
    ] = "UTC",
    columns: Annotated[
        str | None,
        typer.Option("--map", help="What the columns of csv and parquet are: field=column,..."),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Of csv; without it, a guess.")] = None,
    unit: Annotated[Unit, typer.Option(help="Of sacct: what a processor is.")] = Unit.cpus,
    eligible: Annotated[
        bool, typer.Option("--eligible", help="Of sacct: submitted when no longer held.")
    ] = False,
    longest: Annotated[
        str | None,
        typer.Option(help="Limit of jobs without one, as 90m, 2d or 1-12:00.  [default: runtime]"),
    ] = None,
    overrun: Annotated[
        Overrun, typer.Option(help="Beyond the limit: cut the runtime, or raise the limit.")
    ] = Overrun.kill,
    skip: Annotated[bool, typer.Option("--skip", help="Skip malformed lines.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Make a workload of your cluster's own log.

    It says what was dropped and why. Users become numbers; no name gets into the file. Slurm's
    accounting is printed by:

    \b
      SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt \\
        -o JobID,User,Group,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes

    The fields of csv and parquet are submit, size, and runtime or start and end; and, if there
    are any, estimate, user, group, queue, partition. Times are ISO 8601 or seconds since 1970,
    durations seconds or D-HH:MM:SS.

    \b
    Examples:
      bfenv workloads import dump.txt --out site.swf.gz --processors 4096
      bfenv workloads import --from sacct dump.txt --out site.swf.gz --processors 64 --unit nodes --timezone Europe/Prague
      bfenv workloads import --from csv jobs.csv --out site.swf.gz --processors 512 --map submit=Submitted,size=CPUs,start=Begin,end=End
    """  # noqa: E501
    from bfenv.workloads.logs.swf import write_swf

    if not out.name.endswith((".swf", ".swf.gz")):
        raise BfenvError(f"{out}: the name of the file to write ends in .swf or .swf.gz")
    check_new(out, force)
    options = {
        "processors": processors,
        "timezone": timezone,
        "longest": _seconds(longest),
        "overrun": overrun.value,
        "on_error": "skip" if skip else "raise",
    }
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        if source is Source.sacct:
            if columns is not None or delimiter is not None:
                raise BfenvError("--map and --delimiter are for --from csv")
            from bfenv.workloads.logs.slurm import read_sacct

            trace = read_sacct(log, unit=unit.value, eligible=eligible, **options)
        else:
            if eligible or unit is not Unit.cpus:
                raise BfenvError("--eligible and --unit are for --from sacct")
            from bfenv.workloads.logs.parquet import is_parquet
            from bfenv.workloads.logs.table import read_columns

            if is_parquet(log) is not (source is Source.parquet):
                raise BfenvError(f"{log}: not {source.value}")
            trace = read_columns(log, _mapping(columns), delimiter=delimiter, **options)
        write_swf(trace, out)
    for warning in noted:
        print(f"bfenv: {warning.message}", file=sys.stderr)
    _report(log, trace)
    print(
        f"{out}: {len(trace):,} jobs on {trace.processors:,} processors in "
        f"{show.duration(int(trace.jobs.submit[-1]))}, offered load {trace.offered_load:.2f}"
    )
    print(f"Next: bfenv evaluate --workload {shlex.quote(str(out))}")


def _mapping(text: str | None) -> dict[str, str]:
    """The map in "field=column,field=column"."""
    if text is None:
        raise BfenvError("say what the columns are, e.g. --map submit=Submitted,size=CPUs,...")
    mapping = {}
    for item in text.split(","):
        field, equals, column = (part.strip() for part in item.partition("="))
        if not equals or not column:
            raise BfenvError(f"--map: {item!r} is not field=column")
        if field in mapping:
            raise BfenvError(f"--map: {field} is given twice")
        mapping[field] = column
    return mapping


def _seconds(text: str | None) -> int | None:
    try:
        return None if text is None else parse_duration(text)
    except BfenvError as error:
        raise BfenvError(f"--longest: {error}") from None


def _report(log: Path, trace: Trace) -> None:
    """What became of the lines: a table of the counts that are not zero."""
    from bfenv.workloads.logs.cleaning import CHANGED, DROPPED, count_reasons

    counts = asdict(trace.cleaning)
    lines = [("jobs", f"{len(trace):,}", "")]
    for what, reasons in (("dropped", DROPPED), ("of the jobs", CHANGED)):
        lines += [(what, f"{count:,}", why) for count, why in count_reasons(counts, reasons)]
    total = len(trace) + trace.cleaning.dropped
    print(f"{log.name}: {total:,} lines\n")
    show.table(("", "lines", "why"), lines)
