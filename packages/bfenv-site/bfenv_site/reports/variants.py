"""Changes to a site: another machine, other limits and requests, other loads and outages.

Each function takes a trace and returns the changed one and notes: a sentence for each way in which
jobs were left out, cut, split or held. `with_changes` makes several changes of the same site.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bfenv.core.arguments import check_integer
from bfenv.core.durations import parse_limit
from bfenv.core.errors import UnknownNameError, WorkloadError
from bfenv.core.jobs import SIZES_LABEL, Trace, check_trace
from bfenv.core.names import NUMBER, read_value, split_items
from bfenv.core.partitions import (
    is_partitioned,
    machine_of_jobs,
    partitions_of,
    resized_partitions,
)
from bfenv.core.text import counted
from bfenv.workloads.arguments import check_load
from bfenv.workloads.logs.outages import outage_texts, united_outages
from bfenv.workloads.requests import with_estimates
from bfenv.workloads.transform import with_load
from bfenv_site.logs.outage_files import load_outages

SIZE = re.compile(r"([+-]?)([0-9]{1,15}(?:\.[0-9]+)?)\s*(%?)")
LESS = re.compile(r"([+-])([0-9]{1,3}(?:\.[0-9]+)?)\s*%")
IN_WORDS = re.compile(r"(?:users ask\s+)?([0-9][0-9.]*)\s*%\s*(less|more)")


class Changed(NamedTuple):
    """A changed trace, notes on its jobs, and what was changed, in a few words."""

    trace: Trace
    notes: tuple[str, ...]
    name: str = ""  # of the variant, if `with_changes` made it


def with_changes(trace: Trace, text: str) -> Changed:
    """Make several changes, one after the other.

    Args:
        trace: The jobs and the machine to change.
        text: Changes separated by commas: "processors=SIZE", "max-estimate=LIMIT",
            "split-estimate=LIMIT" which splits the jobs, "estimates=HOW", "load=LOAD",
            "maintenance=FILE", "without=outages". A value with a comma or parenthesis in it needs
            quotes.

    Returns:
        The changed trace, with notes on what the changes did to the jobs.

    Raises:
        BfenvError: If there is no such change, or one cannot be made.
    """
    check_trace(trace)
    notes: tuple[str, ...] = ()
    names = []
    try:
        items = split_items(text) or [""]
    except ValueError as cause:
        raise WorkloadError(f"cannot read {text!r}: {cause}") from None
    for item in items:
        name, equals, value = (part.strip() for part in item.partition("="))
        if name not in CHANGES:
            raise UnknownNameError("change", name, tuple(CHANGES))
        if not equals or not value:
            raise WorkloadError(f"{name} needs a value, like {name}={CHANGES[name].example}")
        unquoted = read_value(value) if value.startswith(("'", '"')) else value
        changed = CHANGES[name].make(trace, unquoted)
        names.append(CHANGES[name].name(unquoted.strip(), trace, changed.trace))
        trace, notes = changed.trace, notes + changed.notes
    return Changed(trace, notes, ", ".join(names))


def with_processors(trace: Trace, size: str) -> Changed:
    """Change the size of the machine.

    Outages of the whole machine stay so; those of a part are of as many processors as before.
    Partitions keep their shares of the machine.

    Raises WorkloadError if the text is not a size, the machine would have no processor, or no job
    fits.

    * `size`: "512" processors, "+64" or "-64" of them more or less, or "+10%".
    """
    check_trace(trace)
    match = SIZE.fullmatch(size.strip())
    if not match:
        raise WorkloadError(f"processors must be like 512, +64 or +10%, got {size!r:.60}")
    sign, number, percent = match[1], float(match[2]), match[3]
    if percent and not sign:
        raise WorkloadError(f"processors: write +{size} or -{size}")
    change = trace.processors * number / 100 if percent else number
    total = change if not sign else trace.processors + (change if sign == "+" else -change)
    processors = round(total)
    if not 1 <= processors <= 2**53:
        raise WorkloadError(f"processors: {size} leaves {processors:,} of {trace.processors:,}")
    trace, fits = _resized(trace, processors)
    if not fits.any():
        raise WorkloadError(f"{trace.name}: no job fits on {processors:,} processors")
    outages = []
    for outage in trace.outages:
        whole = outage.processors == trace.processors
        taken = processors if whole else min(outage.processors, processors)
        outages.append(outage._replace(processors=taken))
    lost = int(np.sum(~fits))
    place = "their partition" if is_partitioned(trace) else f"{processors:,} processors"
    larger = f"{counted(lost, 'job is', 'jobs are')} larger than {place}"
    changed = trace.select(fits, processors=processors, outages=tuple(outages))
    return Changed(changed, (f"{larger} and left out",) if lost else ())


def _resized(trace: Trace, processors: int) -> tuple[Trace, np.ndarray]:
    """Return a trace with its partitions resized, and which jobs fit, (n,) bool."""
    if not is_partitioned(trace):
        return trace, trace.jobs.size <= processors
    partitions = partitions_of(trace)
    if partitions.shared:
        raise WorkloadError(f"{trace.name}: its partitions share nodes, so it has no other size")
    factor = processors / trace.processors
    sizes = {machine.name: int(machine.processors * factor) for machine in partitions.machines}
    place = machine_of_jobs(trace, partitions)
    fits = trace.jobs.size <= np.array([*sizes.values()])[place]
    header = [
        resized_partitions(line, sizes) if line.startswith(SIZES_LABEL) else line
        for line in trace.header
    ]
    return replace(trace, header=tuple(header)), fits


def with_max_estimate(trace: Trace, text: str, *, split: bool = False) -> Changed:
    """Limit the estimates.

    A job that runs longer is cut at the limit, or with `split` becomes several jobs of at most the
    limit. The next piece of a job is submitted when the one before could have ended at the
    earliest, so pieces wait in line but need not wait for each other.

    Raises WorkloadError if the text is not a duration with a unit, or below a second.

    * `text`: the limit, such as "24h".
    * `split`: split longer jobs instead of cutting them.
    """
    check_trace(trace)
    limit = parse_limit("max-estimate", text, WorkloadError)
    check_integer("max_estimate", limit, 1, error=WorkloadError)
    jobs, longer = trace.jobs, trace.runtime > limit
    estimate = np.minimum(jobs.estimate, limit)
    lower = int(np.sum(jobs.estimate > limit))
    fewer = f"{counted(lower, 'job asks', 'jobs ask')} for less than before"
    notes = [fewer if lower else "no job asks for more"]
    if not split:
        if longer.any():
            cut_short = counted(int(longer.sum()), "job is", "jobs are")
            notes.append(f"{cut_short} cut at the limit, with work left undone")
        runtime = np.minimum(trace.runtime, limit)
        cut = replace(trace, jobs=jobs._replace(estimate=estimate), runtime=runtime)
        return Changed(cut, tuple(notes))
    pieces = -(-trace.runtime // limit)
    if longer.any():
        becomes = counted(int(longer.sum()), "job becomes", "jobs become")
        notes.append(f"{becomes} {pieces[longer].sum():,} jobs, and each part waits separately")
    of = np.repeat(np.arange(len(trace)), pieces)
    before = limit * (np.arange(len(of)) - np.repeat(np.cumsum(pieces) - pieces, pieces))
    runtime = np.minimum(trace.runtime[of] - before, limit)
    parts = trace.select(of, jobs._replace(estimate=estimate), runtime=runtime)
    submit = parts.jobs.submit + before
    order = np.argsort(submit, kind="stable")
    return Changed(parts.select(order, parts.jobs._replace(submit=submit)), tuple(notes))


def with_other_estimates(trace: Trace, text: str) -> Changed:
    """Let users ask for more or less time.

    Raises BfenvError if it is neither.

    * `text`: "-30%" or "+50%" of what they ask for, but never less than the job runs, also written
      "30 % less"; or a model of `with_estimates` without parameters, such as "exact".
    """
    check_trace(trace)
    text = _signed(text).strip()
    match = LESS.fullmatch(text)
    if not match:
        number = text.rstrip("% ")
        if NUMBER.fullmatch(number):
            raise WorkloadError(f"estimates: write +{number}% or -{number}%, got {text!r}")
        return Changed(with_estimates(trace, text), ())
    factor = _factor(match)
    if factor <= 0:
        raise WorkloadError(f"estimates: a decrease must be below 100%, got {text!r:.60}")
    scaled = np.rint(trace.jobs.estimate * factor).astype(np.int64)
    estimate = np.maximum(scaled, trace.runtime)
    count = int(np.sum(scaled < trace.runtime))
    notes = (f"{counted(count, 'job keeps', 'jobs keep')} the runtime as estimate",)
    changed = replace(trace, jobs=trace.jobs._replace(estimate=estimate))
    return Changed(changed, notes if count else ())


def with_offered_load(trace: Trace, text: str) -> Changed:
    """Let jobs come faster or slower, see `with_load`; the text is like "0.9", "+10%" or "-10%"."""
    check_trace(trace)
    try:
        match = LESS.fullmatch(text.strip())
        if match and _factor(match) <= 0:
            raise WorkloadError(f"load: a decrease must be below 100%, got {text!r:.60}")
        load = trace.offered_load * _factor(match) if match else check_load("load", float(text))
    except WorkloadError:
        raise
    except ValueError:
        raise WorkloadError(f"load must be like 0.9, +10% or -10%, got {text!r:.60}") from None
    faster = load > trace.offered_load
    pace, days = ("faster", "shorter") if faster else ("slower", "longer")
    notes = (f"jobs come {pace} than in the log, so days are {days}",)
    return Changed(with_load(trace, load), notes)


def _factor(match: re.Match[str]) -> float:
    return 1 + (1 if match[1] == "+" else -1) * float(match[2]) / 100


def with_maintenance(trace: Trace, path: str) -> Changed:
    """Add the outages in a file, see `load_outages`, to those that the trace has."""
    check_trace(trace)
    outages = load_outages(path, trace)
    notes = [f"outage {text}" for text in outage_texts(trace, outages)]
    united, cut = united_outages({*trace.outages, *outages}, trace.processors)
    if set(united) == set(united_outages(trace.outages, trace.processors)[0]):
        notes.append("the log already has outages at all times of the new ones, so nothing changes")
    elif any(
        outage.begin < logged_outage.end and logged_outage.begin < outage.end
        for outage in outages
        for logged_outage in trace.outages
    ):
        notes.append("new outages that overlap outages of the log are merged with them")
    if cut:
        notes.append("outages that take more than the machine has count for the whole machine")
    return Changed(replace(trace, outages=united), tuple(notes))


def without(trace: Trace, part: str) -> Changed:
    """Leave out all "outages", which is all that can be left out."""
    check_trace(trace)
    if part != "outages":
        raise WorkloadError(f"without: only outages can be removed, got {part!r:.60}")
    notes = () if trace.outages else ("the log names no outages; :outages=find detects some",)
    return Changed(replace(trace, outages=()), notes)


def _signed(text: str) -> str:
    """Write "users ask 30 % less" as "-30%"."""
    match = IN_WORDS.fullmatch(text.strip())
    return f"{'-' if match[2] == 'less' else '+'}{match[1]}%" if match else text


def _relative(text: str) -> str:
    """Write "-30%" as "−30 %"."""
    return text.replace(" ", "").replace("-", "−").replace("%", " %")


def _processors_name(text: str, before: Trace, after: Trace) -> str:
    if text[0] in "+-":
        return f"{_relative(text)} processors ({after.processors:,})"
    change = _relative(f"{after.processors / before.processors - 1:+.0%}")
    return f"{after.processors:,} processors ({change})"


class Change(NamedTuple):
    """A kind of change that `with_changes` can make."""

    make: Callable[[Trace, str], Changed]
    example: str  # of its value
    name: Callable[[str, Trace, Trace], str]  # of value, trace before, and trace after


CHANGES = {
    "processors": Change(with_processors, "+10%", _processors_name),
    "max-estimate": Change(with_max_estimate, "24h", lambda text, *_: f"at most {text}, cut"),
    "split-estimate": Change(
        partial(with_max_estimate, split=True), "24h", lambda text, *_: f"at most {text}, split"
    ),
    "estimates": Change(
        with_other_estimates, "-30%", lambda text, *_: f"estimates {_relative(_signed(text))}"
    ),
    "load": Change(
        with_offered_load,
        "0.9",
        lambda text, _, after: (
            f"load {_relative(text)} ({after.offered_load:.2f})"
            if text[0] in "+-"
            else f"load {text}"
        ),
    ),
    "maintenance": Change(with_maintenance, "down.csv", lambda text, *_: f"with {Path(text).name}"),
    "without": Change(without, "outages", lambda text, *_: f"without {text}"),
}
