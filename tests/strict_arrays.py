"""Arrays without indices below 0, which numpy and numba count from the end.

Kernels that run uncompiled on them raise IndexError for every index that compiled kernels would
read or write outside of an array with: numpy refuses those that are too large.
"""

import numpy as np

INTEGERS = frozenset((int, np.int64))  # the types of nearly all indices
read, write = np.ndarray.__getitem__, np.ndarray.__setitem__


class Strict(np.ndarray):
    """An array that refuses indices below 0.

    Uncompiled kernels read and write numbers one by one, so tests spend much of their time here.
    """

    def __getitem__(self, key):
        if type(key) not in INTEGERS or key < 0:
            check(key)
        return read(self, key)

    def __setitem__(self, key, value):
        if type(key) not in INTEGERS or key < 0:
            check(key)
        write(self, key, value)


def check(key):
    """Raise IndexError if a part of an index, or a bound of a slice, is below 0."""
    for part in key if type(key) is tuple else (key,):
        if type(part) in INTEGERS:
            is_below = part < 0
        elif type(part) is slice:
            is_below = (part.start or 0) < 0 or (part.stop or 0) < 0
        else:
            is_below = isinstance(part, np.integer) and part < 0
        if is_below:
            raise IndexError(f"{part} is below 0")


def strict(value):
    """The same value with strict arrays, in tuples as well."""
    if isinstance(value, np.ndarray):
        return value.view(Strict)
    if isinstance(value, tuple):
        parts = map(strict, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def strict_environment(env):
    """Let the kernels of an environment, and the policies that act in it, see strict arrays."""
    batch = env.batch
    batch._kernel_arguments = strict(batch._kernel_arguments)
    batch.detached = [strict(parts) for parts in batch.detached]
    return env
