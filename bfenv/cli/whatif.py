"""The command `bfenv whatif`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bfenv.cli import show
from bfenv.cli.options import ForceOption, FormatOption, check_new, duration_option
from bfenv.cli.show import Format
from bfenv.core.durations import format_duration
from bfenv.core.errors import BfenvError


def whatif(
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="Workload: your log as SWF, or a name.")
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", "-p", metavar="POLICY", help="Repeat for several. Default: easy."),
    ] = None,
    as_is: Annotated[
        bool, typer.Option("--as-is", help="Show the site as it is, too; it always is.")
    ] = True,
    processors: Annotated[
        list[str] | None, typer.Option(metavar="SIZE", help="512, +64, -64 or +10%.")
    ] = None,
    max_estimate: Annotated[
        int | None, duration_option("--max-estimate", "Limit of all jobs, such as 24h.", least=1)
    ] = None,
    split_longer: Annotated[
        bool, typer.Option("--split-longer", help="Split jobs over the limit, do not cut them.")
    ] = False,
    estimates: Annotated[
        list[str] | None,
        typer.Option(metavar="HOW", help="What users ask for: -30%, +50%, or a model like exact."),
    ] = None,
    load: Annotated[
        list[float] | None, typer.Option(metavar="LOAD", help="Offered load, such as 0.9.")
    ] = None,
    maintenance: Annotated[
        Path | None, typer.Option(metavar="FILE", help="More outages: lines of begin,end.")
    ] = None,
    without: Annotated[
        str | None, typer.Option(metavar="WHAT", help="'outages': a machine without any.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Also write a page, .html.")
    ] = None,
    format: FormatOption = Format.table,
    force: ForceOption = False,
) -> None:
    """Compare variants of your site side by side.

    Each option is a variant of its own, beside the site as it is; repeat --processors, --estimates
    and --load for several. What no longer fits, is cut, split or held is printed below the table.

    \b
    Examples:
      bfenv whatif site.swf.gz --processors +10% --max-estimate 24h --split-longer
      bfenv whatif site.swf.gz --estimates -30% --without outages --policy easy --policy easy-wfp3
    """
    from bfenv.core.files import write_atomically
    from bfenv.leaderboard.site.whatif import (
        COLUMNS,
        Outcome,
        what_if,
        what_if_lines,
        what_if_notes,
        what_if_page,
    )
    from bfenv.workloads import whatif as changes
    from bfenv.workloads.load import load_workload
    from bfenv.workloads.logs.outages import load_outages

    if split_longer and max_estimate is None:
        raise BfenvError("--split-longer needs --max-estimate")
    if without not in (None, "outages"):
        raise BfenvError(f"--without must be 'outages', got {without!r:.60}")
    if out is not None:
        check_new(out, force)
    trace = load_workload(log)
    variants = {
        f"{size} processors": changes.with_processors(trace, size) for size in processors or ()
    }
    if max_estimate is not None:
        how = "split" if split_longer else "cut"
        label = f"at most {format_duration(max_estimate)}, {how}"
        variants[label] = changes.with_max_estimate(trace, max_estimate, split=split_longer)
    for text in estimates or ():
        variants[f"estimates {text}"] = changes.with_other_estimates(trace, text)
    for target in load or ():
        variants[f"load {target:g}"] = changes.with_offered_load(trace, target)
    if maintenance is not None:
        found = load_outages(maintenance, trace)
        variants[f"with {maintenance.name}"] = changes.with_maintenance(trace, found)
    if without:
        variants["without outages"] = changes.without_outages(trace)
    names = policy or ["easy"]
    with show.progress() as progress:
        bar = progress.add_task("simulating", total=len(names) * (1 + len(variants)))

        def done(outcome: Outcome) -> None:
            progress.update(bar, advance=1, description=outcome.variant)

        outcomes = what_if(trace, variants, names, done=done)
    if format in (Format.json, Format.csv):
        rows: list[dict[str, Any]] = [
            {"variant": one.variant, "policy": one.policy, "jobs": one.jobs,
             "processors": one.processors, **one.metrics}
            for one in outcomes
        ]  # fmt: skip
        show.rows(rows, format)
    else:
        note = "\n".join(what_if_notes(outcomes))
        show.table(
            COLUMNS, what_if_lines(outcomes), format, numbers=len(COLUMNS) - 2, whole_names=True,
            title=trace.name, note=note,
        )  # fmt: skip
    if out is not None:
        write_atomically(out, what_if_page(trace.name, outcomes).encode())
