"""The modal model of estimates against its formulas and the authors' program est_model.

The program's figures stand below as literals. Where the program draws no random number (values,
sizes, job counts) we must equal it. Its statistics are (mean, sd between runs) over `n` runs; the
mean of our `m` runs must be within 3.5 standard errors, sd * sqrt(1 / n + 1 / m), of its mean,
and where its sd is 0, equal. The program was run with the high bits of its random numbers: the
low ones, which it uses by default, are no good and bend the shares of the shortest estimates.
"""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bfenv.core.errors import WorkloadError
from bfenv.workloads.models import lublin_feitelson as lublin
from bfenv.workloads.models import modal_estimates as estimates
from tests.workloads.refusals import refused

HOUR = 3600

HEAD_VALUES = {  # emax: the other head values
    7200: [300, 600, 900, 1200, 1800, 2400, 3000, 3600, 3900, 4200, 4500, 4800, 5100, 5400, 5700,
           6000, 6300, 6600, 6900],
    14400: [300, 600, 900, 1200, 1800, 2400, 3600, 4800, 6000, 7200, 8400, 9600, 10200, 10800,
            11400, 12000, 12600, 13200, 13800],
    36000: [300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 18000, 21600, 25200, 27600,
            28800, 30000, 31200, 32400, 33600, 34800],
    64800: [300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 18000, 21600, 28800, 36000,
            43200, 46800, 50400, 54000, 57600, 61200],
    86400: [300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 18000, 21600, 28800, 36000,
            43200, 54000, 57600, 64800, 72000, 79200],
    129600: [300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 18000, 21600, 28800, 36000,
             43200, 64800, 72000, 90000, 108000, 126000],
    162754: [300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 18000, 21600, 28800, 36000,
             43200, 64800, 72000, 108000, 144000, 162000],
    216000: [300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 18000, 21600, 28800, 36000,
             43200, 64800, 72000, 108000, 144000, 180000],
}  # fmt: skip
HEAD_PERCENT = {  # (share of emax, its rank): percents, most popular first
    (None, 1): [21.7329, 10.3128, 8.71047, 7.36881, 6.2454, 5.30473, 4.51707, 3.85753, 3.30528,
                2.84287, 2.45567, 2.13145, 1.85997, 1.63265, 1.44231, 1.28293, 1.14948, 1.03774,
                0.944166, 0.865818],
    (0.097, 3): [12.1575, 10.2686, 9.7, 8.68697, 7.36259, 6.25365, 5.32509, 4.54758, 3.89654,
                 3.3514, 2.89494, 2.51273, 2.19269, 1.92471, 1.70032, 1.51243, 1.3551, 1.22337,
                 1.11306, 1.0207],
    (0.05, 7): [12.8781, 10.8772, 9.20183, 7.79896, 6.6243, 5.6407, 5.0, 4.81711, 4.12748,
                3.55004, 3.06652, 2.66165, 2.32265, 2.03878, 1.80109, 1.60207, 1.43542, 1.29587,
                1.17903, 1.08119],
}  # fmt: skip
TAIL_VALUES = {  # (number of values, emax)
    (90, 36000): [
        240, 480, 720, 960, 1230, 1440, 1680, 1980, 2220, 2460, 2760, 3060, 3300, 3630, 3900, 4200,
        4500, 4800, 5100, 5460, 5760, 6120, 6420, 6780, 7140, 7500, 7860, 8220, 8640, 9000, 9420,
        9840, 10260, 10680, 11100, 11520, 12000, 12480, 12960, 13440, 13920, 14430, 14940, 15480,
        16020, 16560, 17160, 17760, 18360, 18960, 19620, 20280, 20940, 21630, 22320, 23040, 23820,
        24600, 25380, 26220, 27060, 27900, 28830, 29760, 30720, 31680, 32700, 33780, 34860, 35970],
    (35, 64800): [
        2580, 5340, 8280, 11400, 14700, 18240, 21960, 26040, 30360, 34980, 40020, 45420, 51360,
        57780, 64770],
}  # fmt: skip
JOB_COUNTS_10000 = [
    2172, 1031, 871, 737, 625, 530, 452, 386, 331, 284, 246, 213, 186, 163, 144, 128, 115, 104, 94,
    87, 76, 68, 62, 56, 51, 47, 43, 40, 37, 34, 31, 29, 27, 25, 24, 22, 21, 20, 19, 18, 17, 16, 15,
    14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9, 9, 8, 8, 8, 7, 7, 7, 7, 6, 6, 6, 6, 5, 5, 5, 5, 5, 5,
    5, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3,
]  # fmt: skip
# P(rank 1 .. 20) in 1/10,000 for each head value, from 200,000 draws.
RANK_ODDS = """
10000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
0 0 7486 1877 0 637 0 0 0 0 0 0 0 0 0 0 0 0 0 0
0 0 1518 5900 1455 836 0 0 0 291 0 0 0 0 0 0 0 0 0 0
0 2858 504 1127 1910 1495 0 0 0 1163 0 0 0 711 0 0 232 0 0 0
0 1468 217 482 1225 1214 1461 0 0 1092 0 1042 798 539 0 0 342 0 0 118
0 2494 107 230 845 849 2031 0 978 642 0 635 514 356 0 0 239 0 0 80
0 1234 168 139 678 715 1627 2125 790 537 0 567 490 377 0 0 299 195 0 59
0 685 0 81 531 563 1604 1677 792 568 0 628 597 531 0 0 496 1046 150 50
0 1260 0 151 461 897 1037 1285 728 540 0 1138 520 461 0 0 435 892 148 48
0 0 0 12 326 2791 1767 874 565 444 665 742 381 336 0 0 312 633 115 37
0 0 0 0 344 1 473 971 751 565 1946 944 580 522 0 679 466 1045 530 183
0 0 0 0 562 0 0 762 1280 919 1492 787 537 513 0 671 466 973 648 390
0 0 0 0 344 0 0 334 566 594 676 379 280 261 0 595 199 5215 336 221
0 0 0 0 1319 0 0 481 843 831 1096 629 519 942 726 1398 308 0 545 363
0 0 0 0 0 0 0 295 696 451 686 403 683 4452 504 912 234 0 406 277
0 0 0 0 0 0 0 206 458 294 523 299 728 0 404 5745 507 0 582 252
0 0 0 0 0 0 0 318 662 1068 1195 538 1265 0 2500 0 878 0 1061 515
0 0 0 0 0 0 0 145 242 0 445 319 2110 0 4925 0 877 0 653 284
0 0 0 0 0 0 0 526 639 0 764 553 0 0 907 0 3411 0 2220 981
0 0 0 0 0 0 0 0 9 0 514 398 0 0 34 0 298 0 2606 6142
"""
HISTOGRAM = {  # (jobs, emax, share of emax): (runs, {figure: (mean, sd)})
    (1_000, 36000, None): (1000, {
        "values": (35, 0), "top 20": (0.897, 0), "top 5": (0.545, 0), "at emax": (0.218, 0),
        "mean": (16356.7, 552.478), "joint values": (0.771625, 0.0213557),
        "up to 1 h": (0.388553, 0.034113), "300 s": (0.082554, 0.00919378),
    }),
    (10_000, 36000, None): (1000, {
        "values": (90, 0), "top 20": (0.8899, 0), "top 5": (0.5436, 0), "at emax": (0.2172, 0),
        "mean": (16066.5, 554.429), "median": (11812.4, 2106.24),
        "joint values": (0.770803, 0.02132), "up to 1 h": (0.394074, 0.0338045),
        "up to 15 min": (0.225503, 0.0294695), "300 s": (0.0825787, 0.0092796),
        "900 s": (0.0669882, 0.0294351), "3600 s": (0.046773, 0.0263691),
        "7200 s": (0.0364442, 0.0231862), "18000 s": (0.0241449, 0.0120766),
    }),
    (50_000, 64800, None): (1000, {
        "values": (257, 0), "top 20": (0.89004, 0), "top 5": (0.54374, 0),
        "at emax": (0.21734, 0), "mean": (25218.4, 808.751), "joint values": (0.81402, 0.0125116),
        "up to 1 h": (0.391068, 0.0339928), "300 s": (0.0825931, 0.00928205),
    }),
    (10_000, 36000, 0.097): (400, {
        "values": (90, 0), "top 20": (0.8899, 0), "top 1": (0.1216, 0), "top 5": (0.4818, 0),
        "at emax": (0.097, 0), "300 s": (0.1216, 0), "mean": (12912.9, 622.94),
        "joint values": (0.747822, 0.0243871), "up to 1 h": (0.462728, 0.0358709),
        "900 s": (0.07269, 0.027626),
    }),
    (10_000, 36000, 0.05): (400, {
        "top 1": (0.1287, 0), "top 5": (0.4736, 0), "at emax": (0.05, 0), "300 s": (0.1287, 0),
        "mean": (11620.6, 661.297), "up to 1 h": (0.495932, 0.0388185),
    }),
    (10_000, 64800, 0.238): (400, {
        "top 1": (0.238, 0), "top 5": (0.5542, 0), "at emax": (0.238, 0),
        "mean": (26775.7, 764.283), "up to 1 h": (0.371618, 0.0334779),
        "300 s": (0.0798675, 0.00893468),
    }),
}  # fmt: skip
# On runtimes of the Lublin-Feitelson model, 256 processors, 10,000 jobs; 40 runs.
ON_LUBLIN = {
    36000: {
        "mean accuracy": (0.228401, 0.00499318),
        "median accuracy": (0.0790168, 0.00859527),
        "accuracy q90": (0.684882, 0.0196146),
        "exact": (0.0088675, 0.00108613),
        "accuracy above 0.9": (0.033225, 0.00316096),
        "accuracy below 0.1": (0.522325, 0.00963556),
        "Spearman": (0.546889, 0.0254365),
        "Pearson": (0.580497, 0.0268135),
        "mean ratio": (3.40565, 0.127388),
        "accuracy of 0 .. 1 min": (0.0195454, 0.00115442),
        "accuracy of 3 .. 10 h": (0.581586, 0.0107785),
        "cut": (0.0088125, 0.00110109),
    },
    64800: {
        "mean accuracy": (0.183363, 0.00528358),
        "median accuracy": (0.0701285, 0.00687304),
        "exact": (0.0016875, 0.000496752),
        "accuracy below 0.1": (0.544603, 0.00903439),
        "Spearman": (0.525608, 0.0263117),
        "mean ratio": (5.31279, 0.184288),
        "accuracy of 3 .. 10 h": (0.411398, 0.0149143),
    },
}


