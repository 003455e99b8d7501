"""The kinds of logs, recognized by their first lines, and one reader of them all.

All functions raise FileNotFoundError if there is no such file, and WorkloadError if it cannot be
read.
"""

import os
import re
from typing import Any

from bfenv.core.arguments import check_choice
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.text import first_lines
from bfenv.workloads.logs.times import LOCAL_TIME
from bfenv_site.logs import pbs, slurm, table
from bfenv_site.logs.conversion import convert
from bfenv_site.logs.lsf import open_lsf
from bfenv_site.logs.sge import open_sge

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
OWN_OPTIONS = {
    "sacct": ("resource", "capacity", "eligible", "fields", "delimiter"),
    "sacct-json": ("resource", "capacity", "eligible"),
    "xdmod": ("resource", "eligible"),
    "csv": ("mapping", "delimiter"),
    "parquet": ("mapping", "delimiter"),
}  # beside those that all have
AS_SACCT = f"make the file with: {slurm.COMMAND}"
AS_TABLE = "write its jobs as a table, CSV or Parquet, and name the columns with --map"
# Logs of others: how they begin, what they are, and what to do. A line is one of the file's.
FOREIGN = (
    (r"PK\x03\x04", "a zip archive or a spreadsheet", "unpack the log, or export the table as CSV"),
    (r'\{[^\0]*"(job_state|start_time)"\s*:', "JSON of squeue, a queue and no log", AS_SACCT),
    (r'\{[^\0]*"t_(submit|depend|run)"\s*:', "JSON of Flux (flux jobs)", AS_TABLE),
    (r'\{[^\0]*"(subtime|nb_res|profiles)"\s*:', "a workload of Batsim", AS_TABLE),
    (r'[\[{][^\0]*"(ClusterId|GlobalJobId)"\s*:', "JSON of HTCondor", AS_TABLE),
    (r'\{.*"jobid"\s*:.*"@(start|submit|end)"', "JSON lines of Slurm's jobcomp plugin", AS_SACCT),
    (r"\{.*\}\s*\n\s*\{", "JSON lines, an object in each", AS_TABLE),
    (r"\s*\{(?![^\0]*\"jobs\"\s*:)", "no output of sacct --json: it has no list 'jobs'", AS_SACCT),
    (r"JobId=\S+ .*(UserId|JobName)=", "text of Slurm's jobcomp plugin, or of scontrol", AS_SACCT),
    (r"\s*JOBID\s+PARTITION\s", "the output of squeue, a queue and no log", AS_SACCT),
    (
        r"---\s*\n(.*\n)*?\s*(jobs|- account):|(jobs|meta):\s*$",
        "YAML, as of sacct --yaml",
        AS_SACCT,
    ),
    (
        r"(#.*\n)*(#.*GWF|[0-9]+([ \t]-?[0-9.]+){10}([ \t]\S+){18}\s*$)",
        "a Grid Workload File",
        AS_TABLE,
    ),
    (r"[^\n]*TimeStart\|", "a list of events of sacctmgr", "give it to --outages beside a log"),
    (r"=+\n\s*qname\s", "the output of qacct", "import the accounting file that qacct reads"),
    (r"(ClusterId|GlobalJobId|MyType) = ", "a history of HTCondor", AS_TABLE),
    (r"\s*JobID\s.*\n\s*-+ +-", "sacct with columns of fixed width, which cut names", AS_SACCT),
)
FEWEST = 6  # columns of an accounting log of Slurm
SWF = re.compile(r"\s*(;|(-?[0-9.]+\s+){17}-?[0-9.]+\s*$)")


