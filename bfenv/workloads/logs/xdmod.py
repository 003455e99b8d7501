"""The raw jobs that Open XDMoD exports, as a trace.

Source: the raw statistics of Open XDMoD 9.0 to 11.0. Its data export writes CSV with a line of
column names; times are seconds since 1970, durations seconds.
"""

import os
from typing import Unpack

from bfenv.core.arguments import check_choice
from bfenv.core.errors import WorkloadError
from bfenv.core.jobs import Trace
from bfenv.workloads.logs.conversion import ReaderOptions
from bfenv.workloads.logs.table import read_columns, table_columns

SUBMIT = "Submit Time (Timestamp)"
JOB = "Local Job Id"
SIZES = {"cores": "Cores", "nodes": "Nodes", "gpus": "GPUs"}
REQUIRED = {
    "submit": SUBMIT,
    "start": "Start Time (Timestamp)",
    "end": "End Time (Timestamp)",
    "runtime": "Wall Time",
    "job": JOB,
}
OPTIONAL = {
    "estimate": "Requested Wall Time",
    "user": "User ID",
    "group": "Principal Investigator ID",
    "queue": "Quality of Service",
    "partition": "Queue",
    "cluster": "Resource",
}


def read_xdmod(
    path: str | os.PathLike[str],
    *,
    resource: str = "cores",
    eligible: bool = False,
    **options: Unpack[ReaderOptions],
) -> Trace:
    """Read the jobs of the realm Jobs that Open XDMoD's data export wrote as CSV.

    The queue is the partition, the quality of service is the queue, a resource is a cluster, and
    the principal investigator is the group. An export may hold several resources: choose one with
    the selection's cluster.

    Parameters
    ----------
    resource
        What a processor is: "cores", "nodes" or "gpus".
    eligible
        Take the time from which a job could be scheduled as its submit time.
    path, **options
        As in `read_sacct`: processors, timezone, selection, longest, overrun, on_error.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    WorkloadError
        If the file is not such an export, no job is left, an option is out of range, or a line is
        malformed.
    """
    check_choice("resource", resource, SIZES, error=WorkloadError)
    mapping = REQUIRED | {"size": SIZES[resource]}
    if eligible:
        mapping["submit"] = "Eligible Time (Timestamp)"
    there = table_columns(path, ",")
    mapping |= {field: column for field, column in OPTIONAL.items() if column in there}
    return read_columns(path, mapping, delimiter=",", **options)
