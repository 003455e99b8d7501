"""The Lublin-Feitelson model against its own formulas and against the authors' program.

Three kinds of reference numbers stand below as literals. EXACT ones follow from the model's
formulas by numerical integration. PROGRAM ones are (mean, sd between runs) of 20 runs of the
authors' program, 100,000 jobs each. CYCLE are the weights that the program prints.

Tolerances. A figure of one run of 100,000 jobs has a known sd between runs; the mean over 16 of
our runs must be within ONE such sd of the reference: 4 standard errors against an exact value, 3
against the program's own mean. Frequencies of single values, drawn 1,000,000 times, must be
within 4 binomial standard errors.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv.core.errors import WorkloadError
from bfenv.workloads.models import lublin_feitelson as lublin
from tests.workloads.refusals import refused

RUNS, JOBS = 16, 100_000

# For processors: (figure, its sd in one run of 100,000 jobs).
EXACT = {
    128: {
        "mean size": (12.1339, 0.006 * 12.1339),
        "mean log2 size": (2.321, 0.00624),
        "serial": (0.2440, 0.0014),
        "power of two": (0.869073, 0.00101),
        "mean runtime": (4357.97 - 0.5, 0.007 * 4357.97),  # the fraction of a second is cut
        "median runtime": (108, 0.015 * 108),
        "mean gap": (911.29, 0.025 * 911.29),
        "load": (0.722199, 0.03 * 0.722199),
        "area": (84241.0, 1365.85),
    },
    256: {
        "mean size": (22.1695, 0.006 * 22.1695),
        "mean log2 size": (2.75501, 0.00565),
        "serial": (0.2440, 0.0014),
        "power of two": (0.859904, 0.00114),
        "mean runtime": (4892.49 - 0.5, 0.007 * 4892.49),
        "median runtime": (144, 0.015 * 144),
        "mean gap": (911.29, 0.025 * 911.29),
        "load": (0.868909, 0.03 * 0.868909),
        "area": (202708.0, 2012.3),
    },
}
PROGRAM = {
    128: {
        "runtime q75": (6973.95, 65.53),
        "runtime q95": (19790.9, 117.98),
        "runtime q99": (33913.4, 377.7),
        "over 1 h": (0.303636, 0.001603),
        "over 10 h": (0.0082665, 0.000378),
        "gap q50": (116.0, 1.026),
        "gap q90": (1240.35, 13.83),
        "gap q99": (13166.7, 262.3),
        "gap CV": (7.14732, 0.2803),
        "Pearson": (0.173227, 0.00519),
    },
    256: {
        "runtime q75": (8336.42, 53.16),
        "runtime q95": (20703.9, 112.6),
        "runtime q99": (34769.7, 300.7),
        "over 1 h": (0.344743, 0.001571),
        "over 10 h": (0.0089145, 0.00026),
        "gap q50": (115.55, 1.099),
        "gap q90": (1237.09, 11.66),
        "gap q99": (13173.3, 318.0),
        "gap CV": (7.09507, 0.2469),
        "Pearson": (0.247995, 0.00397),
    },
}
TYPED_PROGRAM = {
    128: {
        "mean size": (8.91493, 0.006 * 8.91493),
        "serial": (0.174581, 0.00135),
        "power of two": (0.863643, 0.00141),
        "mean runtime": (1612.74, 72.09),
        "median runtime": (17.95, 0.394),
        "mean gap": (522.324, 13.99),
        "gap q50": (50.9, 0.553),
        "gap q90": (679.0, 13.05),
        "gap CV": (6.94808, 0.2071),
        "over 1 h": (0.0688055, 0.00298),
        "load": (0.39897, 0.01777),
        "Pearson": (0.147288, 0.00497),
        "batch": (0.148816, 0.00651),
    },
    256: {
        "mean size": (9.87491, 0.1068),
        "serial": (0.17469, 0.00138),
        "power of two": (0.863945, 0.00131),
        "mean runtime": (1678.58, 77.2),
        "mean gap": (521.708, 16.36),
        "load": (0.350749, 0.01825),
        "batch": (0.149559, 0.00836),
    },
}
EXACT_SIZES = {
    128: {1: 0.244, 2: 0.115553, 4: 0.14905, 8: 0.141436, 16: 0.137655, 32: 0.0327105,
          64: 0.0324832, 128: 0.0161849},
    256: {1: 0.244, 2: 0.0909673, 4: 0.117337, 8: 0.111343, 16: 0.108367, 32: 0.106881,
          64: 0.0324832, 128: 0.0323696, 256: 0.0161564},
}  # fmt: skip
EXACT_RUNTIMES = {  # P(runtime <= seconds)
    128: {1: 0.00339114, 5: 0.0744078, 10: 0.156955, 30: 0.325178, 60: 0.427271, 300: 0.595302,
          600: 0.637467, 1800: 0.678095, 3600: 0.695687, 7200: 0.754323, 14400: 0.896831,
          36000: 0.991746, 86400: 0.999151},
    256: {1: 0.00319074, 5: 0.0700107, 10: 0.14768, 30: 0.305961, 60: 0.402022, 300: 0.560122,
          600: 0.599796, 1800: 0.638028, 3600: 0.655226, 7200: 0.72064, 14400: 0.883033,
          36000: 0.991106, 86400: 0.99919},
}  # fmt: skip
CYCLE = {
    "typeless": """
