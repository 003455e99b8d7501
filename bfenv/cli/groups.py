"""Groups of commands whose help imports no more than it shows."""

from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from bfenv.cli.options import Once
from bfenv.core.distributions import is_installed, load_offer, offers


class Summary(NamedTuple):
    """What a command is for, and the distribution of bfenv that has it."""

    text: str
    extra: str = ""  # a key of PACKAGES; "" for bfenv itself


# In the order in which a newcomer needs them: compare, operate, research.
MENU = {
    "evaluate": Summary(
        "Compare schedulers on the same jobs: policies, agents, models and programs."
    ),
    "gantt": Summary("Draw a Gantt chart of one policy, or of two on the same jobs."),
    "report": Summary("Report what another policy would do to your users.", "site"),
    "apply": Summary("Apply a queue order to a live Slurm.", "site"),
    "when": Summary("Predict when jobs will start.", "site"),
    "workloads": Summary("List workloads, or describe, download, import or simulate one."),
    "train": Summary("Train an agent: evolve an order of EASY's queue.", "lab"),
    "search": Summary("Search for a queue order that improves EASY.", "lab"),
    "record": Summary("Record episodes of a policy or an agent as a Minari data set."),
    "evolve-task": Summary("Write a task for OpenEvolve or a similar service.", "judge"),
    "leaderboard": Summary("Compare policies and agents on frozen suites of traces."),
    "check": Summary("Find faults in your policy."),
    "agents": Summary("List agents, or show, score or publish one."),
    "warm": Summary("Compile the environment and the common policies now."),
}
# Behind the commands of the menu: the first word is one of these, the last one is the module.
BEHIND = {
    "evaluate policies": Summary("List the policies."),
    "evaluate bound": Summary("Show how far EASY is from the best possible schedule.", "judge"),
    "report whatif": Summary("Compare variants of your site side by side.", "site"),
    "workloads import": Summary("Convert your cluster's accounting log to a workload.", "site"),
    "train curves": Summary("Draw the learning curves of trainings.", "lab"),
    "agents card": Summary("Score the result of a search, and write its card.", "lab"),
    "check conformance": Summary(
        "Test EASY or conservative backfilling with small cases.", "judge"
    ),
    "leaderboard bound": Summary(
        "Show how far policies are from the best possible schedule.", "judge"
    ),
    "leaderboard verify": Summary("Check the rows of a leaderboard.", "judge"),
    "agents push": Summary("Write an agent's folder for the Hugging Face Hub.", "judge"),
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

    The module has a function by the name of the command, or an `app` of commands. Those of other
    distributions are found by entry points of the group "bfenv.commands".
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Typer suggests one of these names.
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, or None."""
        if self.commands.get(cmd_name) is None:
            if cmd_name not in COMMANDS and cmd_name not in offers("bfenv.commands"):
                return None
            self.commands[cmd_name] = load_command(cmd_name)
        return self.commands[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and the other arguments; two words may name a command."""
        name = " ".join(args[:2])
        if name in BEHIND:
            return name, self.get_command(ctx, name), args[2:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the menu without importing its commands; those that are not installed come last."""
        missing: dict[str, list[tuple[str, str]]] = {}
        lines: list[tuple[str, str]] = []
        for name, (text, extra) in MENU.items():
            listed = lines if not extra or is_installed(extra) else missing.setdefault(extra, [])
            listed.append((name, text))
        with formatter.section("Commands"):
            formatter.write_dl(lines)
        for extra, commands in missing.items():
            with formatter.section(f'Commands after pip install "bfenv[{extra}]"'):
                formatter.write_dl(commands)


def load_command(name: str) -> Any:
    """Import a command; its help lists the commands behind it.

    Raises NotInstalledError if it is one of a distribution of bfenv that is not installed.
    """
    word = name.split()[-1].replace("-", "_")
    extra = COMMANDS[name].extra if name in COMMANDS else None
    if extra == "":
        module = import_module(f"bfenv.cli.{word}")
        command = getattr(module, "app", None) or getattr(module, word)
    else:
        offer = name.replace(" ", ".")
        command = load_offer("bfenv.commands", offer, extra or "", f"`bfenv {name}`")
    if not isinstance(command, typer.Typer):
        commands = typer.Typer(add_completion=False, rich_markup_mode=None)
        commands.command(name, cls=Once)(command)
        command = commands
    command = typer.main.get_command(command)
    # What a newcomer needs before the options stands above them, all else below.
    command.help, _, details = (command.help or "").partition("\n\nDetails:\n\n")
    command.epilog = details or None
    behind = {
        longer: summary.text for longer, summary in BEHIND.items() if longer.startswith(f"{name} ")
    }
    if behind:
        lines = (f"  bfenv {longer}\n    {text}" for longer, text in behind.items())
        command.epilog = f"{details}\n\n" * bool(details) + "\n".join(("\b", "More:", *lines))
    command.name = name
    return command
