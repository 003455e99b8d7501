"""The simulated machine: jobs, cluster, policies, and the event loop.

The names below are what you need to write and run a scheduler. To compile one, take the decorator
`kernel` from `bfenv.core.kernel`. This package imports no other package of bfenv.
"""

from typing import TYPE_CHECKING

from bfenv.core.lazy_exports import export_lazily

if TYPE_CHECKING:
    from bfenv.core.exports import *  # noqa: F403
else:
    __getattr__, __dir__ = export_lazily(__name__)