def outside(runs, reference, reference_runs):
    """Figures whose mean over our runs is not the program's, to 3.5 standard errors."""
    wrong = {}
    for name, (target, sd) in reference.items():
        ours = np.mean([run[name] for run in runs])
        allowed = 3.5 * sd * math.sqrt(1 / reference_runs + 1 / len(runs))
        if not abs(ours - target) <= allowed + 1e-9:
            wrong[name] = (ours, target, allowed)
    return wrong


@pytest.mark.parametrize(
    ("jobs", "values"),
    [
        (227, 21),
        (300, 22),
        (500, 26),
        (1000, 35),
        (2000, 41),
        (5000, 59),
        (10_000, 90),
        (20_000, 132),
        (28_476, 167),
        (50_000, 257),
        (70_000, 340),
        (100_000, 378),
        (250_000, 565),
        (300_000, 565),
        (10_000_000, 565),
    ],
)
def test_number_of_values(jobs, values):
    """The number of values is the program's."""
    assert estimates.number_of_values(jobs) == values


@pytest.mark.parametrize("emax", HEAD_VALUES)
def test_head_values(emax):
    """The head values are the program's."""
    assert estimates.head_values(emax).tolist() == [emax, *HEAD_VALUES[emax]]


@settings(max_examples=200, deadline=None)
@given(emax=st.integers(5701, 2_000_000))
def test_twenty_head_values(emax):
    """Every allowed maximum has twenty head values, itself first and the others ascending."""
    values = estimates.head_values(emax).tolist()
    assert len(values) == 20
    assert values[0] == emax
    assert values[1:] == sorted(set(values[1:]))
    assert 0 < values[1]
    assert values[-1] < emax


