"""The public names of `bfenv.site`, which its `__init__` imports when one is first used."""

from bfenv.site.comparison import Finding, SiteComparison, compare_site
from bfenv.site.defaults import CANDIDATES, TODAY
from bfenv.site.report import Report, site_report
from bfenv.site.slurm import SlurmSupport, slurm_support
from bfenv.site.whatif import WhatIf, what_if
from bfenv.site.words import sentences

__all__ = [
    "CANDIDATES",
    "TODAY",
    "Finding",
    "Report",
    "SiteComparison",
    "SlurmSupport",
    "WhatIf",
    "compare_site",
    "sentences",
    "site_report",
    "slurm_support",
    "what_if",
]