0.5078 0.4561 0.4085 0.3649 0.3250 0.2888 0.2560 0.2263 0.1997 0.1758 0.1649 0.2389 0.3293 0.4351
0.5543 0.6840 0.8208 0.9609 1.1002 1.2349 1.3615 1.4769 1.5785 1.6644 1.7332 1.7843 1.8174 1.8331
1.8321 1.8155 1.7848 1.7415 1.6874 1.6243 1.5538 1.4777 1.3976 1.3149 1.2310 1.1470 1.0640 0.9828
0.9040 0.8284 0.7563 0.6880 0.6238 0.5637""",
    "batch": """
0.5462 0.5011 0.4589 0.4194 0.3826 0.3483 0.3166 0.2873 0.2602 0.2354 0.3472 0.4484 0.5590 0.6760
0.7964 0.9172 1.0353 1.1480 1.2531 1.3484 1.4326 1.5044 1.5631 1.6085 1.6405 1.6594 1.6659 1.6607
1.6448 1.6190 1.5846 1.5427 1.4944 1.4408 1.3830 1.3219 1.2586 1.1938 1.1283 1.0628 0.9980 0.9342
0.8720 0.8116 0.7534 0.6977 0.6445 0.5939""",
    "interactive": """
0.5135 0.4588 0.4087 0.3629 0.3213 0.2836 0.2497 0.2193 0.1921 0.1679 0.1187 0.1797 0.2576 0.3524
0.4630 0.5874 0.7225 0.8647 1.0100 1.1542 1.2931 1.4229 1.5403 1.6427 1.7280 1.7949 1.8426 1.8711
1.8810 1.8732 1.8491 1.8103 1.7587 1.6962 1.6248 1.5463 1.4626 1.3755 1.2865 1.1970 1.1082 1.0212
0.9368 0.8557 0.7784 0.7054 0.6368 0.5728""",
}
CLASSES = {
    "typeless": lublin.TYPELESS,
    "batch": lublin.BATCH,
    "interactive": lublin.INTERACTIVE,
}


def offered_load(sample, processors):
    return float(sample.runtime @ sample.size) / (processors * sample.submit[-1])


def figures(sample, processors):
    submit, size, runtime, interactive = sample
    gap = np.diff(submit, prepend=0)
    ours = {
        "mean size": size.mean(),
        "mean log2 size": np.log2(size).mean(),
        "serial": (size == 1).mean(),
        "power of two": (size & (size - 1) == 0).mean(),
        "mean runtime": runtime.mean(),
        "median runtime": np.median(runtime),
        "over 1 h": (runtime > 3600).mean(),
        "over 10 h": (runtime > 36000).mean(),
        "area": (runtime * size).mean(),
        "mean gap": gap.mean(),
        "gap CV": gap.std() / gap.mean(),
        "load": offered_load(sample, processors),
        "Pearson": np.corrcoef(size, runtime)[0, 1],
        "batch": 1 - interactive.mean(),
    }
    ours |= {f"runtime q{q}": np.percentile(runtime, q) for q in (75, 95, 99)}
    ours |= {f"gap q{q}": np.percentile(gap, q) for q in (50, 90, 99)}
    return ours


def mean_figures(processors, typed, jobs=JOBS):
    rngs = [np.random.default_rng(seed) for seed in range(RUNS)]
    runs = [
        figures(lublin.generate(jobs, processors, rng, typed=typed), processors) for rng in rngs
    ]
    return {name: np.mean([run[name] for run in runs]) for name in runs[0]}


def outside(ours, reference):
    """Figures more than one sd of a single run away from the reference."""
    return {
        name: (ours[name], target, sd)
        for name, (target, sd) in reference.items()
        if not abs(ours[name] - target) <= sd
    }


@pytest.mark.parametrize("processors", [128, 256])
def test_figures(processors):
    """A sample has the figures of the formulas and of the authors' program."""
    ours = mean_figures(processors, typed=False)
    assert outside(ours, EXACT[processors] | PROGRAM[processors]) == {}