@pytest.mark.parametrize(("share", "rank"), HEAD_PERCENT)
def test_head_sizes(share, rank):
    """The percents of the head's values and the rank are the program's, in sum 89 %."""
    percent, found_rank = estimates.head_percent(share)
    np.testing.assert_allclose(percent, HEAD_PERCENT[share, rank], rtol=1e-5)  # six digits
    assert found_rank == rank
    assert percent.sum() == pytest.approx(89)


def test_large_share():
    """A maximum with a large share is the most popular value."""
    percent, rank = estimates.head_percent(0.238)
    assert rank == 1
    assert percent[0] == pytest.approx(23.8)
    assert percent.sum() == pytest.approx(89)


def test_ranks_of_traces():
    """The ranks of each trace are one to twenty."""
    for trace in zip(*estimates.RANKS_OF_TRACES, strict=True):
        assert sorted(trace) == list(range(1, 21))


def test_rank_odds():
    """The pool gives each head value each rank with the right odds."""
    odds = np.array(RANK_ODDS.split(), dtype=float).reshape(20, 20) / 10_000
    draws, rng = 20_000, np.random.default_rng(0)
    ours = np.zeros((20, 20))
    for _ in range(draws):
        ours[np.arange(20), estimates.head_ranks(1, rng) - 1] += 1 / draws
    # 4.5 standard errors, as there are 219 odds to be right at once, and their last digit.
    error = np.sqrt(odds * (1 - odds) * (1 / draws + 1 / 200_000))
    assert np.all(np.abs(ours - odds) <= 4.5 * error + 1e-4)
    # The first draw can be worked out: the smaller of two among 3, 3, 4 and 6.
    exact = np.array([0.75, 0.1875, 0.0625])
    assert np.all(np.abs(ours[1, [2, 3, 5]] - exact) <= 4 * np.sqrt(exact * (1 - exact) / draws))


