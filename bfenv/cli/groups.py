"""Groups of commands whose help imports no more than it shows."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from bfenv.cli.options import Once

# In the order a newcomer needs them: compare, operate, research.
MENU = {
    "evaluate": "Compare policies on the same jobs.",
    "gantt": "Draw a Gantt chart of one policy, or of two on the same jobs.",
    "report": "Report what another policy would do to your users.",
    "apply": "Bring an order to a live Slurm.",
    "when": "Say when jobs will start, and how sure that is.",
    "workloads": "List workloads; show, fetch, import or schedule one.",
    "train": "Train an agent: evolve a small score.",
    "search": "Search for an order of EASY that beats EASY.",
    "record": "Record a policy or an agent as a data set of Minari.",
    "evolve-task": "Write a task for OpenEvolve and services like it.",
    "leaderboard": "Compare policies and agents on frozen suites of traces.",
    "check": "Find faults in your own policy.",
    "agents": "List agents; show one, make one, or prepare one for the Hub.",
    "warm": "Compile the environment and the common policies.",
}
# Behind the commands of the menu: the first word is one of these, the last one is the module.
BEHIND = {
    "evaluate policies": "List the policies.",
    "evaluate bound": "Show how far EASY is from the best possible schedule.",
    "report whatif": "Compare variants of your site side by side.",
    "train curves": "Draw the learning curves of trainings.",
    "check conformance": "Test EASY or conservative backfilling with small cases.",
}
COMMANDS = MENU | BEHIND


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

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, or None."""
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            self.commands[cmd_name] = load_command(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and the other arguments; two words may name a command."""
        name = " ".join(args[:2])
        if name in BEHIND:
            return name, self.get_command(ctx, name), args[2:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the menu without importing its commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(MENU.items()))


def load_command(name: str) -> Any:
    """Import a command; its help lists the commands behind it."""
    word = name.split()[-1].replace("-", "_")
    module = import_module(f"bfenv.cli.{word}")
    commands = getattr(module, "app", None)
    if commands is None:
        commands = typer.Typer(add_completion=False, rich_markup_mode=None)
        commands.command(name, cls=Once)(getattr(module, word))
    command = typer.main.get_command(commands)
    behind = {other: text for other, text in BEHIND.items() if other.startswith(f"{name} ")}
    if behind:
        lines = (f"  bfenv {other}\n    {text}" for other, text in behind.items())
        command.epilog = "\n".join(("\b", "More:", *lines))
    command.name = name
    return command
