"""Checks of arguments that functions of traces share."""

from typing import Any

from bfenv.core.arguments import check_number
from bfenv.core.errors import WorkloadError

LARGEST_EXACT = 2**53  # integers below are exact in float64; seconds, processors, SWF fields
MOST_PROCESSORS = 2**31  # of a generated workload
MOST_LOAD = 5.0  # that is asked for; more is a percentage
MOST_JOBS = 10**8  # of a generated workload


def check_load(name: str, value: Any) -> float:
    """Check a requested offered load, and return it as a float.

    Raises WorkloadError if it is not a positive number, or above MOST_LOAD.
    """
    load = check_number(name, value, positive=True, error=WorkloadError)
    if load > MOST_LOAD:
        share = load / 100
        hint = f"; a load of {load:g} % is {name}={share:g}" if share <= MOST_LOAD else ""
        raise WorkloadError(f"{name} must be at most {MOST_LOAD:g}, got {load:g}{hint}")
    return load
