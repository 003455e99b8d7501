"""Checks of arguments that functions of traces share."""

from typing import Any

from bfenv.core.arguments import check_number
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.limits import MOST_LOAD


def check_trace(value: Any) -> None:
    """Check that a value is a trace, and not the name of one.

    Raises
    ------
    WorkloadError
        If it is not.
    """
    if not isinstance(value, Trace):
        hint = f"; use load_workload({value!r:.60})" if isinstance(value, str) else ""
        raise WorkloadError(f"expected a Trace, got {value!r:.60}{hint}")


def check_load(name: str, value: Any) -> float:
    """Check a requested offered load, and return it as a float.

    Raises
    ------
    WorkloadError
        If it is not a positive number, or so high that it must be a percentage.
    """
    load = check_number(name, value, positive=True, error=WorkloadError)
    if load > MOST_LOAD:
        raise WorkloadError(
            f"{name} must be at most {MOST_LOAD:g}, got {load:g}; a load of {load:g} % is "
            f"{name}={load / 100:g}"
        )
    return load
