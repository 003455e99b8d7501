"""Workloads: logs, models, the archive, and transformations of them.

`load_workload` finds any of them by name or path. Readers of logs are in `bfenv.workloads.logs`,
generators and models of estimates in `bfenv.workloads.models`, downloads in
`bfenv.workloads.archive`.
"""

from bfenv.workloads.load import load_whole, load_workload, takes_seed, workloads
from bfenv.workloads.logs.swf import read_swf, write_swf
from bfenv.workloads.models.lublin_workload import lublin
from bfenv.workloads.models.sud_workload import sud
from bfenv.workloads.requests import (
    with_estimates,
    with_priorities,
    with_requested_starts,
    with_restartable_jobs,
)
from bfenv.workloads.summary import crashed_jobs, summarize
from bfenv.workloads.transform import (
    at_once,
    shaken,
    split_range,
    transformed,
    windows,
    with_arrival_rate,
    with_bursts,
    with_load,
)

__all__ = [
    "at_once",
    "crashed_jobs",
    "load_whole",
    "load_workload",
    "lublin",
    "read_swf",
    "shaken",
    "split_range",
    "sud",
    "summarize",
    "takes_seed",
    "transformed",
    "windows",
    "with_arrival_rate",
    "with_bursts",
    "with_estimates",
    "with_load",
    "with_priorities",
    "with_requested_starts",
    "with_restartable_jobs",
    "workloads",
    "write_swf",
]
