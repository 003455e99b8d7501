"""The command `bfenv workloads import`."""

import math
import shlex
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

import bfenv_site.cli.import_options as io
from bfenv.analysis.formatting import duration, offered_load
from bfenv.cli import show
from bfenv.cli.options import ForceOption, check_new, choices, option
from bfenv.core.durations import HOUR
from bfenv.core.errors import BfenvError
from bfenv.core.text import counted, one_line

if TYPE_CHECKING:
    from bfenv.core.jobs import Trace
    from bfenv_site.logs.selection import Selection

EXAMPLE = 54  # characters of a line that is shown as an example


def import_log(
    log: Path = typer.Argument(..., metavar="LOG", help="The log, gzipped or not."),
    out: Path = option(..., "FILE", "File to write: .swf or .swf.gz.", "--out", "-o"),
    kind: str = option(
        "auto",
        "KIND",
        f"Kind of log: {choices(io.Source)}; or a public log by name, see above.",
        "--from",
    ),
    processors: str | None = option(
        None,
        "N",
        "Size of the machine, or with --split-partitions NAME=N,NAME=N. Without it, you "
        "get a suggestion.",
    ),
    timezone: str | None = option(
        None, "ZONE", "Time zone of the cluster and of local times.  [default: UTC]"
    ),
    partition: list[str] | None = option(None, "NAME", "Only this partition; repeat for several."),
    cluster: str | None = option(None, "NAME", "Only this cluster (column Cluster)."),
    since: str | None = option(None, "TIME", "Only jobs submitted at this time or later."),
    until: str | None = option(None, "TIME", "Only jobs submitted before this time."),
    split: bool = typer.Option(
        False, "--split-partitions", help="Write a file for each partition: OUT-NAME.swf."
    ),
    columns: str | None = option(
        None, "MAP", "Columns of csv and parquet: field=column,...", "--map"
    ),
    delimiter: str | None = option(None, "CHAR", "Delimiter of csv and sacct. Default: detected."),
    resource: io.Resource = option(
        io.Resource.cores, "WHAT", f"What a processor is (sacct, xdmod): {choices(io.Resource)}."
    ),
    capacity: str | None = option(None, "TEXT", "What partitions have, for --resource dominant."),
    fields: str | None = option(None, "LIST", "Columns of sacct -n, as given to -o."),
    eligible: bool = typer.Option(
        False, "--eligible", help="Take the eligible time as submit time (sacct, xdmod)."
    ),
    longest: str | None = option(
        None,
        "LIMIT",
        "Limit of jobs without one, such as 2d or 1-12:00:00, or of their partitions: "
        "gpu=2d,long=14d.  [default: the longest seen in their partition]",
    ),
    overrun: io.Overrun = option(
        io.Overrun.kill,
        "RULE",
        "If a job outlives its limit, cut the job (kill) or raise the limit (extend).",
    ),
    outages: str | None = option(
        None, "FILE", "Outages: lines of begin,end,processors, or Slurm's events; or 'find' them."
    ),
    ids: Path | None = option(
        None, "FILE", "Also write each job's id in the log; jobs count from 0."
    ),
    users: Path | None = option(
        None,
        "FILE",
        "Also write the names of users and groups to this file, which only you can read.",
    ),
    names: bool = typer.Option(
        True, help="Keep the names of partitions and queues (not of users)."
    ),
    skip: bool = typer.Option(False, "--skip", help="Skip malformed records, each as a whole."),
    force: ForceOption = False,
) -> None:
    """Convert your cluster's accounting log to a workload.

    The command prints what was dropped and why, and the processor hours of the log and of the
    workload. Users and groups become numbers, and the workload contains none of their names. To
    find a user by number, keep the names with --users FILE.

    The kind of log is recognized. This command prints Slurm's accounting:

    \b
      SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-01-01 -E now > dump.txt \\
        -o JobID,User,Group,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes

    Add Cluster and AllocTRES for --cluster and for --resource gpus, memory, billing and dominant.
    The last counts each job by the resource of which it has the largest share: --capacity
    "gpu: cpu=512,mem=4T,gpu=64; long: cpu=4096,mem=16T". Partitions share one machine unless you
    choose one, or split them; so do clusters.

    The fields of csv and parquet are submit, size, and either runtime or start and end; optional
    fields are estimate, user, group, account, queue, partition, cluster, nodes and job. Times are
    ISO 8601 or seconds since 1970; durations are seconds, or like 90m, 2d or 1-12:00:00. A unit may
    follow a column: estimate=time_limit:min.

    --from fdata, pm100, supercloud or kestrel knows the columns, units and machine of that public
    log. A file named in $BFENV_PRESETS adds others.

    \b
    Examples:
      bfenv workloads import dump.txt --out site.swf.gz --processors 4096
      bfenv workloads import dump.txt --out gpu.swf.gz --partition gpu --processors 64 \\
        --resource nodes --timezone Europe/Prague --outages find
      bfenv workloads import --from csv jobs.csv --out site.swf.gz \\
        --processors 512 --map submit=Submitted,size=CPUs,start=Begin,end=End
    """  # noqa: E501  # a list of columns that can be copied
    from bfenv.workloads.logs.swf import write_swf
    from bfenv_site.logs.formats import find_format, may_have_local_times
    from bfenv_site.logs.presets import find_preset
    from bfenv_site.logs.selection import Selection
    from bfenv_site.logs.table import is_parquet

    if not out.name.endswith((".swf", ".swf.gz")):
        raise BfenvError(f"{out}: the name of the output file must end in .swf or .swf.gz")
    check_new(out, force)
    mapping = None if columns is None else io.read_mapping(columns)
    if (preset := find_preset(kind)) is not None:
        mapping = preset.columns | (mapping or {})
        processors, timezone = processors or str(preset.processors), timezone or preset.timezone
        source = io.Source.parquet if is_parquet(log) else io.Source.csv
    else:
        source = io.source_of(kind)
    if source is io.Source.auto:
        source = io.Source(find_format(log, fields))
    options = io.checked_options(
        source,
        mapping=mapping,
        delimiter=delimiter,
        fields=fields,
        capacity=capacity,
        eligible=eligible or None,
        resource=None if resource is io.Resource.cores else resource.value,
    )
    selection = Selection(tuple(partition or ()), cluster, since, until, ids, users, names)
    common: dict[str, Any] = {
        "timezone": timezone or "UTC",
        "longest": longest,
        "overrun": overrun.value,
        "on_error": "skip" if skip else "raise",
    }
    is_local = timezone is None and source not in io.WITH_EPOCHS and may_have_local_times(log)
    sizes = io.read_sizes(processors, split)
    inputs = {Path(file).resolve() for file in (log, outages) if file is not None}
    traces = {}
    # All are read before the first file is written.
    for part, path, part_selection in _outputs(
        out, sizes if split else [""], selection, inputs, force
    ):
        common |= {"selection": part_selection, "processors": sizes.get(part)}
        traces[path, part_selection.users] = _import(log, source, options, outages, common)
    for (path, private), trace in traces.items():
        write_swf(trace, path)
        _report(log, trace)
        _tell(path, trace, is_local)
        if preset is not None:
            show.text(f"A processor is one of the {preset.size_of}. Cite: {preset.cite}.")
        if private is not None:
            show.text(f"{private}: the names of users and groups; only you can read it")


