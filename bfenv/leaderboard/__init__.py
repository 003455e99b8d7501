"""Policies and agents ranked on frozen suites of traces.

`run_suite` makes the rows of a suite in a folder, `read_leaderboard` reads them, `rank_policies`
computes the ranking from them, and `bfenv.leaderboard.report` shows it. The rows are those of
`bfenv.evaluation`.
"""

from typing import TYPE_CHECKING

from bfenv.core.lazy_exports import export_lazily

if TYPE_CHECKING:
    from bfenv.leaderboard.exports import *  # noqa: F403
else:
    __getattr__, __dir__ = export_lazily(__name__)
