"""Where jobs come from: logs, models, the archive, and transformations of them."""

from bfenv.workloads.load import load_workload, workloads
from bfenv.workloads.logs.swf import read_swf, write_swf

__all__ = ["load_workload", "read_swf", "workloads", "write_swf"]