def _outputs(
    out: Path, parts: Iterable[str], selection: "Selection", inputs: Collection[Path], force: bool
) -> Iterator[tuple[str, Path, "Selection"]]:
    """Yield each part with its file and its selection.

    Raises BfenvError if files of a part are the same, are read, or exist.
    """
    for part in parts:
        path, part_selection = io.part_path(out, part), io.selection_of(selection, part)
        files = [
            Path(file)
            for file in (path, part_selection.ids, part_selection.users)
            if file is not None
        ]
        if len(set(files)) < len(files):
            raise BfenvError(f"--out, --ids and --users must be different files, got {files[-1]}")
        for file in files:
            if file.resolve() in inputs:  # --force must not overwrite what is read
                raise BfenvError(f"{file} is read by this import; write to another file")
            check_new(file, force)
        yield part, path, part_selection


def _import(
    log: Path, kind: io.Source, options: dict[str, Any], outages: str | None, common: dict[str, Any]
) -> "Trace":
    """Read the log, add outages, and print the warnings."""
    from bfenv.workloads.logs.outages import find_outages
    from bfenv_site.logs.formats import read_log
    from bfenv_site.logs.outage_files import load_outages

    if kind in (io.Source.csv, io.Source.parquet) and "mapping" not in options:
        raise BfenvError(io.unmapped(log, kind, options.get("delimiter")))
    with show.progress() as progress, warnings.catch_warnings(record=True) as caught:
        progress.add_task(f"reading {log.name}"[:24], total=None)
        warnings.simplefilter("always")
        trace = read_log(log, kind.value, **options, **common)
        if outages == "find":
            trace = replace(trace, outages=find_outages(trace))
        elif outages is not None:
            resource = options.get("resource", "cores")
            windows = load_outages(outages, trace, common["timezone"], resource)
            trace = replace(trace, outages=windows)
    for warning in caught:
        show.text(f"bfenv: {warning.message}", file=sys.stderr)
    return trace