@pytest.mark.parametrize("processors", [128, 256])
def test_typed_figures(processors):
    """A sample of two classes of jobs has the figures of the authors' program."""
    assert outside(mean_figures(processors, typed=True), TYPED_PROGRAM[processors]) == {}


def test_load_of_machines():
    """The load grows with the machine as the formulas say."""
    # 3 % is the sd of one run's load.
    for processors, load in ((64, 0.598), (512, 0.960), (1024, 1.020)):
        assert mean_figures(processors, typed=False)["load"] == pytest.approx(load, rel=0.03)


@pytest.mark.parametrize("processors", [128, 256])
def test_frequencies(processors):
    """Each size and each runtime has its exact frequency."""
    jobs = 1_000_000
    sample = lublin.generate(jobs, processors, np.random.default_rng(7))
    for size, share in EXACT_SIZES[processors].items():
        error = math.sqrt(share * (1 - share) / jobs)
        assert abs((sample.size == size).mean() - share) <= 4 * error, size
    for runtime, share in EXACT_RUNTIMES[processors].items():
        error = math.sqrt(share * (1 - share) / jobs)
        assert abs((sample.runtime <= runtime).mean() - share) <= 4 * error, runtime
    assert sample.runtime.min() == 1
    assert sample.runtime.max() <= 162_754


@pytest.mark.parametrize(
    ("name", "mean", "median"),
    [("typeless", 911.29, 138.887), ("batch", 3516.93, 169.169), ("interactive", 619.298, 56.2885)],
)
def test_gaps(name, mean, median):
    """Gaps in points have the exact mean and median."""
    seconds = 1800 * lublin.gaps(RUNS * JOBS, CLASSES[name], np.random.default_rng(3))
    assert seconds.mean() == pytest.approx(mean, rel=0.025)
    # Half of the draws below the median, to 4 binomial standard errors.
    assert abs((seconds <= median).mean() - 0.5) <= 4 * 0.5 / math.sqrt(len(seconds))
    assert seconds.max() <= math.exp(13) * (1 + 1e-12)


@pytest.mark.parametrize("name", CLASSES)
def test_daily_cycle(name):
    """The daily cycle is the one that the authors' program prints."""
    weights = lublin.daily_weights(CLASSES[name])
    assert weights.sum() == pytest.approx(48)
    np.testing.assert_allclose(weights, [float(w) for w in CYCLE[name].split()], atol=6e-5)


