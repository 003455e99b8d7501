"""Many simulations in parallel, on the cores of this machine or a cluster.

`simulate_many` yields schedules. `call_in_worker` runs a function in a process that can be killed,
for code that may crash or never return.
"""

from typing import TYPE_CHECKING

from bfenv.core.lazy_exports import export_lazily

if TYPE_CHECKING:
    from bfenv.parallel.exports import *  # noqa: F403
else:
    __getattr__, __dir__ = export_lazily(__name__)
