"""Checks of arguments that functions of traces share."""

from typing import Any

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace


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
