"""Accounting logs as workloads: the readers that `load_workload` finds by their entry points.

Their options are those of `bfenv_site.logs.slurm.read_sacct` that are one value each. The command
`bfenv workloads import` has the others, and writes the log as SWF, which is read faster.
"""

import inspect
import os
from collections.abc import Callable
from typing import Any

from bfenv.core.jobs import Trace
from bfenv_site.logs.formats import read_log
from bfenv_site.logs.slurm import read_sacct


def sacct(
    path: str | os.PathLike[str],
    processors: int | None = None,
    timezone: str = "UTC",
    resource: str = "cores",
    eligible: bool = False,
    longest: str | None = None,
    overrun: str = "kill",
    on_error: str = "raise",
) -> Trace:
    """Read the output of Slurm's sacct, columns or JSON."""
    return read_sacct(
        path,
        processors=processors,
        timezone=timezone,
        resource=resource,
        eligible=eligible,
        longest=longest,
        overrun=overrun,
        on_error=on_error,
    )


def _reader(kind: str, description: str, *left_out: str) -> Callable[..., Trace]:
    """Return the reader of a kind of log, with the options of `sacct` except some."""

    def read(path: str | os.PathLike[str], **options: Any) -> Trace:
        """Read a log, with the options that the signature lists."""
        return read_log(path, kind, **options)

    signature = inspect.signature(sacct)
    parameters = [p for name, p in signature.parameters.items() if name not in left_out]
    read.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    read.__name__, read.__qualname__, read.__doc__ = kind, kind, f"Read {description}."
    return read


RESOURCES = ("resource", "eligible")
xdmod = _reader("xdmod", "the jobs that Open XDMoD exports as CSV or JSON")
pbs = _reader("pbs", "an accounting log of PBS Professional, OpenPBS or Torque", *RESOURCES)
sge = _reader("sge", "an accounting file of Grid Engine", *RESOURCES)
lsf = _reader("lsf", "a file lsb.acct of LSF", *RESOURCES)
