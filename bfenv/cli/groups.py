"""Groups of commands whose help imports no more than it shows."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from bfenv.cli.options import Once

# In the order a newcomer needs them: simulate, operate, research.
COMMANDS = {
    "evaluate": "Compare policies on the same jobs.",
    "simulate": "Write the schedule of a policy.",
    "gantt": "Draw a Gantt chart of one policy, or of two on the same jobs.",
    "policies": "List the policies.",
    "warm": "Compile the environment and the common policies.",
    "workloads": "List workloads; show, fetch or import one.",
    "check": "Find faults in your own policy.",
    "conformance": "Test EASY or conservative backfilling with small cases.",
    "report": "Report what another policy would do to your users.",
    "whatif": "Compare variants of your site side by side.",
    "bound": "Show how far EASY is from the best possible schedule.",
    "train": "Train a network that schedules.",
    "curves": "Draw the learning curves of trainings.",
    "search": "Search for an order of EASY that beats EASY.",
    "agents": "List agents; show one, or make an agent and its card.",
    "leaderboard": "Compare policies and agents on frozen suites of traces.",
}


class Group(TyperGroup):
    """A group of commands."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False  # newer versions of Typer would import pydantic to convert None
        return option


class AllCommands(Group):
    """The commands of bfenv; the module of a command is imported when it is needed.

    The module has a function by the name of the command, or an `app` of commands.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Typer suggests one of these names.
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, or None."""
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            self.commands[cmd_name] = load_command(cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def load_command(name: str) -> Any:
    """Import a command."""
    module = import_module(f"bfenv.cli.{name}")
    commands = getattr(module, "app", None)
    if commands is None:
        commands = typer.Typer(add_completion=False, rich_markup_mode=None)
        commands.command(name, cls=Once)(getattr(module, name))
    command = typer.main.get_command(commands)
    command.name = name
    return command
