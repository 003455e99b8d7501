"""Logarithmic scales of the observation."""

import math

import numpy as np

from bfenv.core.kernel import kernel
from bfenv.envs.features import LOG_LARGEST_EXPANSION, LOG_LONGEST, LOG_MOST

ROOT_HALF = int(np.float64(math.sqrt(0.5)).view(np.int64))  # its bits
FRACTION_BITS = 52
LOG_TWO = math.log(2.0)
THIRD, FIFTH, SEVENTH, NINTH = 1 / 3, 1 / 5, 1 / 7, 1 / 9


@kernel
def log(x):
    """Return the natural logarithm of a positive normal number, to within 1e-9.

    The compiler handles several slots with one instruction, unlike with `math.log`; and the result
    is the same on every machine. It uses the series of log((1 + s) / (1 - s)).
    """
    bits = np.float64(x).view(np.int64)
    exponent = (bits - ROOT_HALF) >> FRACTION_BITS
    mantissa = np.int64(bits - (exponent << FRACTION_BITS)).view(np.float64)  # 0.7 to 1.4
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    series = 1.0 + z * (THIRD + z * (FIFTH + z * (SEVENTH + z * NINTH)))
    return exponent * LOG_TWO + 2.0 * s * series


@kernel
def log_time(seconds):
    """Map 0 s to 0 and 100 days or more to 1, on a logarithmic scale."""
    return min(1.0, log(1.0 + seconds) * (1.0 / LOG_LONGEST))


@kernel
def log_count(number):
    """Map 0 to 0 and 10,000 or more to 1, on a logarithmic scale."""
    return min(1.0, log(1.0 + number) * (1.0 / LOG_MOST))


@kernel
def log_expansion(ratio):
    """Map 1 to 0 and 10,000 or more to 1, on a logarithmic scale."""
    return min(1.0, log(ratio) * (1.0 / LOG_LARGEST_EXPANSION))
