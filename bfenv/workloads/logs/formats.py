"""The kinds of logs, recognized by their first lines."""

import os
import re
from collections.abc import Callable

from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs import pbs, xdmod
from bfenv.workloads.logs.lsf import read_lsf
from bfenv.workloads.logs.parquet import is_parquet
from bfenv.workloads.logs.sge import read_sge
from bfenv.workloads.logs.slurm import COMMAND, RAW_ID, read_sacct
from bfenv.workloads.logs.slurm_job import JOB
from bfenv.workloads.logs.slurm_json import read_sacct_json
from bfenv.workloads.logs.table import is_table
from bfenv.workloads.logs.text import first_lines
from bfenv.workloads.logs.times import LOCAL_TIME

KINDS = {
    "sacct": "Slurm, sacct -P",
    "sacct-json": "Slurm, sacct --json",
    "pbs": "PBS Professional, OpenPBS or Torque",
    "sge": "Grid Engine",
    "lsf": "LSF, lsb.acct",
    "xdmod": "Open XDMoD, a data export of jobs as CSV or JSON",
    "csv": "a table with a line of column names",
    "parquet": "a table",
}
READERS: dict[str, Callable[..., Trace]] = {
    "sacct": read_sacct,
    "sacct-json": read_sacct_json,
    "pbs": pbs.read_pbs,
    "sge": read_sge,
    "lsf": read_lsf,
    "xdmod": xdmod.read_xdmod,
}  # of those kinds that say themselves where everything is
FEWEST = 6  # columns of an accounting log of Slurm
RULE = re.compile(r"-+ +-")  # below column names
ZIP = "PK\x03\x04"
SWF = re.compile(r"\s*(;|(-?[0-9.]+\s+){17}-?[0-9.]+\s*$)")


def find_format(path: str | os.PathLike[str], fields: str | None = None) -> str:
    """Return the kind of a log, a key of KINDS.

    With `fields`, those of `read_sacct`, a dump of sacct may be without column names.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If the file is SWF already, or of no known kind; the message shows how it begins.
    """
    if is_parquet(path):
        return "parquet"
    lines = first_lines(path)
    if lines[0].lstrip().startswith("{"):
        return "sacct-json"
    if xdmod.is_export(lines):
        return "xdmod"
    first = next((line for line in lines if not line.startswith("#")), lines[0])
    if SWF.match(first):
        raise WorkloadError(f"{path}: this looks like SWF already; use it as a workload")
    if pbs.LINE.match(first):
        return "pbs"
    if re.match(r'"JOB_[A-Z]+" "[0-9.]+" ', first):
        return "lsf"
    if first.count(":") >= 40:
        return "sge"
    names = [name.strip() for name in first.lower().split("|")]
    is_headless = JOB.fullmatch(names[0]) and len(names) == COMMAND.count(",") + 1
    if not {"jobid", RAW_ID}.isdisjoint(names) or is_headless:
        return "sacct"
    if JOB.fullmatch(names[0]) and len(names) >= FEWEST:
        if fields is not None:
            return "sacct"
        raise WorkloadError(
            f"{path}: this looks like sacct without its line of column names; give the names with "
            "--fields"
        )
    if names[0].split(maxsplit=1)[:1] in (["jobid"], [RAW_ID]) and RULE.match("".join(lines[1:2])):
        raise WorkloadError(
            f"{path}: this is sacct with columns of fixed width, which cut what is longer; "
            f"make the file with: {COMMAND}"
        )
    if first.startswith(ZIP):
        raise WorkloadError(
            f"{path}: a zip archive or a spreadsheet; unpack the log, or export the table as CSV"
        )
    if is_table(lines) and not xdmod.is_json(lines):
        return "csv"
    if not {"jobid", RAW_ID}.isdisjoint(re.split(r"[\s,;]+", first.lower())):
        raise WorkloadError(
            f"{path}: this looks like sacct without '|' between its columns; make the file with: "
            f"{COMMAND}"
        )
    kinds = "; ".join(f"{kind}: {what}" for kind, what in KINDS.items())
    raise WorkloadError(
        f"{path}: unknown kind of log: it has neither the columns of sacct or of a table (CSV) nor "
        f"the 18 fields of SWF, and begins with {first[:40]!r}; choose with --from. Known: {kinds}"
    )


def may_have_local_times(path: str | os.PathLike[str]) -> bool:
    """Return whether the lines with which a log begins have times without an offset.

    Those of Parquet may, as it is not text.

    Raises
    ------
    FileNotFoundError, WorkloadError
        If the file cannot be read.
    """
    return is_parquet(path) or any(map(LOCAL_TIME.search, first_lines(path)))
