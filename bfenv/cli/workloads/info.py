"""The command `bfenv workloads info`."""

import re
from pathlib import Path
from typing import Any

import bfenv.analysis.formatting as fmt
from bfenv.cli import show
from bfenv.cli.options import ForceOption, FormatOption, WorkloadArgument, check_new, option
from bfenv.cli.show import Format
from bfenv.core.durations import MINUTE
from bfenv.core.text import counted

PART = re.compile(r"\[[0-9]+:[0-9]+\]")  # in the name of some jobs of a workload
LOAD_MEANING = "work / capacity from first to last submission"


def info(
    workload: WorkloadArgument = "lublin",
    plot: Path | None = option(None, "FILE", "Also draw it, to a .png, .svg or .pdf file."),
    force: ForceOption = False,
    format: FormatOption = Format.table,
) -> None:
    """Describe a workload in numbers, or draw it.

    The numbers describe jobs, load, missing data and users' estimates. json and csv have all of
    them, with times in seconds and shares from 0 to 1.

    \b
    Examples:
      bfenv workloads info lublin
      bfenv workloads info lublin:procs=128,load=0.9,estimates=exact --plot lublin.png
      bfenv workloads info KTH-SP2-1996-2.1-cln --format json
    """
    from bfenv.workloads.load import load_workload
    from bfenv.workloads.summary import summarize

    if plot is not None:
        from bfenv.analysis.plots.figure import check_target
        from bfenv.analysis.plots.workload import write_workload

        check_target(plot)
        check_new(plot, force)
    trace = load_workload(workload)
    numbers = summarize(trace)
    if plot is not None:
        write_workload(trace, plot)
    if format is Format.json:
        show.rows([numbers], format)
    elif format is Format.csv:
        pairs = _flat(numbers)
        show.rows([{"what": path, "value": value} for path, value in pairs], format)
    else:
        title = f"{numbers['workload']}: {counted(numbers['jobs'], 'job')}"
        show.table(("what", "value"), _lines(numbers), format, title=title)
        _estimates(numbers, format)


def _flat(numbers: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return each number with its path, as in size.mean and popular.1.estimate."""
    if not isinstance(numbers, dict | list):
        return [(prefix, "" if numbers is None else numbers)]
    parts = numbers.items() if isinstance(numbers, dict) else enumerate(numbers, start=1)
    dot = f"{prefix}." if prefix else ""
    return [pair for key, value in parts for pair in _flat(value, f"{dot}{key}")]


def _lines(numbers: dict[str, Any]) -> list[tuple[str, str]]:
    from bfenv.workloads.logs.cleaning import CHANGED, DROPPED, count_reasons

    cleaning, size, gap = numbers["cleaning"], numbers["size"], numbers["gap"]
    load = numbers["offered_load"]
    begin = fmt.moment(numbers["time_of_day"] // MINUTE * MINUTE)
    begin = f"{numbers['weekday']} {begin}" if numbers["weekday"] else begin
    spread = numbers["accuracy"]
    mean, low, median, high = (f"{spread[key]:.2f}" for key in ("mean", "p10", "p50", "p90"))
    lines = [
        ("machine", counted(numbers["processors"], "processor")),
        ("span", f"{fmt.duration(numbers['span'])}, from {begin}"),
        ("offered load", "all jobs at once" if load is None else f"{load:.3f}, {LOAD_MEANING}"),
        ("users", _users(numbers)),
        ("size", f"mean {size['mean']:,.1f}, median {size['p50']:,.0f}, up to {size['max']:,.0f}"),
        ("", f"{fmt.percent(numbers['serial'])} serial"),
        ("", f"{fmt.percent(numbers['parallel_powers_of_two'])} parallel, a power of two"),
        ("runtime", _times(numbers["runtime"])),
        ("estimate", _times(numbers["estimate"])),
        (
            "runtime / estimate",
            f"mean {mean}, median {median}, from {low} (10 %) to {high} (90 %)",
        ),
        ("", f"{fmt.percent(numbers['exact'])} exact"),
        ("", f"{fmt.percent(numbers['crashed'])} appear to have crashed"),
    ]
    if gap is not None:
        lines.append(("between arrivals", _times(gap)))
    if numbers["high_priority"]:
        lines.append(("high priority", f"{fmt.percent(numbers['high_priority'])} of the jobs"))
    if numbers["requested_start"]:
        lines.append(("requested start", f"{fmt.percent(numbers['requested_start'])} of the jobs"))
    is_part = PART.search(numbers["workload"]) is not None  # counted when the log was read
    for label, reasons in (("dropped", DROPPED), ("changed", CHANGED)):
        counts = [f"{count:,} {reason}" for count, reason in count_reasons(cleaning, reasons)]
        lines += _column(
            f"{label}, whole log" if is_part and counts else label, counts or ["nothing"]
        )
    if numbers["missing"]:
        missing = numbers["missing"]
        everywhere = ", ".join(name for name, share in missing.items() if share == 1)
        cells = [f"{fmt.percent(share)} {name}" for name, share in missing.items() if share < 1]
        lines += _column("missing in the log", [everywhere, *cells] if everywhere else cells)
    lines.append(("hash", numbers["hash"][:16]))
    return lines


def _column(label: str, cells: list[str]) -> list[tuple[str, str]]:
    return [(label if i == 0 else "", cell) for i, cell in enumerate(cells)]


def _users(numbers: dict[str, Any]) -> str:
    if not numbers["users"]:
        return "unknown"
    users = f"{numbers['users']:,}"
    if numbers["no_user"]:
        users += f", {fmt.percent(numbers['no_user'])} of the jobs without"
    return users


def _times(spread: dict[str, float]) -> str:
    mean, median, most = (fmt.duration(spread[key]) for key in ("mean", "p50", "max"))
    return f"mean {mean}, median {median}, up to {most}"


def _estimates(numbers: dict[str, Any], format: Format) -> None:
    total, lines = 0.0, []
    for rank, value in enumerate(numbers["popular"], start=1):
        total += value["share"]
        lines.append(
            (
                str(rank),
                fmt.compound_duration(value["estimate"]),
                f"{value['jobs']:,}",
                fmt.percent(value["share"]),
                fmt.percent(total),
            )
        )
    count = numbers["distinct_estimates"]
    print(f"The most popular of {count:,} estimates:\n" if count > 1 else "The only estimate:\n")
    show.table(("", "estimate", "jobs", "share", "so far"), lines, format, numbers=4)
