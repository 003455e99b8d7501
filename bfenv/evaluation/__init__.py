"""Who is compared with whom on which jobs: the evaluator, and its rows.

`evaluate(competitors, cases)` returns a `Row` for each pair, and `evaluate_agent` those of an agent
and policies on its episodes.
"""

from typing import TYPE_CHECKING

from bfenv.core.lazy_exports import export_lazily

if TYPE_CHECKING:
    from bfenv.evaluation.exports import *  # noqa: F403
else:
    __getattr__, __dir__ = export_lazily(__name__)
