"""Options of the command line that several commands have (top layer)."""

from typing import Annotated

import typer

JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", help="How many processes at once; -1: one per core.")
]
BackendOption = Annotated[
    str, typer.Option(help="loky: this machine; dask: a cluster, of which --scheduler knows.")
]
SchedulerOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Of a Dask cluster, e.g. tcp://10.0.0.1:8786.")
]
ShardOption = Annotated[
    str, typer.Option(metavar="I/N", help="Do the I-th of N shares only, e.g. 3/20.")
]