def _tell(out: Path, trace: "Trace", is_local: bool) -> None:
    """Print what was written, what to know about it, and what to do next."""
    from bfenv.workloads.logs.header import estimates_filled_in, read_labels
    from bfenv.workloads.logs.outages import outage_texts

    show.text(
        f"{out}: {counted(len(trace), 'job')} on {counted(trace.processors, 'processor')} in "
        f"{duration(int(trace.jobs.submit[-1]))}, {offered_load([trace.offered_load])}"
    )
    if 1 < trace.offered_load < math.inf:
        show.text(
            "The jobs ask for more than the machine can do: is its size right, in the unit of the "
            "jobs' sizes? See --processors and --resource."
        )
    missing = estimates_filled_in(trace.header)
    if missing == len(trace) and (trace.jobs.estimate == trace.runtime).all():
        show.text(
            "No job has a limit: policies will know each runtime exactly, and the simulated waits "
            "will be too short. Add the limits (TimelimitRaw of sacct), or see --longest."
        )
    elif missing:
        show.text(
            f"{counted(missing, 'job')} without a limit; the longest of the partition stands in "
            "for it: see --longest."
        )
    if is_local:
        show.text("Local times were read as UTC: see --timezone.")
    if trace.outages:
        length = duration(sum(outage.end - outage.begin for outage in trace.outages))
        count = len(trace.outages)
        show.text(
            f"{count} outages, {length} in all, are in the file's header."
            if count > 1
            else f"An outage of {length} is in the file's header."
        )
        show.text("\n".join(f"  {text}" for text in outage_texts(trace, trace.outages, most=5)))
    clusters = read_labels(trace.header).get("Clusters", "").split()
    if clusters:
        show.text(_shared("clusters", clusters, "--cluster"))
    partitions = [line.split()[-1] for line in trace.header if line.startswith("Partition:")]
    if len(partitions) > 1:
        show.text(_shared("partitions", partitions, "--partition and --split-partitions"))
    show.text(f"Next: bfenv report {shlex.quote(str(out))} --out report.html")


def _shared(kind: str, names: list[str], options: str) -> str:
    """Say whose jobs are on one machine, and which options take them apart."""
    names_text = ", ".join(names[:8]) + ", ..." * (len(names) > 8)
    return f"Jobs of {len(names)} {kind} share one machine here ({names_text}): see {options}."


def _report(log: Path, trace: "Trace") -> None:
    """Print what became of each line, why, and an example; and that no work was lost."""
    from bfenv.workloads.logs.cleaning import CHANGED, DROPPED, Imported, counts_of

    cleaning = trace.cleaning
    assert isinstance(cleaning, Imported)
    counts = counts_of(cleaning)
    lines = [("jobs", f"{len(trace):,}", "")]
    for fate, reasons in (("dropped", DROPPED), ("of the jobs", CHANGED)):
        for reason, text in reasons.items():
            if counts[reason]:
                lines.append((fate, f"{counts[reason]:,}", text))
            if reason in cleaning.examples:
                lines.append(("", "", f"  {one_line(cleaning.examples[reason])[:EXAMPLE]}"))
    total = len(trace) + cleaning.dropped + cleaning.continued
    encoding = "" if cleaning.encoding == "utf-8" else f", read as {cleaning.encoding}"
    show.text(f"{log.name}: {counted(total, 'line')}{encoding}\n")
    show.table(("", "lines", "why"), lines)
    work = int(np.dot(trace.jobs.size, trace.runtime))
    lost = {
        (DROPPED | CHANGED)[reason]: seconds for reason, seconds in cleaning.work.items() if seconds
    }
    whole = work + sum(lost.values())
    show.text(f"Processor hours: {_hours(whole)} in the log, {_hours(work)} in the workload.")
    for text, seconds in lost.items():
        show.text(f"  {_hours(seconds)} {text}")


def _hours(seconds: int) -> str:
    return f"{seconds / HOUR:,.2f}"
