"""Many simulations at once: sweeps and evaluations, on the cores of this machine or a cluster.

`simulate_many` yields schedules, `evaluate` returns rows of metrics. `call_in_worker` runs a
function in a process that can be killed, for code that may crash or never return.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bfenv.parallel.exports import *  # noqa: F403
    from bfenv.parallel.exports import __all__ as __all__
else:

    def __getattr__(name: str) -> Any:
        """Import the public names when one is first used, so that parts of the room load alone."""
        return getattr(import_module("bfenv.parallel.exports"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
