"""LOS against the thesis' tables and figures, hand-solved cases and the naive version."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
from bfenv.baselines import los as module
from bfenv.baselines.los import COUNTS, MERITS, POLICIES, los
from bfenv.baselines.registry import find_policy
from bfenv.core.cluster import free, retract, shadow, started, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance, new_cluster
from tests.baselines.los_table import rows_of, table
from tests.baselines.machines import thesis_machine
from tests.conftest import as_naive, log, small_traces
from tests.oracles import los as naive_los

# Shmueli 2003, Figures 3.1 and 3.4: five jobs wait at t = 25, 5 processors are free, 3 are extra.
SIZES, SSIZES, FREE, EXTRA = [7, 2, 1, 2, 3], [7, 0, 1, 2, 3], 5, 3
PAGE = Path(__file__).parents[2] / "docs/policies/los.md"

# The published variants: the name of the oracle's algorithm, and the options that make it.
VARIANTS = {
    "full": {},
    "basic": {"basic": True},
    "selected-first": {"selected_first": True},
    "maxjobs": {"merit": "jobs"},
    "max-slowdown": {"merit": "slowdown"},
}


def variant_of(name, lookahead=50):
    """The policy of one of the thesis' algorithms."""
    return los(**VARIANTS[name], lookahead=lookahead)


def chosen(policy, cluster, trace):
    """The jobs a policy would start now."""
    memory = policy.memory(trace.jobs, trace.processors, np.random.default_rng(0))
    policy.decide(cluster, trace.jobs, memory)
    jobs = sorted(started(cluster).tolist())
    retract(cluster, trace.jobs)
    return jobs


def test_filled_rows():
    """Rows are filled until all processors are used without extra nodes."""
    memory = los().memory(thesis_machine()[1].jobs, 10, None)
    memory.size[:3], memory.ssize[:3], memory.gain[:3] = [2, 1, 2], [2, 0, 0], 0
    assert module.fill(memory, 3, 1, 2) == 2
    assert module.fill(memory, 3, 2, 2) == module.fill(memory, 3, 4, 2) == 3


@pytest.mark.parametrize(
    ("variant", "lookahead", "jobs"),
    [
        ("basic", 50, [2]),  # Figure 3.3
        ("full", 50, [2, 3, 4]),  # Figure 3.5
        ("full", 3, [2, 3, 4]),  # section 3.5.1: the fourth job that fits is left out
        ("full", 2, [2, 3]),
        ("selected-first", 50, [2, 5]),  # Figure 3.6
        ("selected-first", 3, [2, 3, 4]),
        ("maxjobs", 50, [2, 3, 4]),
    ],
)
def test_running_example(variant, lookahead, jobs):
    """Each variant starts the jobs that the thesis names for its running example."""
    cluster, trace = thesis_machine()
    assert chosen(variant_of(variant, lookahead), cluster, trace) == jobs


def tables_of(page):
    """The rows of cells of each Markdown table, headings and rules left out."""
    blocks = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    lines = [block.splitlines()[2:] for block in blocks]
    return [[[cell.strip() for cell in row.strip("|").split("|")] for row in b] for b in lines]


def shown(selected, bypassed):
    return " S" * bool(selected) + ("B" if selected else " B") * bool(bypassed)


def test_documented_tables():
    """The tables of the documentation page are those that the kernel fills.

    Its last three tables are the example's jobs, the kernel's rows, and the plane k = 3.
    """
    *_, jobs, rows, plane = tables_of(PAGE.read_text())
    trace = thesis_machine()[1]
    estimates = trace.jobs.estimate[1:].tolist()
    expected = zip(range(1, 6), SIZES, estimates, SSIZES, strict=True)
    assert jobs == [[str(number) for number in row] for row in expected]

    kept = rows_of(SIZES, SSIZES, FREE, EXTRA)
    for i, (first, *cells) in enumerate(rows):
        assert int(first) == i
        for u, cell in enumerate(cells):
            need = kept.need[i, u]
            markers = shown(kept.selected[i, u], kept.bypassed[i, u])
            assert cell == ("-" if need < 0 else f"{need}{markers}"), (i, u)
    assert len(rows) == len(kept.need)

    m = table(SIZES, SSIZES, FREE, EXTRA)
    for i, (first, *cells) in enumerate(plane, start=1):
        assert int(first) == i
        for j, cell in enumerate(cells, start=1):
            at = i, j, EXTRA
            markers = shown(m.selected[at], m.bypassed[at])
            assert cell == f"{m.util[at]} ({m.sutil[at]}){markers}", at
    assert len(plane) == len(SIZES)


