"""The distributions of bfenv, and what others offer it by entry points.

bfenv has four distributions: bfenv itself, and bfenv-site, bfenv-judge and bfenv-lab, which need it
and which it can do without. What they add is found by entry points of the groups in GROUPS, and so
is what any other package adds. Nothing is imported before it is used.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from bfenv.core.errors import BfenvError
from bfenv.core.names import import_object

PACKAGES = {"site": "bfenv_site", "judge": "bfenv_judge", "lab": "bfenv_lab"}  # by extra
GROUPS = {
    "bfenv.commands": "commands of `bfenv`; a dot stands between two words",
    "bfenv.policies": "policies, and functions that make policies from options",
    "bfenv.agents": "policies `agent:NAME`, and as NAME.files which files such a policy reads",
    "bfenv.competitors": "what takes part in a leaderboard beside policies and agents",
    "bfenv.readers": "functions that read logs of another kind than SWF",
    "bfenv.sections": "sections of the report on a leaderboard",
    "bfenv.pages": "functions that write a report as a page of HTML",
}


class NotInstalledError(BfenvError):
    """Something that another distribution of bfenv has, which is not installed.

    Args:
        subject: What was asked for.
        extra: The key of PACKAGES that brings it.
    """

    def __init__(self, subject: str, extra: str) -> None:
        super().__init__(subject, extra)
        self.subject = subject
        self.extra = extra

    def __str__(self) -> str:
        name = f"bfenv-{self.extra}"
        return (
            f'{self.subject} comes with {name}: pip install "bfenv[{self.extra}]", or '
            f"pip install ./packages/{name} in a checkout"
        )


@cache
def offers(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group, by name."""
    return {entry.name: entry for entry in entry_points(group=group)}


def load_offer(
    group: str, name: str, extra: str = "", subject: str = "", error: type[BfenvError] = BfenvError
) -> Any:
    """Import what an installed package offers by a name; None if there is nothing.

    Args:
        group: One of GROUPS.
        name: The name of the entry point.
        extra: The distribution of bfenv that has it, a key of PACKAGES; "" if none of them does.
        subject: What to call it in the message on a distribution that is not installed.
        error: What is raised if the object cannot be imported.

    Raises:
        NotInstalledError: If the distribution `extra` is not installed.
        BfenvError: If the object cannot be imported.
    """
    entry = offers(group).get(name)
    if entry is None:
        if extra:
            raise NotInstalledError(subject or name, extra)
        return None
    return import_object(entry.value, error)


def is_installed(extra: str) -> bool:
    """Return whether a distribution of bfenv, a key of PACKAGES, is installed."""
    return find_spec(PACKAGES[extra]) is not None


def is_own(module: str) -> bool:
    """Return whether a module, given by its name, is of one of bfenv's distributions."""
    return module.partition(".")[0] in {"bfenv", *PACKAGES.values()}
