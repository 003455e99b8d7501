"""Readers of logs, and the writer of SWF.

SWF is read as it is. The log of any other system goes two steps: its reader parses each line to a
`Run`, or to the reason why it is not a job, and `convert` makes a trace of the runs. To read
another format, add a module with such a reader.
"""

from bfenv.workloads.logs.conversion import ReaderOptions, convert
from bfenv.workloads.logs.lsf import read_lsf
from bfenv.workloads.logs.outages import find_outages, load_outages
from bfenv.workloads.logs.pbs import read_pbs
from bfenv.workloads.logs.run import Run
from bfenv.workloads.logs.selection import Selection
from bfenv.workloads.logs.sge import read_sge
from bfenv.workloads.logs.slurm import read_sacct
from bfenv.workloads.logs.slurm_json import read_sacct_json
from bfenv.workloads.logs.swf import read_swf, write_swf
from bfenv.workloads.logs.table import read_columns
from bfenv.workloads.logs.xdmod import read_xdmod

__all__ = [
    "ReaderOptions",
    "Run",
    "Selection",
    "convert",
    "find_outages",
    "load_outages",
    "read_columns",
    "read_lsf",
    "read_pbs",
    "read_sacct",
    "read_sacct_json",
    "read_sge",
    "read_swf",
    "read_xdmod",
    "write_swf",
]
