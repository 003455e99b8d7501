"""Numbers and pictures of a schedule.

`metrics` has the usual numbers of one schedule. `summarize` has everything that a leaderboard row
reports, including comparisons with a reference on the same jobs. The other functions are the parts
of both. Pictures are in `bfenv.analysis.plots`; they need matplotlib, the numbers do not.
"""

from typing import TYPE_CHECKING

from bfenv.core.lazy_exports import export_lazily

if TYPE_CHECKING:
    from bfenv.analysis.exports import *  # noqa: F403
else:
    __getattr__, __dir__ = export_lazily(__name__)
