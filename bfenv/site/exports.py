"""The public names of `bfenv.site`, which its `__init__` imports when one is first used."""

from bfenv.site.comparison import Finding as Finding
from bfenv.site.comparison import SiteComparison as SiteComparison
from bfenv.site.comparison import compare_site as compare_site
from bfenv.site.defaults import CANDIDATES as CANDIDATES
from bfenv.site.defaults import TODAY as TODAY
from bfenv.site.report import Report as Report
from bfenv.site.report import site_report as site_report
from bfenv.site.slurm import SlurmSupport as SlurmSupport
from bfenv.site.slurm import slurm_support as slurm_support
from bfenv.site.whatif import WhatIf as WhatIf
from bfenv.site.whatif import what_if as what_if
from bfenv.site.words import sentences as sentences
