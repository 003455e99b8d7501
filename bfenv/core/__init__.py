"""The simulated machine: jobs, cluster, policies, and the event loop.

The names below are what you need to write and run a scheduler. To compile one, take the decorator
`kernel` from `bfenv.core.kernel`. This package imports no other package of bfenv.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfenv.core.exports import *  # noqa: F403
    from bfenv.core.exports import __all__ as __all__
else:

    def __getattr__(name: str) -> Any:
        """Import the public names when one is first used, so that parts of the room load alone."""
        return getattr(import_module("bfenv.core.exports"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
