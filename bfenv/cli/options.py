"""Options that several commands have, and checks of the files they write."""

import os
import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from bfenv.cli import show
from bfenv.cli.show import Format
from bfenv.core.durations import parse_duration
from bfenv.core.errors import BfenvError
from bfenv.leaderboard.defaults import DECISION, MEMORY

if TYPE_CHECKING:
    from bfenv.leaderboard.limits import PlayerLimits


def choices(options: type[StrEnum]) -> str:
    """List the values of an option as a sentence does: "table, markdown, json or csv"."""
    *first, last = options
    return f"{', '.join(first)} or {last}"


def option(default: Any, metavar: str, help: str, *names: str, **more: Any) -> Any:
    """Return an option of a command, which is named after its parameter unless you give `names`."""
    return typer.Option(default, *names, metavar=metavar, help=help, **more)


def duration_option(default: Any, name: str, help: str, *, least: int = 0) -> Any:
    """Return an option that takes a duration of at least `least` seconds, as an int in seconds."""

    def read(text: str) -> int:
        try:
            seconds = parse_duration(str(text))
        except BfenvError as error:
            raise typer.BadParameter(str(error)) from error
        if seconds < least:
            raise typer.BadParameter(f"a duration of at least {least} s is needed, got {text!r}")
        return seconds

    return option(default, "DURATION", help, name, parser=read, show_default=False)


def options_given(context: typer.Context) -> list[str]:
    """Return the options that were typed, each by its first name, in the order of the help."""
    sources = {
        parameter.opts[0]: context.get_parameter_source(str(parameter.name))
        for parameter in context.command.params
    }
    return [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]


WorkloadOption = Annotated[
    str,
    typer.Option(
        "--workload", "-w", metavar="WORKLOAD", help="Name or SWF file; see `bfenv workloads`."
    ),
]
WorkloadArgument = Annotated[
    str,
    typer.Argument(metavar="WORKLOAD", help="Name or SWF file, with options.", show_default=True),
]
LoadOption = Annotated[
    float | None,
    typer.Option(metavar="LOAD", help="Offered load to scale the workload to, such as 0.9."),
]
SeedOption = Annotated[
    int, typer.Option(min=0, metavar="N", help="Random seed (stochastic policies only).")
]
FormatOption = Annotated[
    Format,
    typer.Option("--format", "-f", metavar="FORMAT", help=f"Output format: {choices(Format)}."),
]
LeaderboardArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder of `bfenv leaderboard run`.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", help="Number of processes, -1 for one per core.")
]
BackendOption = Annotated[
    str, typer.Option(metavar="NAME", help="loky (this machine) or dask (needs --scheduler).")
]
SchedulerOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler, such as tcp://10.0.0.1:8786.")
]
ShardOption = Annotated[
    str, typer.Option(metavar="I/N", help="Run only the I-th of N shares, such as 3/20.")
]
PlayersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--player",
        metavar="COMMAND",
        help="Program that schedules, see docs/players.md; repeat for several.",
    ),
]
PROGRAMS = "--player", "--command"  # options that take a program
WORKLOAD_OPTIONS = {"--workload", "-w"}  # of most commands
WORKLOAD_ARGUMENTS = {"WORKLOAD", "LOG"}  # of the others
LOG = re.compile(r"\.swf(\.gz)?(:|$)")  # how a workload ends that is a file, or its options begin


class Sandbox(StrEnum):
    """The sandbox in which players run."""

    none = "none"
    bwrap = "bwrap"


SandboxOption = Annotated[
    Sandbox,
    typer.Option(metavar="NAME", help="Sandbox of players: none or bwrap, see docs/players.md."),
]


