"""Accounting logs as workloads: the readers that `load_workload` finds by their entry points.

Their options are those of `bfenv_site.logs.slurm.read_sacct` that are one value each. The command
`bfenv workloads import` has the others, and writes the log as SWF, which is read faster.
"""

import os
from collections.abc import Callable

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


def xdmod(
    path: str | os.PathLike[str],
    processors: int | None = None,
    timezone: str = "UTC",
    resource: str = "cores",
    eligible: bool = False,
    longest: str | None = None,
    overrun: str = "kill",
    on_error: str = "raise",
) -> Trace:
    """Read the jobs that Open XDMoD exports as CSV or JSON."""
    return read_log(
        path,
        "xdmod",
        processors=processors,
        timezone=timezone,
        resource=resource,
        eligible=eligible,
        longest=longest,
        overrun=overrun,
        on_error=on_error,
    )


def _accounting(kind: str, what: str) -> Callable[..., Trace]:
    """Return the reader of one kind of accounting logs."""

    def read(
        path: str | os.PathLike[str],
        processors: int | None = None,
        timezone: str = "UTC",
        longest: str | None = None,
        overrun: str = "kill",
        on_error: str = "raise",
    ) -> Trace:
        return read_log(
            path,
            kind,
            processors=processors,
            timezone=timezone,
            longest=longest,
            overrun=overrun,
            on_error=on_error,
        )

    read.__name__, read.__qualname__, read.__doc__ = kind, kind, f"Read {what}."
    return read


pbs = _accounting("pbs", "an accounting log of PBS Professional, OpenPBS or Torque")
sge = _accounting("sge", "an accounting file of Grid Engine")
lsf = _accounting("lsf", "a file lsb.acct of LSF")