@pytest.mark.parametrize("emax_rank", [2, 3, 7, 20])
def test_five_minutes(emax_rank):
    """If the maximum is not the most popular value, five minutes are."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        ranks = estimates.head_ranks(emax_rank, rng).tolist()
        assert sorted(ranks) == list(range(1, 21))
        assert ranks[:2] == [emax_rank, 1]


@pytest.mark.parametrize(("values", "emax"), TAIL_VALUES)
def test_tail_values(values, emax):
    """The tail values are the program's."""
    head = estimates.head_values(emax)
    assert estimates.tail_values(values, head).tolist() == TAIL_VALUES[values, emax]


@settings(max_examples=60, deadline=None)
@given(values=st.integers(21, 565), emax=st.integers(5701, 600_000))
def test_new_tail_values(values, emax):
    """Tail values are none of the head values, and are below the maximum."""
    head = estimates.head_values(emax)
    tail = estimates.tail_values(values, head).tolist()
    assert len(set(tail) | set(head.tolist())) == 20 + len(tail) <= values
    assert all(0 < value < emax for value in tail)


def test_job_counts():
    """Each value has as many of 10,000 jobs as in the program."""
    percent = np.concatenate([estimates.head_percent()[0], estimates.tail_percent(70)])
    assert estimates.job_counts(percent, 10_000).tolist() == JOB_COUNTS_10000


@pytest.mark.parametrize("reverse", [False, True])
def test_few_jobs(reverse):
    """With few jobs, rare values have one job each; with too few, one value has none."""
    percent = np.array([60.0, 30.0, 5.0, 3.0, 2.0])
    expected = {100: [60, 30, 5, 3, 2], 10: [5, 2, 1, 1, 1], 4: [0, 1, 1, 1, 1]}
    for jobs, counts in expected.items():
        ours = estimates.job_counts(percent[::-1] if reverse else percent, jobs)
        assert sorted(ours.tolist()) == sorted(counts)


