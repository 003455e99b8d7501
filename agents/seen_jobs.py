"""Which jobs an agent was trained on, and whether others are among them.

Networks and models recognize jobs by size and runtime, in blocks of consecutive jobs: in another
part of the trace, at another load, and with other estimates. A search records less of its jobs, so
that its card stays short: a hash of them all, and their numbers in the log.
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from bfenv.core.arguments import check_integer
from bfenv.core.errors import BfenvError, PolicyError
from bfenv.core.jobs import Trace
from bfenv.core.names import parse_name
from bfenv.envs.batch import EnvBatch
from bfenv.workloads.load import load_whole, load_workload
from bfenv.workloads.transform import split_range

BLOCK = 8  # jobs; two traces hardly ever share that many in a row
LEAST_DISTINCT = 4  # different jobs in a block; others are alike by chance
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SHA256 = "sha256:"  # begins hashes in the records of searches


class Span(NamedTuple):
    """Consecutive jobs of a trace that an agent was trained on, those that only arrive included."""

    trace: str  # its name
    hash: str  # of its content, `Trace.hash`
    first: int  # index in the trace
    last: int  # one past the last job
    blocks: np.ndarray | None = None  # (k,) uint64 hashes of its blocks of jobs
    jobs_hash: str = ""  # without blocks: see `jobs_hash`
    numbers: tuple[int, int] | None = None  # without blocks: first and last number in the log


def span_of(trace: Trace, first: int = 0, last: int | None = None) -> Span:
    """Describe consecutive jobs of a trace, so that they are recognized in other traces.

    Every job is in a block, and blocks overlap only at the end. So a block is found in any 15 or
    more consecutive jobs of the span, and in 8 or more at either of its ends.

    Args:
        trace: The trace that an agent is trained on.
        first, last: First of its jobs, and one past the last; None is the end of the trace.

    Returns:
        Hashes of the blocks of jobs, with the name and the hash of the trace.
    """
    last = len(trace) if last is None else last
    hashes, informative = _block_hashes(trace, first, last)
    chosen = np.arange(0, len(hashes), BLOCK)
    chosen = np.unique(np.append(chosen, len(hashes) - 1)) if len(hashes) else chosen
    return Span(trace.name, trace.hash, first, last, hashes[chosen][informative[chosen]])


def spans_of(batch: EnvBatch) -> list[Span]:
    """Return the jobs that episodes of these environments come from, of each trace."""
    pairs = zip(batch.source.traces, batch.source.splits, strict=True)
    return [span_of(trace, *bounds) for trace, bounds in pairs]


def searched_spans(workloads: tuple[str, ...], split: str) -> list[Span]:
    """Return the jobs that a search sees of each workload, without blocks.

    The search on the split "train" also sees the split "validation". A workload that is a part of
    another, by `first_job` and `job_count`, goes with the split "all".
    """
    spans = []
    for workload in workloads:
        trace, part = load_whole(workload), load_workload(workload)
        in_order = np.array_equal(part.jobs.size, trace.jobs.size)
        if split == "all":
            first = int(parse_name(workload).options.get("first_job", 0))
            last = first + len(part)
        elif trace.records is None and not in_order:  # shaken: jobs may be in another split
            first, last = 0, len(trace)
        else:
            divided = part if in_order else trace  # bursts move the ends of splits
            first, _ = split_range(divided, split)
            _, last = split_range(divided, "validation" if split == "train" else split)
        numbers = None
        if trace.records is not None:
            job_numbers = trace.records[first:last, 0]
            numbers = int(job_numbers.min()), int(job_numbers.max())
        seen = jobs_hash(trace[first:last])
        spans.append(Span(trace.name, trace.hash, first, last, None, seen, numbers))
    return spans


def count_seen(
    trace: Trace, first: int, last: int, spans: Iterable[Span], source: str | None = None
) -> int:
    """Count the jobs of trace[first:last] that an agent was trained on.

    Those are the jobs in a block of one of the spans. A span without blocks has all jobs of the
    part if they have its `jobs_hash`; if the whole workload has its hash, it has those with its
    numbers. Jobs without numbers are found by their sizes and runtimes in the whole workload, and
    all count if they are not there, as after a shake.

    * `trace`, `first`, `last`: the jobs.
    * `spans`: what the agent was trained on.
    * `source`: what `load_workload` made the trace from; None if the trace is a whole workload.
    """
    spans = list(spans)
    blocks = [span.blocks for span in spans if span.blocks is not None]
    seen = 0
    if blocks:
        hashes, _ = _block_hashes(trace, first, last)
        starts = np.flatnonzero(np.isin(hashes, np.concatenate(blocks)))
        seen = len(np.unique(starts[:, None] + np.arange(BLOCK)))
    searched = [span for span in spans if span.blocks is None]
    if not searched:
        return seen
    part, whole = trace[first:last], trace if source is None else load_whole(source)
    same = jobs_hash(part)
    for span in searched:
        if span.jobs_hash == same:
            return len(part)
        if span.hash == whole.hash:
            if part.records is not None and span.numbers is not None:
                number, (least, most) = part.records[:, 0], span.numbers
                count = int(np.count_nonzero((number >= least) & (number <= most)))
            else:
                count = _most_shared(part, whole, span)
            seen = max(seen, count)
    return seen


def check_unseen(
    name: str,
    spans: Iterable[Span],
    trace: Trace,
    first: int = 0,
    last: int | None = None,
    source: str | None = None,
) -> None:
    """Check that an agent was not trained on any of the jobs that it is to be scored on.

    * `name`: the agent's, for the message.
    * `spans`, `trace`, `first`, `last`, `source`: as of `count_seen`; a `last` of None is the end
      of the trace.

    Raises PolicyError if it was; the message says on how many of them.
    """
    last = len(trace) if last is None else last
    seen = count_seen(trace, first, last, spans, source)
    if seen:
        raise PolicyError(
            f"{name} was trained on {seen:,} of the {last - first:,} jobs of {trace.name} that it "
            "is to be scored on; score it on LOG:split=test, or on a frozen suite"
        )


def encode_span(span: Span) -> dict[str, Any]:
    """Return a span as JSON has it."""
    if span.blocks is not None:
        data = base64.b64encode(np.ascontiguousarray(span.blocks, dtype="<u8").tobytes())
        names = ("trace", "hash", "first", "last")
        return {name: getattr(span, name) for name in names} | {"blocks": data.decode()}
    record = {
        "workload": span.trace,
        "hash": SHA256 + span.hash,
        "first_job": span.first,
        "end_job": span.last,
        "jobs_hash": span.jobs_hash,
    }
    if span.numbers is None:
        return record
    return record | dict(zip(("first_number", "last_number"), span.numbers, strict=True))


def decode_span(values: Mapping[str, Any]) -> Span:
    """Read what `encode_span` returned.

    Raises BfenvError if it is not that.
    """
    try:
        if "workload" in values:
            blocks, names = None, ("workload", "first_job", "end_job")
        else:
            data = base64.b64decode(values["blocks"], validate=True)
            blocks, names = np.frombuffer(data, dtype="<u8"), ("trace", "first", "last")
        trace, first, last = (values[name] for name in names)
        check_integer("last", last, check_integer("first", first, 0))
        numbers = None
        if "first_number" in values:
            numbers = int(values["first_number"]), int(values["last_number"])
        hash, jobs = str(values["hash"]).removeprefix(SHA256), str(values.get("jobs_hash", ""))
        return Span(str(trace), hash, first, last, blocks, jobs, numbers)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BfenvError(f"not a span of jobs: {error}") from error


def jobs_hash(trace: Trace) -> str:
    """Return a hash of sizes and runtimes, which loads and shaken submit times do not change."""
    pairs = np.stack([trace.jobs.size, trace.runtime], axis=1)
    ordered = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    digest = hashlib.sha256(np.ascontiguousarray(ordered, dtype="<i8").tobytes())
    return SHA256 + digest.hexdigest()


def _most_shared(part: Trace, whole: Trace, span: Span) -> int:
    """Count the jobs of a part of a whole trace that are in a span of it.

    If several places in the whole have the same jobs, the one that shares most counts. If none has,
    all jobs count.
    """
    size, runtime, n = whole.jobs.size, whole.runtime, len(part)
    begins = (size == part.jobs.size[0]) & (runtime == part.runtime[0])
    shared = [
        max(0, min(first + n, span.last) - max(first, span.first))
        for first in np.flatnonzero(begins).tolist()
        if np.array_equal(size[first : first + n], part.jobs.size)
        and np.array_equal(runtime[first : first + n], part.runtime)
    ]
    return max(shared, default=n)


def _block_hashes(trace: Trace, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the hash of every block, (n - BLOCK + 1,) uint64, and which have different jobs."""
    size, runtime = trace.jobs.size[first:last], trace.runtime[first:last]
    if len(size) < BLOCK:
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=bool)
    a, b, c, d = (np.uint64(factor) for factor in FACTORS)
    with np.errstate(over="ignore"):
        jobs = size.astype(np.uint64) * a ^ runtime.astype(np.uint64) * b
        jobs = (jobs ^ (jobs >> np.uint64(30))) * c
        jobs ^= jobs >> np.uint64(27)
        blocks = sliding_window_view(jobs, BLOCK)
        hashes = np.zeros(len(blocks), dtype=np.uint64)
        for column in range(BLOCK):
            hashes = hashes * d + blocks[:, column]
    different = (np.diff(np.sort(blocks, axis=1), axis=1) != 0).sum(axis=1) + 1
    return hashes, different >= LEAST_DISTINCT