def player_limits(
    sandbox: Sandbox,
    memory: int = MEMORY,
    decision: float = DECISION,
    reads: list[Path] | None = None,
) -> "PlayerLimits":
    """Return the limits that the options of players set.

    Raises BfenvError if there is no such sandbox here.
    """
    from bfenv.leaderboard.limits import MIB, PlayerLimits
    from bfenv.leaderboard.referee import find_referee

    if sandbox == Sandbox.bwrap:
        find_referee("--sandbox").check_sandbox()
    paths = tuple(str(path.absolute()) for path in reads or ())
    return PlayerLimits(
        memory=memory * MIB, decision=float(decision), sandbox=str(sandbox), reads=paths
    )


def warn_of_root(sandbox: Sandbox) -> None:
    """Say that a player without a sandbox may do what root may, if root runs it."""
    if sandbox == Sandbox.none and hasattr(os, "geteuid") and os.geteuid() == 0:
        show.lines(
            [
                "warning: players run as root and without a sandbox: "
                "they can read and change every file"
            ],
            sys.stderr,
        )


class Once(TyperCommand):
    """A command that refuses an option given twice, unless it is a list, and says what is meant."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises BfenvError if an option that takes a single value is given more than once, there is
        an argument too many, or the workload, an argument, is given as an option.
        """
        command = ctx.command_path.removeprefix("bfenv ")
        metavars = {param.metavar for param in self.params if param.param_type_name == "argument"}
        for metavar in metavars & WORKLOAD_ARGUMENTS:
            for word in {word.partition("=")[0] for word in args} & WORKLOAD_OPTIONS:
                raise BfenvError(
                    f"{command} has no option {word}: give the workload by itself, "
                    f"as in `bfenv {command} {metavar}`"
                )
        _, extra, occurrences = self.make_parser(ctx).parse_args(list(args))
        if extra:
            takes_none = all(param.param_type_name == "option" for param in self.params)
            names = {name for param in self.params for name in param.opts}
            hint = "see --help"
            if takes_none and "--policy" in names:
                ways = ["a policy by --policy"]
                for param in self.params:
                    if not WORKLOAD_OPTIONS.isdisjoint(param.opts):  # some call it --log
                        ways.insert(not LOG.search(extra[0]), f"a workload by {param.opts[0]}")
                ways += [f"a program by {name}" for name in PROGRAMS if name in names]
                hint = f"name {ways[0]} {', '.join([extra[0], *ways[1:]])}"
            noun = "argument" if takes_none else "further argument"
            raise BfenvError(f"{command} takes no {noun} {extra[0]!r}; {hint}")
        for option in occurrences:
            flag_or_list = getattr(option, "is_flag", True) or option.multiple
            if occurrences.count(option) > 1 and not flag_or_list:
                raise BfenvError(f"{option.opts[0]} is given twice")
        return super().parse_args(ctx, args)


def check_new(path: Path, force: bool) -> None:
    """Check that a file can be written, before any work is done for it.

    Raises BfenvError if the path is a folder, its folder does not exist, or the file exists and
    `force` is False.
    """
    if path.is_dir():
        raise BfenvError(f"{path} is a folder, not a file")
    if path.exists() and not force:
        raise BfenvError(f"{path} exists; use --force to overwrite it")
    check_folder(path)


def check_page(path: Path, force: bool) -> None:
    """Check that a page of HTML can be written, before any work is done for it.

    Raises BfenvError if the name does not end in .html or .htm, and what `check_new` raises.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise BfenvError(f"{path}: the name of a page must end in .html")
    check_new(path, force)


def check_output_folder(path: Path) -> None:
    """Check that a folder of results is not a file, and not the folder in which the command runs.

    Raises BfenvError if it is.
    """
    if path == Path():  # also of an empty text, as of a variable that is not set
        raise BfenvError("name a folder for the results, other than the current one")
    if path.exists() and not path.is_dir():
        raise BfenvError(f"{path} is a file, not a folder")


def check_folder(path: Path | None) -> None:
    """Check that the folder of a file exists.

    Raises BfenvError if it does not.
    """
    if path is not None and not path.parent.is_dir():
        raise BfenvError(f"no such folder: {path.parent}")
