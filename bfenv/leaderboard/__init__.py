"""Policies and agents ranked on frozen suites of traces.

`run_suite` makes the rows of a suite in a folder, `read_leaderboard` reads them, `rank_policies`
computes the ranking from them, and `bfenv.leaderboard.report` shows it. `Row` is the record that
all of them share.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfenv.leaderboard.exports import *  # noqa: F403
    from bfenv.leaderboard.exports import __all__ as __all__
else:

    def __getattr__(name: str) -> Any:
        """Import the public names when one is first used, so that parts of the room load alone."""
        return getattr(import_module("bfenv.leaderboard.exports"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
