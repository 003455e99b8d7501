"""Jobs that a model was trained on are found again, and others are not."""

import json

import numpy as np
import pytest

import bfenv
import bfenv.agents.seen_jobs as sj
from bfenv.envs.batch import EnvBatch
from bfenv.workloads.transform import split_range

TRACE = bfenv.load_workload("lublin:procs=64,jobs=400,seed=1")
OTHER = bfenv.load_workload("lublin:procs=64,jobs=400,seed=2")
SPAN = sj.span_of(TRACE, 100, 203)


@pytest.mark.parametrize(
    ("first", "last", "seen"),
    [
        (100, 203, 103),  # the span itself
        (0, 400, 103),  # all around it
        (203, 400, 0),  # next to it
        (0, 100, 0),
        (0, 100 + sj.BLOCK, sj.BLOCK),  # its first block, and its last one
        (203 - sj.BLOCK, 400, sj.BLOCK),
        (0, 100 + sj.BLOCK - 1, 0),  # less than a block
    ],
)
def test_overlap(first, last, seen):
    """Exactly the jobs of whole blocks in common are seen."""
    assert sj.count_seen(TRACE, first, last, [SPAN]) == seen


def test_inside():
    """Any 15 consecutive jobs of a span contain a block of it."""
    assert all(sj.count_seen(TRACE, i, i + 15, [SPAN]) >= sj.BLOCK for i in range(100, 189))


def test_transformed():
    """A part of the trace, at another load and with other estimates, has the same jobs."""
    same = bfenv.workloads.transform.transformed(
        TRACE, first_job=150, job_count=50, estimates="exact", load=0.5
    )
    assert same.hash != TRACE[150:200].hash
    assert sj.count_seen(same, 0, 50, [SPAN]) >= 50 - 2 * (sj.BLOCK - 1)


def test_other_jobs():
    """Jobs of another seed, and bursts of equal jobs, are not seen, nor is anything by nothing."""
    alike = bfenv.make_trace(np.arange(100), [1] * 100, [5] * 100, 4)
    assert sj.count_seen(alike, 0, 100, [sj.span_of(alike)]) == 0
    assert sj.count_seen(OTHER, 0, 400, [SPAN]) == 0
    assert sj.count_seen(TRACE, 0, 400, []) == 0


def test_spans_of():
    """The spans of an environment are its splits."""
    batch = EnvBatch(1, [TRACE, OTHER], {"episode_jobs": 20, "warmup_jobs": 5})
    found = [(span.hash, (span.first, span.last)) for span in sj.spans_of(batch)]
    assert found == [(t.hash, split_range(t, "train")) for t in (TRACE, OTHER)]


def test_json():
    """A span survives JSON; what is not one is refused."""
    again = sj.decode_span(json.loads(json.dumps(sj.encode_span(SPAN))))
    assert (
        again[:4] == SPAN[:4]
        and again[5:] == SPAN[5:]
        and np.array_equal(again.blocks, SPAN.blocks)
    )
    for wrong in ({}, {**sj.encode_span(SPAN), "blocks": "?"}, {**sj.encode_span(SPAN), "last": 5}):
        with pytest.raises(bfenv.BfenvError, match="span"):
            sj.decode_span(wrong)


MODEL = "lublin:procs=64,jobs=400,seed=1"


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ("split=test", 0),
        ("split=test,arrival_rate=1.2,requested_start_share=0.5", 0),
        ("split=validation", "all"),
        ("split=train,job_count=30", "all"),
        ("first_job={last}", 0),
        ("first_job={before}", 3),
        ("first_job={before},job_count=10", 3),
        ("split=test,shake_seconds=9000", "all"),  # in another order: which they are is not known
    ],
)
def test_searched_part(options, seen):
    """Of a generated workload, only the training and validation jobs of a search are seen."""
    (span,) = sj.searched_spans((MODEL,), "train")
    last, _ = split_range(TRACE, "test")
    assert (span.first, span.last) == (0, last)
    source = f"{MODEL},{options.format(last=last, before=last - 3)}"
    part = bfenv.load_workload(source)
    expected = len(part) if seen == "all" else seen
    assert sj.count_seen(part, 0, len(part), [span], source) == expected


def test_searched_indices():
    """Without a source, the trace is whole, and its jobs are told apart, too."""
    spans = sj.searched_spans((MODEL,), "train")
    last, _ = split_range(TRACE, "test")
    assert sj.count_seen(TRACE, last, 400, spans) == 0
    assert sj.count_seen(TRACE, last - 5, 400, spans) == 5
    assert sj.count_seen(TRACE, 0, 400, spans) == last


def test_ambiguous_part():
    """Jobs that are alike count as seen if any of them are."""
    trace = bfenv.make_trace(range(6), [1, 2, 2, 1, 2, 2], [5] * 6, 4)
    span = sj.Span(trace.name, trace.hash, 0, 3, None, sj.jobs_hash(trace[:3]))
    assert sj.count_seen(trace, 4, 6, [span]) == 2
    assert sj.count_seen(trace, 5, 6, [span]) == 1


def test_searched_bursts():
    """The span is what the search divides: bursts move the ends of splits, shakes mix the jobs."""
    period = int(TRACE.jobs.submit[-1] - TRACE.jobs.submit[0]) * 2 // 5
    burst = f"{MODEL},burst=20,burst_period={period}"
    (span,) = sj.searched_spans((burst,), "train")
    assert span.last == split_range(bfenv.load_workload(burst), "test")[0]
    assert span.last != split_range(TRACE, "test")[0]
    (span,) = sj.searched_spans((f"{MODEL},shake_seconds=9000",), "train")
    assert (span.first, span.last) == (0, 400)