@settings(max_examples=100, deadline=None)
@given(jobs=st.integers(227, 30_000), share=st.none() | st.floats(1e-4, 0.8899))
def test_sum_of_job_counts(jobs, share):
    """Job counts sum to the number of jobs, and a given share of the maximum is kept."""
    percent, rank = estimates.head_percent(share)
    tail = estimates.tail_percent(estimates.number_of_values(jobs) - 20)
    percent = np.concatenate([np.roll(percent, 1 - rank), tail])
    counts = estimates.job_counts(percent, jobs, keep_first=share is not None)
    assert counts.sum() == jobs
    assert counts.min() >= 0
    if share is not None:
        assert counts[0] == math.floor(round(share * jobs, 6))
    if share is None:
        assert counts.min() >= 1


def test_whole_share():
    """A share of the maximum in whole percents is not lost to rounding."""
    runtime = np.ones(1000, dtype=np.int64)
    for percent in range(1, 89):
        estimate = estimates.tsafrir(
            runtime, np.random.default_rng(0), emax=36000, emax_share=percent / 100
        )
        assert (estimate == 36000).sum() == 10 * percent


@settings(max_examples=300, deadline=None)
@given(data=st.data(), jobs=st.integers(1, 12), seed=st.integers(0, 2**32))
def test_deal(data, jobs, seed):
    """Estimates are dealt whenever they can be, and refused otherwise."""
    values = st.lists(st.integers(1, 9), min_size=jobs, max_size=jobs)
    runtime, estimate = np.array(data.draw(values)), np.array(data.draw(values))
    if np.all(np.sort(runtime) <= np.sort(estimate)):
        dealt = estimates.deal(runtime, estimate, np.random.default_rng(seed))
        assert sorted(dealt) == sorted(estimate)
        assert np.all(runtime <= dealt)
    else:
        with refused(WorkloadError, "emax"):
            estimates.deal(runtime, estimate, np.random.default_rng(seed))


def test_feasible_deals():
    """Every feasible deal is equally likely."""
    runtime, estimate = np.array([1, 3, 1]), np.array([1, 5, 3])
    rng, draws = np.random.default_rng(0), 8000
    seen = Counter(tuple(estimates.deal(runtime, estimate, rng).tolist()) for _ in range(draws))
    assert set(seen) == {(1, 3, 5), (5, 3, 1), (1, 5, 3), (3, 5, 1)}
    error = math.sqrt(0.25 * 0.75 / draws)
    assert all(abs(count / draws - 0.25) <= 4 * error for count in seen.values())


@pytest.mark.parametrize(("jobs", "emax", "share"), HISTOGRAM)
def test_histogram(jobs, emax, share):
    """The histogram of estimates is the program's."""
    reference_runs, reference = HISTOGRAM[jobs, emax, share]
    joint = [300, 600, 900, 1200, 1800] + [h * HOUR for h in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)]
    runtime, runs = np.ones(jobs, dtype=np.int64), []
    for seed in range(20 if jobs > 10_000 else 100):
        estimate = estimates.tsafrir(
            runtime, np.random.default_rng(seed), emax=emax, emax_share=share
        )
        assert estimate.shape == (jobs,)
        value, count = np.unique(estimate, return_counts=True)
        popular = np.sort(count)[::-1] / jobs
        figures = {
            "values": len(value),
            "top 1": popular[0],
            "top 5": popular[:5].sum(),
            "top 20": popular[:20].sum(),
            "at emax": (estimate == emax).mean(),
            "joint values": np.isin(estimate, joint).mean(),
            "mean": estimate.mean(),
            "median": np.median(estimate),
            "up to 1 h": (estimate <= HOUR).mean(),
            "up to 15 min": (estimate <= 900).mean(),
        }
        figures |= {f"{s} s": (estimate == s).mean() for s in (300, 900, 3600, 7200, 18000)}
        runs.append(figures)
    assert outside(runs, reference, reference_runs) == {}


def average_rank(values):
    _, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[inverse]


