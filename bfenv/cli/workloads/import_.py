"""The command `bfenv workloads import`."""

import shlex
import sys
import warnings
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bfenv.analysis.formatting import duration
from bfenv.cli import show
from bfenv.cli.options import ForceOption, check_new, choices, duration_option
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace


class Source(StrEnum):
    """Kinds of logs."""

    sacct = "sacct"
    csv = "csv"
    parquet = "parquet"


class Unit(StrEnum):
    """What counts as a processor."""

    cpus = "cpus"
    nodes = "nodes"


class Overrun(StrEnum):
    """What to do with a job that ran longer than its limit."""

    kill = "kill"
    extend = "extend"


def import_log(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The log, gzipped or not.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File to write: .swf or .swf.gz.")
    ],
    source: Annotated[
        Source, typer.Option("--from", metavar="KIND", help=f"Kind of log: {choices(Source)}.")
    ] = Source.sacct,
    processors: Annotated[
        int | None,
        typer.Option(metavar="N", help="Size of the machine. Without it, you get a suggestion."),
    ] = None,
    timezone: Annotated[
        str, typer.Option(metavar="ZONE", help="Time zone of the cluster and of local times.")
    ] = "UTC",
    columns: Annotated[
        str | None,
        typer.Option("--map", metavar="MAP", help="Columns of csv and parquet: field=column,..."),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(metavar="CHAR", help="Delimiter of csv. Default: guessed.")
    ] = None,
    unit: Annotated[
        Unit,
        typer.Option(metavar="UNIT", help=f"What counts as a processor (sacct): {choices(Unit)}."),
    ] = Unit.cpus,
    eligible: Annotated[
        bool, typer.Option("--eligible", help="Take the eligible time as submit time (sacct).")
    ] = False,
    longest: Annotated[
        int | None,
        duration_option(
            "--longest",
            "Limit of jobs without one, such as 2d or 1-12:00:00.  [default: their runtime]",
            least=1,
        ),
    ] = None,
    overrun: Annotated[
        Overrun,
        typer.Option(
            metavar="RULE", help="Beyond the limit, cut the job (kill) or raise the limit (extend)."
        ),
    ] = Overrun.kill,
    skip: Annotated[bool, typer.Option("--skip", help="Skip malformed lines.")] = False,
    force: ForceOption = False,
) -> None:
    """Make a workload from your cluster's log.

    The command prints what was dropped and why. Users become numbers, and the file contains no
    names. This prints Slurm's accounting:

    \b
      SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt \\
        -o JobID,User,Group,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes

    The fields of csv and parquet are submit, size, and either runtime or start and end; optional
    fields are estimate, user, group, queue and partition. Times are ISO 8601 or seconds since 1970;
    durations are seconds, or like 90m, 2d or 1-12:00:00.

    \b
    Examples:
      bfenv workloads import dump.txt --out site.swf.gz --processors 4096
      bfenv workloads import --from sacct dump.txt --out site.swf.gz \\
        --processors 64 --unit nodes --timezone Europe/Prague
      bfenv workloads import --from csv jobs.csv --out site.swf.gz \\
        --processors 512 --map submit=Submitted,size=CPUs,start=Begin,end=End
    """  # noqa: E501  # a list of columns that can be copied
    from bfenv.workloads.logs.swf import write_swf

    if not out.name.endswith((".swf", ".swf.gz")):
        raise BfenvError(f"{out}: the name of the output file must end in .swf or .swf.gz")
    check_new(out, force)
    options: dict[str, Any] = {
        "processors": processors,
        "timezone": timezone,
        "longest": longest,
        "overrun": overrun.value,
        "on_error": "skip" if skip else "raise",
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trace = _read_log(log, source, columns, delimiter, unit, eligible, **options)
        write_swf(trace, out)
    for warning in caught:
        print(f"bfenv: {warning.message}", file=sys.stderr)
    _report(log, trace)
    print(
        f"{out}: {len(trace):,} jobs on {trace.processors:,} processors in "
        f"{duration(int(trace.jobs.submit[-1]))}, offered load {trace.offered_load:.2f}"
    )
    print(f"Next: bfenv evaluate --workload {shlex.quote(str(out))}")


def _read_log(
    log: Path,
    source: Source,
    columns: str | None,
    delimiter: str | None,
    unit: Unit,
    eligible: bool,
    **options: Any,
) -> Trace:
    """Read the log; `options` are those of every kind of log."""
    if source is Source.sacct:
        if columns is not None or delimiter is not None:
            raise BfenvError("--map and --delimiter need --from csv or --from parquet")
        from bfenv.workloads.logs.slurm import read_sacct

        return read_sacct(log, unit=unit.value, eligible=eligible, **options)
    if eligible or unit is not Unit.cpus:
        raise BfenvError("--eligible and --unit need --from sacct")
    from bfenv.workloads.logs.parquet import is_parquet
    from bfenv.workloads.logs.table import read_columns

    if is_parquet(log) is not (source is Source.parquet):
        raise BfenvError(f"{log} is not a {source.value} file")
    return read_columns(log, _mapping(columns), delimiter=delimiter, **options)


def _mapping(text: str | None) -> dict[str, str]:
    """Read a map like "field=column,field=column"."""
    if text is None:
        raise BfenvError("the columns are unknown; add --map submit=Submitted,size=CPUs,...")
    mapping = {}
    for item in text.split(","):
        field, equals, column = (part.strip() for part in item.partition("="))
        if not equals or not column:
            raise BfenvError(f"--map: {item!r} is not field=column")
        if field in mapping:
            raise BfenvError(f"--map: {field} is given twice")
        mapping[field] = column
    return mapping


def _report(log: Path, trace: Trace) -> None:
    """Print how many lines became jobs, were dropped or were changed, and why."""
    from bfenv.workloads.logs.cleaning import CHANGED, DROPPED, count_reasons

    counts = asdict(trace.cleaning)
    lines = [("jobs", f"{len(trace):,}", "")]
    for what, reasons in (("dropped", DROPPED), ("of the jobs", CHANGED)):
        lines += [(what, f"{count:,}", why) for count, why in count_reasons(counts, reasons)]
    total = len(trace) + trace.cleaning.dropped
    print(f"{log.name}: {total:,} lines\n")
    show.table(("", "lines", "why"), lines)
