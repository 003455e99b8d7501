"""bfenv for the operators of a cluster: reports, forecasts, Slurm, readers of accounting logs.

`site_report` compares candidates with today's policy, and its report has a page. `what_if` compares
variants of a site, which `with_changes` makes. `forecast_starts` says when jobs will
start, and how sure that is. `apply_order` brings an order to a live Slurm. `read_log` and the other
readers make traces of accounting logs. The policy `slurm` decides as Slurm's own scheduler does.
"""

from typing import TYPE_CHECKING

from bfenv.core.lazy_exports import export_lazily

if TYPE_CHECKING:
    from bfenv_site.exports import *  # noqa: F403
else:
    __getattr__, __dir__ = export_lazily(__name__)