@pytest.mark.parametrize("emax", ON_LUBLIN)
def test_accuracy(emax):
    """The accuracy on modelled runtimes is the program's."""
    runs = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        modelled = lublin.generate(10_000, 256, rng).runtime
        estimate, runtime = estimates.tsafrir(modelled, rng, emax=emax), np.minimum(modelled, emax)
        accuracy = runtime / estimate
        three_to_ten_hours = (runtime >= 3 * HOUR) & (runtime < 10 * HOUR)
        runs.append(
            {
                "mean accuracy": accuracy.mean(),
                "median accuracy": np.median(accuracy),
                "accuracy q90": np.percentile(accuracy, 90),
                "exact": (accuracy == 1).mean(),
                "accuracy above 0.9": (accuracy > 0.9).mean(),
                "accuracy below 0.1": (accuracy < 0.1).mean(),
                "Spearman": np.corrcoef(average_rank(runtime), average_rank(estimate))[0, 1],
                "Pearson": np.corrcoef(runtime, estimate)[0, 1],
                "mean ratio": estimate.mean() / runtime.mean(),
                "accuracy of 0 .. 1 min": accuracy[runtime < 60].mean(),
                "accuracy of 3 .. 10 h": accuracy[three_to_ten_hours].mean(),
                "cut": (modelled > emax).mean(),
            }
        )
    assert outside(runs, ON_LUBLIN[emax], 40) == {}


def test_no_tail():
    """A sample may be too small for a tail, and then has head values only."""
    # Half a minute off the grid, every place for the only tail value is emax or beyond.
    assert len(estimates.tail_values(21, estimates.head_values(132_030))) == 0
    runtime = np.ones(227, dtype=np.int64)
    estimate = estimates.tsafrir(runtime, np.random.default_rng(0), emax=132_030)
    assert np.isin(estimate, estimates.head_values(132_030)).all()
    assert len(estimate) == 227


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    jobs=st.integers(227, 2000),
    emax=st.integers(5701, 200_000),
    share=st.none() | st.floats(0.001, 0.88),
    longest=st.integers(1, 400_000),
)
def test_bounds(seed, jobs, emax, share, longest):
    """Modal estimates are never above the maximum, nor below the runtime as cut at it."""
    rng = np.random.default_rng(seed)
    runtime = np.exp(rng.uniform(0, math.log(longest), jobs)).astype(np.int64)
    original = runtime.copy()
    try:
        estimate = estimates.tsafrir(runtime, rng, emax=emax, emax_share=share)
    except WorkloadError as error:
        assume("emax" not in str(error))
        raise
    np.testing.assert_array_equal(runtime, original)
    assert np.all((np.minimum(runtime, emax) <= estimate) & (1 <= estimate) & (estimate <= emax))
    assert estimate.dtype == np.int64


def test_too_many_long_jobs():
    """More long jobs than long estimates are refused with advice."""
    runtime = np.full(1000, 36000)
    with refused(WorkloadError, 1000, 36000, 218, "emax"):
        estimates.tsafrir(runtime, np.random.default_rng(0), emax=36000)


@pytest.mark.parametrize(
    ("argument", "value", "named"),
    [
        ("runtime", np.ones(226, dtype=np.int64), ["227", "(226,)"]),
        ("runtime", np.ones((2, 300), dtype=np.int64), ["(2, 300)"]),
        ("runtime", np.ones(300), ["float64"]),
        ("runtime", np.full(300, -1), ["-1"]),
        ("emax", 5700, ["5700", "5,701"]),
        ("emax", 2**53, [2**53]),
        ("emax_share", 0.0, ["0.0"]),
        ("emax_share", 0.89, ["0.89"]),
        ("emax_share", math.nan, ["nan"]),
    ],
)
def test_bad_argument(argument, value, named):
    """An argument out of range is named, with its value."""
    arguments = {"runtime": np.ones(300, dtype=np.int64), "emax": 36000, argument: value}
    with refused(WorkloadError, argument, *named):
        estimates.tsafrir(rng=np.random.default_rng(0), **arguments)


# Number and share of the popular values, and users who repeat their estimates


