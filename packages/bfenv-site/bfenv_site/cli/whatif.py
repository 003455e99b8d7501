"""The command `bfenv report whatif`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bfenv.cli import show
from bfenv.cli.options import (
    BackendOption,
    ForceOption,
    FormatOption,
    JobsOption,
    SchedulerOption,
    check_page,
    option,
)
from bfenv.cli.show import Format
from bfenv.core.errors import BfenvError
from bfenv_site.defaults import TODAY

if TYPE_CHECKING:
    from bfenv_site.reports.whatif import WhatIf

LABEL = 28  # characters to a line of a variant's label


def whatif(
    log: str = typer.Argument(..., metavar="LOG", help="Workload: your log as SWF, or a name."),
    today: str = option(TODAY, "POLICY", "Policy closest to what your site runs today."),
    policy: list[str] | None = option(
        None, "POLICY", "Another policy to simulate; repeat for several.", "--policy", "-p"
    ),
    variant: list[str] | None = option(
        None,
        "CHANGES",
        "Several changes at once, such as processors=+10%,estimates=-30%; repeat for "
        "several variants.",
    ),
    as_is: bool = typer.Option(
        True, "--as-is/--no-as-is", help="First show the site without changes."
    ),
    processors: list[str] | None = option(
        None, "SIZE", "Size of the machine: 512, +64, -64 or +10%."
    ),
    max_estimate: str | None = option(None, "LIMIT", "Longest estimate allowed, such as 24h."),
    split_longer: bool = typer.Option(
        False, "--split-longer", help="Split jobs at --max-estimate instead of cutting them."
    ),
    estimates: list[str] | None = option(
        None, "HOW", "Change of all estimates: -30%, +50%, or a model such as exact."
    ),
    load: list[str] | None = option(None, "LOAD", "Offered load: 0.9, +10% or -10%."),
    maintenance: Path | None = option(
        None, "FILE", "Add outages: lines of begin,end, in the log's time zone."
    ),
    without: str | None = option(None, "WHAT", "outages: remove all outages of the log."),
    out: Path | None = option(None, "FILE", "Also write a page, .html.", "--out", "-o"),
    jobs: JobsOption = 1,
    backend: BackendOption = "loky",
    scheduler: SchedulerOption = None,
    format: FormatOption = Format.table,
    force: ForceOption = False,
) -> None:
    """Compare variants of your site side by side.

    Each of --processors, --max-estimate, --estimates, --load, --maintenance and --without adds a
    variant with this one change; repeat --processors, --estimates and --load for more. --variant
    makes several changes at once, in the order given: processors=, max-estimate=, split-estimate=,
    estimates=, load=, maintenance=FILE, without=outages. The table compares the mean wait with the
    same policy's first variant, job by job, with a 95 % interval (low, high) if the jobs are the
    same. The lines below the table count the jobs that no longer fit, are cut or split, or keep
    their runtime as estimate because the new one would be shorter.

    \b
    Examples:
      bfenv report whatif site.swf.gz --processors +10% --max-estimate 24h --split-longer
      bfenv report whatif site.swf.gz --variant processors=+10%,split-estimate=24h,estimates=-30%
      bfenv report whatif site.swf.gz --estimates -30% --without outages --policy easy-wfp3
    """
    from bfenv.baselines.registry import find_competitor
    from bfenv.core.files import write_atomically
    from bfenv.core.names import format_value
    from bfenv.evaluation.row import Row
    from bfenv.workloads.load import load_workload
    from bfenv_site.reports.variants import with_changes
    from bfenv_site.reports.whatif import what_if, what_if_page

    if split_longer and max_estimate is None:
        raise BfenvError("--split-longer needs --max-estimate")
    if out is not None:
        check_page(out, force)
    trace = load_workload(log)
    changes = [f"processors={size}" for size in processors or ()]
    if max_estimate is not None:
        changes.append(f"{'split' if split_longer else 'max'}-estimate={max_estimate}")
    changes += [f"estimates={change}" for change in estimates or ()]
    changes += [f"load={target}" for target in load or ()]
    if maintenance is not None:
        changes.append(f"maintenance={format_value(str(maintenance))}")
    if without is not None:
        changes.append(f"without={without}")
    variants = {}
    for text in dict.fromkeys([*changes, *(variant or ())]):
        changed = with_changes(trace, text)
        variants[text if changed.name in variants else changed.name] = changed
    names = list(dict.fromkeys(find_competitor(name).name for name in (today, *(policy or ()))))
    with show.progress() as progress:
        bar = progress.add_task("simulating", total=len(names) * (as_is + len(variants)))

        def done(row: Row) -> None:
            progress.update(bar, advance=1, description=row.workload)

        workers = {"jobs": jobs, "backend": backend, "scheduler": scheduler}
        result = what_if(trace, variants, names, as_is=as_is, done=done, **workers)
    if out is not None:  # before the table, whose reader may stop early
        write_atomically(out, what_if_page(trace.name, result).encode())
    _print(result, trace.name, format)
    if not variants and format is Format.table:
        options = "--processors, --max-estimate, --estimates, --load or --variant"
        show.prose(f"To compare, add {options}.")


def _print(result: "WhatIf", name: str, format: Format) -> None:
    from bfenv_site.reports.whatif import COLUMNS, what_if_lines

    if format in (Format.json, Format.csv):
        rows: list[dict[str, Any]] = [
            {
                "variant": row.workload,
                "policy": row.policy,
                "jobs": row.jobs,
                "processors": row.processors,
                "change": change.value,
                "change_low": change.low,
                "change_high": change.high,
                **row.metrics,
            }
            for row, change in zip(result.rows, result.changes, strict=True)
        ]
        show.rows(rows, format)
        return
    lines = what_if_lines(result)
    if format is Format.table:
        lines = [(_folded(variant), *cells) for variant, *cells in lines]
    show.table(
        [heading.replace(" ", "\n") for heading in COLUMNS],
        lines,
        format,
        numbers=len(COLUMNS) - 2,
        whole_names=True,
        title=name,
        note="\n".join([*result.notes, *([result.fit] if result.fit else [])]),
    )


def _folded(label: str) -> str:
    """Break a label of several changes between them, so that numbers have room beside it."""
    folded, length = "", 0
    for part in label.split(", "):
        breaks = length + len(part) > LABEL
        folded += (",\n" if breaks else ", ") * bool(folded) + part
        length = len(part) + (0 if breaks else length) + len(", ")
    return folded
