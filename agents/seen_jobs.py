"""Which jobs a model was trained on, and whether others are among them.

Jobs are compared by size and runtime, in blocks of consecutive jobs. So they are recognised in
another part of the trace, at another load, and with other estimates.
"""

import base64
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from bfenv.core.arguments import check_integer
from bfenv.core.errors import BfenvError
from bfenv.core.jobs import Trace
from bfenv.envs.batch import EnvBatch

BLOCK = 8  # jobs; two traces hardly ever share that many in a row
LEAST_DISTINCT = 4  # different jobs in a block; others are alike by chance
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


class Span(NamedTuple):
    """Consecutive jobs of a trace that a model was trained on, those that only arrive included."""

    trace: str  # its name
    hash: str  # of its content, `Trace.hash`
    first: int  # index in the trace
    last: int  # one past the last job
    blocks: np.ndarray  # (k,) uint64 hashes of its blocks of jobs


def span_of(trace: Trace, first: int = 0, last: int | None = None) -> Span:
    """Describe consecutive jobs of a trace, so that they are recognized in other traces.

    Every job is in a block, and blocks overlap only at the end. So a block is found in any 15 or
    more consecutive jobs of the span, and in 8 or more at either of its ends.

    Parameters
    ----------
    trace
        The trace that an agent is trained on.
    first, last
        First of its jobs, and one past the last; None is the end of the trace.

    Returns
    -------
    Span
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


def count_seen(trace: Trace, first: int, last: int, spans: Iterable[Span]) -> int:
    """Count the jobs of trace[first:last] that are in a block of one of the spans."""
    known = [span.blocks for span in spans]
    if not known:
        return 0
    hashes, _ = _block_hashes(trace, first, last)
    found = np.flatnonzero(np.isin(hashes, np.concatenate(known)))
    return len(np.unique(found[:, None] + np.arange(BLOCK)))


def encode_span(span: Span) -> dict[str, Any]:
    """Return a span as JSON has it."""
    text = base64.b64encode(np.ascontiguousarray(span.blocks, dtype="<u8").tobytes())
    return {**span._asdict(), "blocks": text.decode()}


def decode_span(values: Mapping[str, Any]) -> Span:
    """Read what `encode_span` returned.

    Raises
    ------
    BfenvError
        If it is not that.
    """
    try:
        blocks = np.frombuffer(base64.b64decode(values["blocks"], validate=True), dtype="<u8")
        first = check_integer("first", values["first"], 0)
        last = check_integer("last", values["last"], first)
        return Span(str(values["trace"]), str(values["hash"]), first, last, blocks)
    except (KeyError, TypeError, ValueError) as error:
        raise BfenvError(f"not a span of jobs: {error}") from error


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
