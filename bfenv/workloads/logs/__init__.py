"""Readers of logs, and the writer of SWF.

SWF is read as it is. The log of any other system goes three steps: its format makes a `Record` of
each line, which names what the line says; `read_run` makes a `Run` of it, or says why there is
none; and `convert` makes a trace of the runs. To read another format, add a module that makes a
`Log`.
"""

from bfenv.workloads.logs.conversion import ReaderOptions, convert
from bfenv.workloads.logs.formats import read_log
from bfenv.workloads.logs.outages import find_outages, load_outages
from bfenv.workloads.logs.run import Log, Record, Run
from bfenv.workloads.logs.selection import Selection
from bfenv.workloads.logs.slurm import read_sacct
from bfenv.workloads.logs.swf import read_swf, write_swf
from bfenv.workloads.logs.table import read_columns

__all__ = [
    "Log",
    "ReaderOptions",
    "Record",
    "Run",
    "Selection",
    "convert",
    "find_outages",
    "load_outages",
    "read_columns",
    "read_log",
    "read_sacct",
    "read_swf",
    "write_swf",
]