def test_documented_options():
    """The options of the documentation page are those of the policy.

    Each is an expression that `find_policy` reads, made of the algorithms that it names.
    """
    options = tables_of(PAGE.read_text())[0]
    for option, algorithms, _ in options:
        policy = find_policy("los" if option == "(none)" else f"los({option.strip('`')})")
        if algorithms[0].isdigit():
            assert policy.source == f"Shmueli 2003, Algorithms {algorithms}"
    assert len(options) == 12


def schedule(policy, processors, *jobs):
    """Starts of jobs (submit, size, estimate)."""
    submit, size, estimate = zip(*jobs, strict=True)
    trace = bfenv.make_trace(submit, size, estimate, processors)
    return bfenv.simulate(trace, policy).check().start.tolist()


@st.composite
def crowds(draw):
    """A Trace whose jobs nearly all wait at once, behind a head that has extra nodes."""
    machine = draw(st.integers(3, 10))
    busy = draw(st.integers(1, machine - 1))
    size, estimate = st.integers(1, 4), st.sampled_from([1, 2, 5, 6, 9])
    waiting = draw(st.lists(st.tuples(size, estimate), min_size=2, max_size=8))
    head = draw(st.integers(machine - busy + 1, machine))
    rows = [(0, busy, 6), (1, head, 3), *((1, min(n, machine), e) for n, e in waiting)]
    return bfenv.make_trace(*zip(*rows, strict=True), machine)


@given(
    small_traces(jobs=12) | crowds(),
    st.tuples(
        st.booleans(),
        st.booleans(),
        st.sampled_from(MERITS),
        st.sampled_from([1, 2, 3, 50, None]),
        st.sampled_from(COUNTS),
    ),
)
def test_naive_version(trace, chosen):
    """Every combination of options equals its naive version.

    The thesis' five variants and all others, under any lookahead.
    """
    options, policy = naive_los.Options(*chosen), los(*chosen)
    for order in ("standard", "pyss"):
        result = bfenv.simulate(trace, policy, event_order=order)
        expected = naive_los.los(*as_naive(trace), options, order)
        assert list(zip(result.start.tolist(), result.end.tolist(), strict=True)) == expected


@settings(max_examples=400, deadline=None)
@given(
    small_traces(jobs=9) | crowds(),
    st.builds(
        naive_los.Studies,
        reservations=st.sampled_from([1, 1, 2, 3, 9]),
        threshold=st.sampled_from([None, 0.01, 0.5, 0.8, 1.0]),
        merit=st.sampled_from(MERITS),
        aim=st.sampled_from(["max", "min"]),
        selected_first=st.booleans(),
        lookahead=st.sampled_from([2, 50]),
        shortest_first=st.booleans(),
    ),
)
def test_every_set_tried(trace, studies):
    """Merits, reservations, thresholds and orders: the best of all sets, by trying them."""
    if studies.merit == "none":
        studies = replace(studies, aim="max")
    policy = los(
        merit=studies.merit,
        aim=studies.aim,
        selected_first=studies.selected_first,
        lookahead=studies.lookahead,
        reservations=studies.reservations,
        threshold=studies.threshold,
        order="sjf" if studies.shortest_first else "fcfs",
    )
    for order in ("standard", "pyss"):
        result = bfenv.simulate(trace, policy, event_order=order).check()
        expected = naive_los.by_trial(*as_naive(trace), studies, order)
        assert list(zip(result.start.tolist(), result.end.tolist(), strict=True)) == expected


def test_two_reservations():
    """By hand: a second reservation keeps job 3 from delaying job 2, which needs the machine."""
    jobs = (0, 3, 10), (1, 4, 5), (1, 5, 12), (1, 1, 30)
    assert schedule("los", 5, *jobs) == [0, 10, 31, 1]
    assert schedule(los(reservations=2), 5, *jobs) == [0, 10, 15, 27]


def test_threshold():
    """By hand: job 2 uses three quarters of the free processors, so that job 3 is not looked at."""
    jobs = (0, 1, 10), (1, 5, 5), (1, 3, 2), (1, 4, 2)
    assert schedule("los", 5, *jobs) == [0, 10, 3, 1]
    assert schedule(los(threshold=0.75), 5, *jobs) == [0, 10, 1, 3]
    assert schedule(los(threshold=0.76), 5, *jobs) == [0, 10, 3, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"merit": "wait"}, "merit must be one of 'none', 'jobs', 'slowdown', 'response'; got"),
        ({"merit": "jobs", "aim": "least"}, "aim must be one of 'max', 'min'; got 'least'"),
        ({"aim": "min"}, "aim needs a merit: merit=jobs, merit=slowdown or merit=response"),
        ({"reservations": 0}, "reservations must be an integer >= 1, got 0"),
        ({"threshold": 0}, "threshold must be a finite number > 0 and <= 1, got 0"),
        ({"threshold": 1.5}, "threshold must be a finite number > 0 and <= 1, got 1.5"),
        ({"order": "size *"}, "order: cannot be read"),
    ],
)
def test_options_out_of_range(options, message):
    """An option out of its range is refused, and the message names the option."""
    with pytest.raises(PolicyError, match=message):
        los(**options)