@pytest.mark.parametrize("start_hour", [0, 9, 23])
def test_submit_times(start_hour):
    """Submit times are those of paying the points of the gaps slot by slot."""
    weights = lublin.daily_weights(lublin.TYPELESS).tolist()
    gaps = lublin.gaps(3000, lublin.TYPELESS, np.random.default_rng(5))
    clock, slowly = start_hour * 3600.0, []
    for gap in gaps:
        while gap > 0:
            slot = int(clock // 1800)
            worth = weights[slot % 48]
            to_next = 1800 * (slot + 1) - clock
            if gap < worth * to_next / 1800:
                clock += 1800 * gap / worth
                gap = 0
            else:
                clock = 1800.0 * (slot + 1)
                gap -= worth * to_next / 1800
        slowly.append(clock - start_hour * 3600)
    sample = lublin.generate(3000, 128, np.random.default_rng(5), start_hour=start_hour)
    np.testing.assert_allclose(sample.submit, slowly, rtol=0, atol=0.5 + 1e-4)  # whole seconds


def hour_of_arrival(submit):
    """Circular mean of the hours of the day."""
    angle = np.angle(np.exp(2j * np.pi * submit / 86400).mean())
    return angle * 24 / (2 * np.pi) % 24


@pytest.mark.parametrize("load", [None, 0.3, 1.5])
def test_afternoon_arrivals(load):
    """Jobs keep arriving in the afternoon, however long the sample is."""
    # The model's circular mean is 14.87 h, which the authors' program leaves by 1.4 h every
    # 10,000 jobs. Pooled over 16 runs, 10,000 jobs have an sd of 0.08 h: 4 sd are allowed.
    rngs = [np.random.default_rng(seed) for seed in range(RUNS)]
    submits = [lublin.generate(JOBS, 128, rng, load=load).submit for rng in rngs]
    for jobs in (slice(10_000), slice(-10_000, None)):
        pooled = np.concatenate([submit[jobs] for submit in submits])
        assert hour_of_arrival(pooled) == pytest.approx(14.87, abs=0.32)


def test_start_hour():
    """The start hour shifts the daily cycle, not the clock."""
    early = [lublin.generate(10_000, 128, np.random.default_rng(s)).submit for s in range(40)]
    late = [
        lublin.generate(10_000, 128, np.random.default_rng(s), start_hour=12).submit
        for s in range(40)
    ]
    shift = hour_of_arrival(np.concatenate(early)) - hour_of_arrival(np.concatenate(late))
    assert shift % 24 == pytest.approx(12, abs=0.5)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    jobs=st.integers(1, 300),
    processors=st.integers(1, 3000),
    load=st.none() | st.floats(0.01, 20),
    typed=st.booleans(),
    start_hour=st.integers(0, 23),
)
def test_any_sample(seed, jobs, processors, load, typed, start_hour):
    """Every sample fits the machine and reaches the load."""
    rng = np.random.default_rng(seed)
    sample = lublin.generate(jobs, processors, rng, load=load, typed=typed, start_hour=start_hour)
    for column in (sample.submit, sample.size, sample.runtime):
        assert column.shape == (jobs,)
        assert column.dtype == np.int64
    assert sample.interactive.shape == (jobs,)
    assert sample.interactive.dtype == np.bool_
    assert sample.submit[0] >= 0
    assert np.all(np.diff(sample.submit) >= 0)
    assert np.all((sample.size >= 1) & (sample.size <= processors))
    assert np.all((sample.runtime >= 1) & (sample.runtime <= 162_754))
    if not typed:
        assert not sample.interactive.any()
    if load is not None:
        wanted = float(sample.runtime @ sample.size) / (processors * load)
        assert abs(sample.submit[-1] - max(1, wanted)) <= 0.5 + 1e-9 * wanted


@pytest.mark.parametrize("typed", [False, True])
def test_given_load(typed):
    """A given load is met by other submit times: sizes, runtimes and types stay the same."""
    natural = lublin.generate(20_000, 128, np.random.default_rng(1), typed=typed)
    squeezed = lublin.generate(20_000, 128, np.random.default_rng(1), typed=typed, load=0.9)
    assert offered_load(squeezed, 128) == pytest.approx(0.9, rel=1e-6)
    for before, after in zip(natural[1:3], squeezed[1:3], strict=True):
        np.testing.assert_array_equal(np.sort(before), np.sort(after))
    assert natural.interactive.sum() == squeezed.interactive.sum()