@settings(max_examples=30)
@given(
    st.integers(1, 60), st.floats(0.3, 1), st.sampled_from([None, 0.02, 0.2]), st.integers(0, 2**32)
)
def test_popular_values(popular_values, popular_share, emax_share, seed):
    """So many values serve that share of the jobs, to one job per value; emax has its own share."""
    assume(popular_values > 1 or emax_share is None)
    emax, jobs = 18 * HOUR, 5000
    runtime = np.ones(jobs, dtype=np.int64)
    estimate = estimates.tsafrir(
        runtime,
        np.random.default_rng(seed),
        emax=emax,
        emax_share=emax_share,
        popular_values=popular_values,
        popular_share=popular_share,
    )
    counts = Counter(estimate.tolist())
    round_values = set(estimates.head_values(emax, max(popular_values, 20)).tolist())
    most = [n for _, n in counts.most_common(popular_values)]
    assert emax in counts and sum(most) / jobs >= popular_share - 100 / jobs
    if popular_values >= 20:  # no unpopular value is a round one
        served = sum(n for value, n in counts.items() if value in round_values)
        assert abs(served / jobs - popular_share) <= 100 / jobs
    if emax_share is not None:
        assert counts[emax] == math.floor(round(emax_share * jobs, 6))
    if popular_share == 1:
        assert counts.keys() <= round_values and len(counts) == popular_values


def test_published_model():
    """20 values and 89 % are the model as it was published."""
    runtime = np.arange(1, 1001)
    plain = estimates.tsafrir(runtime, np.random.default_rng(1), emax=36000)
    named = estimates.tsafrir(
        runtime, np.random.default_rng(1), emax=36000, popular_values=20, popular_share=0.89
    )
    assert plain.tolist() == named.tolist()


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.floats(0, 1), st.integers(1, 5))
def test_repeated_estimates(seed, share, users):
    """Each value keeps its number of jobs, no estimate is below the runtime."""
    rng = np.random.default_rng(seed)
    estimate = rng.integers(1, 6, 60) * 10
    runtime = rng.integers(1, estimate + 1)
    user = rng.integers(-1, users, 60)
    found = estimates.repeated(runtime, estimate, user, share, rng)
    assert sorted(found.tolist()) == sorted(estimate.tolist())
    assert (found >= runtime).all()
    if share == 0 or (user < 0).all():
        assert found.tolist() == estimate.tolist()


def test_repeat_share():
    """A user's estimates repeat as often as values are equal by chance, more with the share.

    With a share of 1 a job repeats unless its runtime, or the lack of a later job, forbids it.
    """
    rng = np.random.default_rng(0)
    runtime, user = rng.integers(1, 300, 4000), rng.integers(0, 20, 4000)

    def repeats(share):
        found = estimates.tsafrir(
            runtime, np.random.default_rng(1), emax=36000, repeat_share=share, user=user
        )
        last, pairs = {}, []
        for who, value in zip(user.tolist(), found.tolist(), strict=True):
            pairs.append(last.get(who) == value)
            last[who] = value
        return sum(pairs) / len(pairs)

    at = [repeats(share) for share in (0.0, 0.3, 0.6, 1.0)]
    assert at[0] == pytest.approx(0.09, abs=0.03)  # the sum of the squared shares
    assert at == sorted(at) and at[1] > at[0] + 0.2 and at[3] > 0.8


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"popular_values": 0}, ["popular_values", "0"]),
        ({"popular_values": 101}, ["popular_values", "101"]),
        ({"popular_values": 90, "emax": 6000}, ["popular_values=90", "6000 s", "20 round values"]),
        ({"popular_share": 0}, ["popular_share", "0"]),
        ({"popular_share": 1.1}, ["popular_share", "1.1"]),
        ({"popular_share": 0.5, "emax_share": 0.5}, ["emax_share", "0.5"]),
        ({"popular_values": 1, "emax_share": 0.5}, ["popular_values=1", "popular_share"]),
        ({"repeat_share": 1.5}, ["repeat_share", "1.5"]),
        ({"repeat_share": 0.5}, ["repeat_share=0.5", "users"]),
        ({"repeat_share": 0.5, "user": np.full(300, -1)}, ["repeat_share=0.5", "users"]),
    ],
)
def test_bad_popular_values(parameters, named):
    """What is out of range is named."""
    values = {"emax": 36000} | parameters
    with refused(WorkloadError, *named):
        estimates.tsafrir(np.ones(300, dtype=np.int64), np.random.default_rng(0), **values)
