"""The simple models of estimates against their formulas."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv.core.errors import WorkloadError
from bfenv.workloads.models import simple_estimates as estimates
from tests.workloads.refusals import refused


@settings(max_examples=100, deadline=None)
@given(
    runtime=st.lists(st.integers(0, 10**6), max_size=20),
    factor=st.floats(1, 300),
    share=st.floats(0, 1),
    cap=st.integers(0, 10**6),
    seed=st.integers(0, 2**32),
)
def test_bounds(runtime, factor, share, cap, seed):
    """Simple estimates are never below the runtime, nor above the longest of their formula."""
    runtime, rng = np.array(runtime, dtype=np.int64), np.random.default_rng(seed)
    longest = {
        "deterministic": runtime * factor,
        "zotkin": 2 * runtime * factor,
        "tsafrir": runtime * factor,
        "phi": np.maximum(runtime, cap),
    }
    drawn = {
        "deterministic": estimates.deterministic(runtime, factor),
        "zotkin": estimates.uniform(runtime, rng, factor, "zotkin"),
        "tsafrir": estimates.uniform(runtime, rng, factor, "tsafrir"),
        "phi": estimates.phi(runtime, rng, share, cap),
    }
    for name, estimate in drawn.items():
        assert estimate.dtype == np.int64, name
        assert estimate.shape == runtime.shape, name
        assert np.all((estimate >= runtime) & (estimate >= 1)), name
        assert np.all(estimate <= np.maximum(1, longest[name] + 0.5)), name


def test_tenth_more():
    """A factor of 1.1 adds a tenth, rounded to seconds, with an estimate of at least 1 s."""
    runtime = np.array([0, 1, 3, 10, 1000])
    assert estimates.deterministic(runtime, 1.1).tolist() == [1, 1, 3, 11, 1100]
    assert estimates.deterministic(runtime, 1).tolist() == [1, 1, 3, 10, 1000]


@pytest.mark.parametrize("factor", [1, 2, 10])
def test_uniform_range(factor):
    """Estimate / runtime has the mean and the ends of the uniform law."""
    # Mean and variance of the uniform law; 4 standard errors of the mean of 200,000 draws, whose
    # extremes come within 0.1 % of the ends.
    runtime, rng = np.full(200_000, 10_000), np.random.default_rng(0)
    for convention, top in (("zotkin", 2 * factor), ("tsafrir", factor)):
        ratio = estimates.uniform(runtime, rng, factor, convention) / runtime
        error = (top - 1) / math.sqrt(12 * len(runtime))
        assert abs(ratio.mean() - (1 + top) / 2) <= 4 * error
        assert ratio.min() == pytest.approx(1, abs=1e-3 * top)
        assert ratio.max() == pytest.approx(top, abs=1e-3 * top)


def test_phi_accuracy():
    """Phi gives exact estimates to its share, and uniform accuracy to the others."""
    runtime, rng = np.full(200_000, 1000), np.random.default_rng(0)
    accuracy = runtime / estimates.phi(runtime, rng, 0.3, cap=10**12)
    draws = len(runtime)
    # Rounding adds the accuracies above 1000 / 1000.5 to the exact ones: 0.7 * 0.0005.
    share = 0.3 + 0.7 * 0.0005
    assert abs((accuracy == 1).mean() - share) <= 4 * math.sqrt(share * (1 - share) / draws)
    for level in (0.1, 0.5, 0.9):
        below = 0.7 * level
        error = math.sqrt(below * (1 - below) / draws)
        assert abs((accuracy < level).mean() - below) <= 4 * error


def test_phi_cap():
    """Phi cuts at a day, but never below the runtime."""
    runtime = np.array([80_000, 86_400, 100_000] * 100)
    estimate = estimates.phi(runtime, np.random.default_rng(0), 0.0)
    assert np.all(estimate[runtime <= 86_400] <= 86_400)
    assert np.all(estimate[runtime == 100_000] == 100_000)
    assert np.all(estimates.phi(runtime, np.random.default_rng(0), 1.0) == runtime)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda r, g: estimates.deterministic(r, 0.99), ["factor", "0.99"]),
        (lambda r, g: estimates.deterministic(r, math.nan), ["factor", "nan"]),
        (lambda r, g: estimates.uniform(r, g, 0.5, "zotkin"), ["factor", "0.5"]),
        (lambda r, g: estimates.uniform(r, g, math.inf, "tsafrir"), ["factor", "inf"]),
        (lambda r, g: estimates.uniform(r, g, 2, "other"), ["convention", "'other'"]),
        (lambda r, g: estimates.phi(r, g, 1.1), ["exact_share", "1.1"]),
        (lambda r, g: estimates.phi(r, g, math.nan), ["exact_share", "nan"]),
        (lambda r, g: estimates.deterministic(r / 2, 1), ["runtime", "float64"]),
        (lambda r, g: estimates.deterministic(-r, 1), ["runtime", "-2"]),
    ],
)
def test_bad_argument(call, named):
    """An argument out of range is named, with its value."""
    with refused(WorkloadError, *named):
        call(np.array([1, 2]), np.random.default_rng(0))


@pytest.mark.parametrize(("longer", "factor"), [(101, 1.5), (150, 2), (150, 5), (400, 3), (400, 9)])
def test_swap_probability(longer, factor):
    """The formula is the share of drawn pairs in which the shorter job has the longer estimate."""
    rng = np.random.default_rng(0)
    draws = 200_000
    one = 100 * (1 + (factor - 1) * rng.random(draws))
    other = longer * (1 + (factor - 1) * rng.random(draws))
    formula = estimates.swap_probability(np.array([100]), np.array([longer]), factor)[0]
    assert (one > other).mean() == pytest.approx(formula, abs=0.005)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.floats(1.01, 1000), st.floats(1.01, 1000))
def test_swap_probability_grows(shorter, more, factor, other):
    """Tsafrir 2010, section 3.3: it never falls with the factor, and has a limit."""
    pair = np.array([shorter]), np.array([shorter + more])
    low, high = sorted((factor, other))
    first, second = (estimates.swap_probability(*pair, f)[0] for f in (low, high))
    assert 0 <= first <= second * (1 + 1e-9) <= shorter / (2 * (shorter + more)) * (1 + 1e-6)


def test_bad_pair():
    """The first runtime must be the shorter one, and the factor above 1."""
    for shorter, longer, factor in ((2, 2, 3), (3, 2, 3), (1, 2, 1)):
        with refused(WorkloadError, "shorter < longer"):
            estimates.swap_probability(np.array([shorter]), np.array([longer]), factor)
