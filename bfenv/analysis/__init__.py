"""Numbers and pictures of a schedule.

`metrics` has the usual numbers of one schedule. `summarize` has everything that a leaderboard row
reports, including comparisons with a reference on the same jobs. The other functions are the parts
of both. Pictures are in `bfenv.analysis.plots`; they need matplotlib, the numbers do not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfenv.analysis.exports import *  # noqa: F403
    from bfenv.analysis.exports import __all__ as __all__
else:

    def __getattr__(name: str) -> Any:
        """Import the public names when one is first used, so that parts of the room load alone."""
        return getattr(import_module("bfenv.analysis.exports"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
