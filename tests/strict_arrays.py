"""Arrays without indices below 0, which numpy and numba count from the end.

Kernels that run uncompiled on them raise IndexError for every index that compiled kernels would
read or write outside of an array with: numpy refuses those that are too large.
"""

import numpy as np


class Strict(np.ndarray):
    """An array that refuses indices below 0."""

    def __getitem__(self, key):
        check(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        check(key)
        super().__setitem__(key, value)


def check(key):
    """Raise IndexError if a part of an index, or a bound of a slice, is below 0."""
    for part in key if type(key) is tuple else (key,):
        if type(part) is int or isinstance(part, np.integer):  # nearly always
            is_below = part < 0
        elif isinstance(part, slice):
            is_below = (part.start or 0) < 0 or (part.stop or 0) < 0
        else:
            is_below = False
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
