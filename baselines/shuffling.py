"""A stream of random numbers in a policy's memory, for compiled code."""

import numpy as np

from bfenv.core.kernel import kernel


def new_stream(generator: np.random.Generator) -> np.ndarray:
    """Return (1,) int64: the state of a stream of random numbers."""
    return generator.integers(1, 2**31 - 1, size=1)


@kernel
def random_number(stream):
    """Return the next random number of 1 .. 2**31 - 2 (Park, Miller and Stockmeyer 1993)."""
    stream[0] = stream[0] * 48271 % (2**31 - 1)
    return stream[0]
