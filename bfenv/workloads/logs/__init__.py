"""Readers of logs, and the writer of SWF.

SWF is read as it is. The log of any other system goes two steps: its reader parses each line to a
`Run`, or to the reason why it is not a job, and `convert` makes a trace of the runs. To read
another format, add a module with such a reader.
"""

from bfenv.workloads.logs.conversion import Options, convert
from bfenv.workloads.logs.run import Run
from bfenv.workloads.logs.slurm import read_sacct
from bfenv.workloads.logs.swf import read_swf, write_swf
from bfenv.workloads.logs.table import read_columns

__all__ = ["Options", "Run", "convert", "read_columns", "read_sacct", "read_swf", "write_swf"]
