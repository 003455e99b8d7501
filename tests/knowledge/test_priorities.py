"""The orders of the queue against their formulas, and their upkeep from pass to pass."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bfenv
import bfenv.knowledge.priorities as p
from bfenv.core.cluster import may_start, now, retract, start, waiting
from bfenv.core.durations import DAY
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance, new_cluster
from tests.conftest import small_traces
from tests.oracles import easy as naive_easy

every_order = pytest.mark.parametrize("order", p.ORDERS)


def ranked(order, now_at, *jobs, weight=None):
    """The order of jobs (submit, size, estimate) that wait at `now_at` behind a full machine."""
    submit, size, estimate = zip((0, 9, 10**6), *jobs, (now_at, 9, 10**6), strict=True)
    trace = bfenv.make_trace(submit, size, estimate, 9)
    cluster, known, truth = new_cluster(trace)
    ranking = p.new_ranking(p.find_order(order), known, np.random.default_rng(0), weight)
    advance(cluster, known, truth)
    start(cluster, known, 0)
    while now(cluster) < now_at:
        advance(cluster, known, truth)
    count = p.rank(ranking, cluster, known)
    return [job - 1 for job in ranking.line[:count].tolist() if job <= len(jobs)]


# Three jobs (submit, size, estimate): A waits 90 s of its 40, B 80 s of its 10, C 50 s of its 20.
A, B, C = (10, 1, 40), (20, 8, 10), (50, 3, 20)


@pytest.mark.parametrize(
    "order, expected",
    [
        ("fcfs", "ABC"),
        ("lcfs", "CBA"),
        ("sjf", "BCA"),
        ("lpt", "ACB"),
        ("sqf", "ACB"),
        ("lqf", "BCA"),
        ("saf", "ACB"),  # 40, 60, 80
        ("laf", "BCA"),
        ("srf", "BCA"),  # 1.25, 6.7, 40
        ("lrf", "ACB"),
        ("lxf", "BCA"),  # slowdowns so far 9, 3.5, 3.25
        ("sxf", "ACB"),
        ("wfp3", "BCA"),  # 8^3 x 8 = 4096, 2.5^3 x 3 = 46.9, 2.25^3 = 11.4
        ("unicef", "ABC"),  # serial: first; 80 / (3 x 10) = 2.67; 50 / (1.58 x 20) = 1.58
        ("f1", "ABC"),  # 870 + 1.6, 1132 + 8, 1478 + 3.9
        ("f2", "ABC"),  # 25600 log10 s outweighs the rest by far, as in F3 and F4
        ("f3", "ABC"),
        ("f4", "ABC"),
        ("aged-sjf", "BCA"),
    ],
)
def test_by_hand(order, expected):
    """Each order sorts three jobs as they are sorted by hand."""
    assert "".join("ABC"[job] for job in ranked(order, 100, A, B, C)) == expected


def test_day_of_delay():
    """New jobs of one minute may overtake a job for a day at most.

    Zotkin et al. 2000, section 8: delay = (r - r_min) / (weight r_min r), at most a day here.
    """
    longest = 10**9  # seconds
    limit = (longest - 60) / (p.ORDERS["aged-sjf"].weight * 60 * longest)
    assert limit == pytest.approx(DAY)
    assert ranked("aged-sjf", DAY - 1, (0, 1, longest), (DAY - 1, 1, 60)) == [1, 0]
    assert ranked("aged-sjf", DAY + 1, (0, 1, longest), (DAY + 1, 1, 60)) == [0, 1]
    assert ranked("aged-random", DAY, (0, 1, longest), (DAY, 1, 1)) == [0, 1]


def test_larger_weight():
    """A larger weight is closer to the order of arrival."""
    jobs = (0, 1, 50), (10, 1, 5)
    assert ranked("aged-sjf", 10, *jobs, weight=0.01) == [1, 0]
    assert ranked("aged-sjf", 10, *jobs, weight=0.02) == [0, 1]


def test_random_orders():
    """Random orders depend on the generator, and the others do not."""
    trace = bfenv.make_trace(range(50), [1] * 50, [9] * 50, 1)
    cluster, jobs, truth = new_cluster(trace)
    while now(cluster) < 49:
        advance(cluster, jobs, truth)
    for name, order in p.ORDERS.items():
        lines = set()
        for seed in range(3):
            ranking = p.new_ranking(order, jobs, np.random.default_rng(seed))
            count = p.rank(ranking, cluster, jobs)
            lines.add(ranking.line[:count].tobytes())
        assert (len(lines) > 1) == order.stochastic, name


def test_random_by_length():
    """In random-sjf, the larger quotient of random number and length comes first."""
    trace = bfenv.make_trace([0, 0], [1, 1], [1000, 1], 1)
    ranking = p.new_ranking(p.find_order("random-sjf"), trace.jobs, np.random.default_rng(0))
    assert (ranking.number > 0.01).all()
    assert p.score(ranking, trace.jobs, 1, 0) < p.score(ranking, trace.jobs, 0, 0)


@every_order
@settings(max_examples=30)
@given(trace=small_traces(jobs=12), data=st.data())
def test_line(order, trace, data):
    """The line is the sorted queue, whoever starts and whatever is taken back."""
    cluster, jobs, truth = new_cluster(trace)
    ranking = p.new_ranking(p.ORDERS[order], jobs, np.random.default_rng(1))
    weight, numbers = p.ORDERS[order].weight, np.random.default_rng(1).random(len(trace)).tolist()
    oracle = naive_easy.Easy(naive_easy.Options(order, weight=weight), numbers, [])
    oracle.length = dict(enumerate(trace.jobs.estimate.tolist()))
    machine = naive_easy.Machine(
        [
            naive_easy.Job(*row, 1)
            for row in zip(*map(np.ndarray.tolist, trace.jobs[:3]), strict=True)
        ],
        trace.processors,
    )
    while advance(cluster, jobs, truth):
        machine.now = int(now(cluster))
        for _ in range(data.draw(st.integers(0, 2))):  # some passes are not ranked, some twice
            count = p.rank(ranking, cluster, jobs)
            left = [job for job in waiting(cluster).tolist() if cluster.start[job] < 0]
            expected = sorted(left, key=lambda job: oracle.key(machine, order, job))
            assert ranking.line[:count].tolist() == expected
            for job in data.draw(st.permutations(left)):
                if may_start(cluster, jobs, job):
                    start(cluster, jobs, job)
            if data.draw(st.booleans()):
                retract(cluster, jobs)
        for job in waiting(cluster):
            if may_start(cluster, jobs, job) and data.draw(st.booleans()):
                start(cluster, jobs, job)


@every_order
def test_long_lines(order):
    """Hundreds of new jobs are sorted, also when some start and others get new random numbers."""
    numbers = np.random.default_rng(5)
    size, estimate = numbers.integers(1, 9, 400), numbers.choice([60, 300, 3600, 7200], 400)
    trace = bfenv.make_trace(np.arange(400) // 8, size, estimate, 4_000)
    cluster, jobs, truth = new_cluster(trace)
    ranking = p.new_ranking(p.ORDERS[order], jobs, np.random.default_rng(1))
    ranking.dynamic[0] |= p.ORDERS[order].stochastic
    while now(cluster) < 49:
        advance(cluster, jobs, truth)
    for _ in range(3):
        if p.ORDERS[order].stochastic:
            ranking.number[:] = numbers.random(400)
        count, time = p.rank(ranking, cluster, jobs), now(cluster)
        left = [job for job in waiting(cluster).tolist() if cluster.start[job] < 0]
        key = {job: (p.score(ranking, jobs, job, time), job) for job in left}
        assert ranking.line[:count].tolist() == sorted(left, key=key.get)
        assert ranking.score[:count].tolist() == sorted(value for value, _ in key.values())
        for job in numbers.choice(left, 30, replace=False):
            start(cluster, jobs, job)


@given(st.lists(st.sampled_from([-1.5, 0.0, 2.0, 7.0, np.inf]), max_size=40), st.randoms())
def test_merging(scores, random):
    """Jobs are sorted by score, then by index."""
    count = len(scores)
    line = random.sample(range(count), count)
    score_of, order = np.array(scores + [9.0] * count), np.array(line + [9] * count, dtype=int)
    p.sort_by_merging(score_of, order, count)
    pairs = zip(score_of[:count].tolist(), order[:count].tolist(), strict=True)
    assert list(pairs) == sorted(zip(scores, line, strict=True))


def test_unknown_order():
    """An unknown order is refused: the error names the option, the value, and what is known."""
    with pytest.raises(PolicyError, match="order.*'sjf'.*'sfj'"):
        p.find_order("sfj")


def test_weight():
    """A weight needs one aged order, and may be 0 unless it must be positive."""
    fcfs, aged = p.ORDERS["fcfs"], p.ORDERS["aged-sjf"]
    p.check_weight(None, fcfs)
    p.check_weight(0, aged)
    p.check_weight(0.5, fcfs, aged, positive=True)
    with pytest.raises(PolicyError, match="weight.*fcfs"):
        p.check_weight(0.5, fcfs)
    with pytest.raises(PolicyError, match="weight.*0"):
        p.check_weight(0, aged, positive=True)
    with pytest.raises(PolicyError, match="weight.*-1"):
        p.check_weight(-1, aged)


def test_descriptions():
    """Every order says what it is and where it comes from."""
    assert [order.name for order in p.ORDERS.values()] == list(p.ORDERS)
    assert [order.code for order in p.ORDERS.values()] == list(range(len(p.ORDERS)))
    assert all(order.meaning and order.formula and order.source for order in p.ORDERS.values())


def test_slowdown_by_width():
    """Zotkin et al. 2000, section 5.1: its two jobs, of equal area and end, are equally urgent."""
    width = p.find_order("lxf-width").code
    narrow, wide = ((1000, 100, 1), (1090, 10, 10))  # delay, length, width
    urgency = [
        -p.formula(width, delay, length, size, 0, 0.0, 0.0)
        for delay, length, size in (narrow, wide)
    ]
    assert urgency == [11.0, 11.0]


@pytest.mark.parametrize(("delay", "long", "short"), [(2, 12, 3), (4, 56, 7)])
def test_equal_value(delay, long, short):
    """A shorter job that came later by what its length is worth has the same score."""
    weight = float(Fraction(long - short, short * long) / delay)  # a power of two
    aged = p.find_order("aged-sjf").code
    for submit in range(100_000):
        first = p.formula(aged, 0, long, 1, submit, 0.0, weight)
        assert p.formula(aged, 0, short, 1, submit + delay, 0.0, weight) == first


@given(
    weight=st.sampled_from([1e-6, 1e-4, 0.01]),
    shortest=st.integers(1, 1000),
    longer=st.integers(0, 10**6),
    others=st.integers(0, 10**6),
)
def test_bound(weight, shortest, longer, others):
    """No new job gets ahead after the bound.

    Zotkin et al. 2000, section 8: the bound is (r - r_min) / (weight r_min r).
    """
    length = shortest + longer
    bound = (length - shortest) / (weight * shortest * length)
    delay = int(bound) + 1
    aged = p.find_order("aged-sjf").code

    def criterion(submit, estimate):
        return p.formula(aged, 0, estimate, 1, submit, 0.0, weight)

    assert criterion(0, length) < criterion(delay, shortest + others)
    before = int(bound * 0.99) - 1
    if before >= 0:
        assert criterion(0, length) > criterion(before, shortest)