@st.composite
def queues(draw):
    """Sizes, shadow sizes, free, extra and merits of a few jobs, with many ties."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=8))
    ssizes = [size * draw(st.integers(0, 1)) for size in sizes]
    gains = draw(st.lists(st.integers(1, 3), min_size=len(sizes), max_size=len(sizes)))
    return sizes, ssizes, draw(st.integers(0, 12)), draw(st.integers(0, 8)), gains


@given(queues(), st.booleans())
def test_cells(queue, with_merit):
    """Every cell of the thesis' table can be read off the kernel's two-dimensional one."""
    sizes, ssizes, n, extra, gains = queue
    m = table(sizes, ssizes, n, extra, gains if with_merit else None)
    expected = naive_los.construct(sizes, ssizes, n, extra, gains if with_merit else None)
    for at, cell in expected.items():
        assert (m.util[at], m.sutil[at]) == (cell.util, cell.sutil), at
        assert (m.selected[at], m.bypassed[at]) == (cell.selected, cell.bypassed), at


@given(queues())
def test_last_cell(queue):
    """The last cell is that of the best of all sets of jobs."""
    sizes, ssizes, n, extra, _ = queue
    m = table(sizes, ssizes, n, extra)
    best = naive_los.best_by_trial(sizes, ssizes, n, extra)
    assert (m.util[-1, n, extra], m.sutil[-1, n, extra]) == best


@given(small_traces(jobs=12) | crowds(), st.sampled_from(list(VARIANTS)))
def test_each_step(trace, variant):
    """No step delays the head or, unless basic, uses fewer processors than EASY would."""
    policy, easy, jobs = variant_of(variant, None), find_policy("easy"), trace.jobs
    cluster, jobs, truth = new_cluster(trace)
    memory = policy.memory(jobs, trace.processors, np.random.default_rng(0))
    while advance(cluster, jobs, truth):
        of_easy = int(jobs.size[chosen(easy, cluster, trace)].sum())
        head = waiting(cluster)[0] if len(waiting(cluster)) else -1
        waits = head >= 0 and jobs.size[head] > free(cluster)
        promised = shadow(cluster, jobs, head)[0] if waits else -1
        policy.decide(cluster, jobs, memory)
        if variant != "basic":
            assert jobs.size[started(cluster)].sum() >= of_easy
        if waits:
            assert shadow(cluster, jobs, head)[0] == promised
        elif head >= 0:
            assert cluster.start[head] >= 0


def test_too_large_table():
    """A table that is too large is refused, and the message says what to reduce."""
    jobs = 30_000
    trace = bfenv.make_trace(np.arange(jobs), np.ones(jobs), np.ones(jobs), 100_000)
    message = (
        "a table of 30,000 jobs by 100,001 numbers of processors takes more than 2 GiB; "
        "on this machine lookahead can be at most 21,474"
    )
    with pytest.raises(PolicyError, match=message):
        bfenv.simulate(trace, los(lookahead=None))
    assert los().memory(trace.jobs, 1152, None).markers.nbytes == 50 * 1153


def test_largest_table(monkeypatch):
    """The largest table is allowed; its rows have a byte per processor, and one for 0."""
    jobs, six = thesis_machine()[1].jobs, los(lookahead=10**9)  # of 6 jobs
    monkeypatch.setattr(module, "LARGEST_TABLE", 60)
    assert six.memory(jobs, 9, None).markers.shape == (6, 10)
    with pytest.raises(PolicyError, match="lookahead can be at most 5"):
        six.memory(jobs, 11, None)
    monkeypatch.setattr(module, "LARGEST_TABLE", 59)
    with pytest.raises(PolicyError, match="lookahead can be at most 5"):
        six.memory(jobs, 9, None)


def test_kth():
    """On KTH, LOS improves on EASY, and job selection on LOS, as in sections 4.2 and 4.3."""
    trace = log("KTH-SP2-1996-2.1-cln")
    slowdown = {
        policy if isinstance(policy, str) else policy.name: bfenv.metrics(
            bfenv.simulate(trace, policy)
        )["mean_bounded_slowdown"]
        for policy in ["easy", *POLICIES]
    }
    assert slowdown["los"] < slowdown["easy"]
    assert slowdown["los-selected-first"] < slowdown["los"]
    assert slowdown["los-maxjobs"] < slowdown["los"]
    assert slowdown["los-max-slowdown"] < min(
        slowdown["los-selected-first"], slowdown["los-maxjobs"]
    )
