"""Options of the command line that several commands have."""

from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand

from bfenv.core.errors import BfenvError

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


class Once(TyperCommand):
    """A command that does not silently take the last of an option said twice."""

    def parse_args(self, ctx, args):
        """Raise BfenvError for an option that is no list and is given more than once."""
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for option in given:
            flag_or_list = getattr(option, "is_flag", True) or option.multiple
            if given.count(option) > 1 and not flag_or_list:
                raise BfenvError(f"{option.opts[0]} is given twice")
        return super().parse_args(ctx, args)


def check_new(path: Path, force: bool) -> None:
    """Raise BfenvError unless a file can be written there, over another one only with force."""
    if path.is_dir():
        raise BfenvError(f"{path} is a folder, not a file")
    if path.exists() and not force:
        raise BfenvError(f"{path} is there already; --force overwrites it")
    check_folder(path)


def check_folder(path: Path | None) -> None:
    """Raise BfenvError if the folder that a file is to be in does not exist."""
    if path is not None and not path.parent.is_dir():
        raise BfenvError(f"no such folder: {path.parent}")