def test_interactive_first():
    """At equal submit times, interactive jobs come first."""
    sample = lublin.generate(5000, 4, np.random.default_rng(2), typed=True, load=500.0)
    tie = np.diff(sample.submit) == 0
    batch_then_interactive = ~sample.interactive[:-1] & sample.interactive[1:]
    assert np.any(tie & sample.interactive[:-1] & ~sample.interactive[1:])
    assert not np.any(tie & batch_then_interactive)


def test_machine_of_100():
    """A machine that is no power of two is filled, and not exceeded."""
    sample = lublin.generate(JOBS, 100, np.random.default_rng(0))
    assert sample.size.max() == 100
    # Powers of two that round up to 128, from log2 size 6.5, and others from 99.5 up, all of them
    # in the second stage, which is 2.5 wide.
    u_hi = math.log2(100)
    share = 0.14 * (0.576 * (u_hi - 6.5) + 0.18 * (u_hi - math.log2(99.5))) / 2.5
    error = math.sqrt(share * (1 - share) / JOBS)
    assert abs((sample.size == 100).mean() - share) <= 4 * error


def test_interactive_sizes():
    """Interactive jobs stay small on a large machine."""
    sample = lublin.generate(JOBS, 1024, np.random.default_rng(0), typed=True)
    assert sample.size[sample.interactive].max() == 45
    assert sample.size[~sample.interactive].max() == 1024


def test_scaled_sizes():
    """Another machine changes the bounds of log2(size), in order, and nothing else."""
    scaled = lublin.scaled(lublin.TYPELESS, 1024)
    assert (scaled.u_hi, scaled.u_med, scaled.u_low) == (10.0, 7.5, 0.8)
    assert scaled.a1 == lublin.TYPELESS.a1
    for parameters in CLASSES.values():
        for processors in range(1, 40):
            small = lublin.scaled(parameters, processors)
            assert small.u_low <= small.u_med <= small.u_hi == math.log2(processors)


def test_scaling_to_fit():
    """Scaling to the machine of the fit changes nothing."""
    assert lublin.scaled(lublin.TYPELESS, 128) == lublin.TYPELESS
    assert lublin.scaled(lublin.BATCH, 128) == lublin.BATCH


def test_given_parameters():
    """Given parameters are used as they are."""
    serial = lublin.scaled(lublin.TYPELESS, 1)
    sample = lublin.generate(100, 64, np.random.default_rng(0), parameters=[serial])
    assert np.all(sample.size == 1)


@pytest.mark.parametrize("typed", [False, True])
def test_seed(typed):
    """One seed draws one sample, and another seed another."""

    def draw(seed):
        return lublin.generate(1000, 128, np.random.default_rng(seed), typed=typed, load=0.8)

    for one, same, other in zip(draw(1), draw(1), draw(2), strict=True):
        np.testing.assert_array_equal(one, same)
        assert not typed or not np.array_equal(one, other)
    assert not np.array_equal(draw(1).submit, draw(2).submit)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("jobs", 0),
        ("jobs", 2.5),
        ("processors", 0),
        ("load", 0.0),
        ("load", -1.0),
        ("load", math.nan),
        ("load", math.inf),
        ("load", 1e-30),
        ("longest", 0),
        ("start_hour", 24),
        ("start_hour", -1),
    ],
)
def test_bad_argument(option, value):
    """An argument out of range is named, with its value."""
    arguments = {"jobs": 10, "processors": 8, "rng": np.random.default_rng(0), option: value}
    with refused(WorkloadError, option, value):
        lublin.generate(**arguments)


def test_wrong_streams():
    """Parameters of one class of jobs are refused for two."""
    rng, parameters = np.random.default_rng(0), [lublin.TYPELESS]
    with refused(WorkloadError, "parameters", "typed=True"):
        lublin.generate(10, 8, rng, typed=True, parameters=parameters)


def test_no_machine():
    """A machine without processors is refused."""
    with refused(WorkloadError, "processors", "got 0"):
        lublin.scaled(lublin.TYPELESS, 0)