def read_log(path: str | os.PathLike[str], kind: str | None = None, **options: Any) -> Trace:
    """Read the jobs that ran from a log of any kind.

    Args:
        path: The file, gzipped or not.
        kind: A key of KINDS. None recognizes it.
        **options: As in `read_sacct`: processors, timezone, selection, longest, overrun, on_error;
            those that the kind has in OWN_OPTIONS; and `fields` where the kind is to be recognized.
            `mapping` is as in `read_columns`, the others as in `read_sacct`, but `resource` of
            xdmod is one of "cores", "nodes" and "gpus".

    Returns:
        The jobs, on the machine that the log or the options describe.

    Raises:
        WorkloadError: If the file is not such a log, no job is left, an option is out of range, or
            a line is malformed.
    """
    kind = find_format(path, options.get("fields")) if kind is None else kind
    check_choice("kind", kind, KINDS, error=WorkloadError)
    if kind in ("csv", "parquet"):
        if table.is_parquet(path) is not (kind == "parquet"):
            raise WorkloadError(f"{path} is not a {kind} file")
        return table.read_columns(path, options.pop("mapping", None) or {}, **options)
    refuse_foreign(path)
    if kind == "sacct-json" and not (begin := first_lines(path)[0]).lstrip().startswith("{"):
        raise WorkloadError(
            f"{path}: not the output of sacct --json: it begins with {begin[:40]!r}"
        )
    if kind in ("sacct", "sacct-json"):
        return slurm.read_sacct(path, **options)
    if kind == "xdmod":
        table_options = {
            name: options.pop(name) for name in OWN_OPTIONS["xdmod"] if name in options
        }
        return convert(path, table.open_xdmod(path, **table_options), **options)
    if kind == "pbs":
        return convert(path, pbs.open_pbs(path, options.get("timezone", "UTC")), **options)
    return convert(path, open_lsf(path) if kind == "lsf" else open_sge(path), **options)


def find_format(path: str | os.PathLike[str], fields: str | None = None) -> str:
    """Return the kind of a log, a key of KINDS.

    With `fields`, those of `read_sacct`, a dump of sacct may be without column names.

    Raises WorkloadError also if the file is SWF already, or of no known kind; the message says what
    it is, or shows how it begins.
    """
    if table.is_parquet(path):
        return "parquet"
    lines = first_lines(path)
    first = next((line for line in lines if not line.startswith("#")), lines[0])
    is_list = lines[0].lstrip().startswith("[")
    names = "".join(lines[:2] if is_list else lines[:1])
    if table.XDMOD["submit"] in names and table.XDMOD["job"] in names:
        return "xdmod"
    if SWF.match(first):
        raise WorkloadError(f"{path}: this looks like SWF already; use it as a workload")
    refuse_foreign(path)
    if first.lstrip().startswith("{"):
        return "sacct-json"
    if pbs.LINE.match(first):
        return "pbs"
    if re.match(r'"[A-Z_0-9]+" "[0-9.]+" [0-9]+ ', first):
        return "lsf"
    if first.count(":") >= 40:
        return "sge"
    if slurm.is_header(first):
        return "sacct"
    if slurm.FIRST.match(first):
        delimiter = slurm.find_delimiter(first)
        width = first.removesuffix(delimiter).count(delimiter) + 1
        full_width = (fields or slurm.COMMAND.partition("-o ")[2]).count(",") + 1
        if width == full_width or (fields is not None and width >= FEWEST):
            return "sacct"
        if width >= FEWEST and "|" in first:
            raise WorkloadError(
                f"{path}: this looks like sacct without its line of column names; give the names "
                "with --fields"
            )
    if table.is_table(lines) and not is_list:
        return "csv"
    if not {"jobid", slurm.RAW_ID}.isdisjoint(re.split(r"[\s,;]+", first.lower())):
        raise WorkloadError(
            f"{path}: this looks like sacct without '|' between its columns; {AS_SACCT}"
        )
    kinds = "; ".join(f"{kind}: {description}" for kind, description in KINDS.items())
    raise WorkloadError(
        f"{path}: unknown kind of log: it has neither the columns of sacct or of a table (CSV) nor "
        f"the 18 fields of SWF, and begins with {first[:40]!r}; choose with --from. Known: {kinds}"
    )


def refuse_foreign(path: str | os.PathLike[str]) -> None:
    """Refuse a file that is recognized as something else; the message says what, and what to do."""
    text = "\n".join(first_lines(path))
    for pattern, description, advice in FOREIGN:
        if re.match(pattern, text, re.MULTILINE):
            raise WorkloadError(f"{path}: this is {description}; {advice}")


def may_have_local_times(path: str | os.PathLike[str]) -> bool:
    """Return whether the lines with which a log begins have times without an offset.

    Those of Parquet may, as it is not text.
    """
    return table.is_parquet(path) or any(map(LOCAL_TIME.search, first_lines(path)))
