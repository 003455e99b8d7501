"""What another policy would do to a site's own users, and when their jobs will start.

`site_report` compares candidates with today's policy, and its report has a page. `what_if` compares
variants of a site, which `bfenv.workloads.whatif` makes. `forecast_starts` says when jobs will
start, and how sure that is. `apply_order` brings an order to a live Slurm.
"""

from typing import TYPE_CHECKING

from bfenv.core.lazy_exports import export_lazily

if TYPE_CHECKING:
    from bfenv.site.exports import *  # noqa: F403
else:
    __getattr__, __dir__ = export_lazily(__name__)
