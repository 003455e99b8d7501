"""What another policy would do to a site's own users.

`compare_site` compares schedules with that of today's policy, `sentences` words the verdict, and
`opening` is the beginning of the page. `slurm_support` tells whether Slurm can follow a policy.
`what_if` compares variants of a site, which `bfenv.workloads.whatif` makes.
"""

from bfenv.leaderboard.defaults import CANDIDATES, TODAY
from bfenv.leaderboard.site.comparison import (
    Finding,
    SiteComparison,
    compare_site,
    site_comparisons,
)
from bfenv.leaderboard.site.opening import opening
from bfenv.leaderboard.site.slurm import SlurmSupport, slurm_support
from bfenv.leaderboard.site.whatif import Outcome, what_if
from bfenv.leaderboard.site.words import sentences

__all__ = [
    "CANDIDATES",
    "TODAY",
    "Finding",
    "Outcome",
    "SiteComparison",
    "SlurmSupport",
    "compare_site",
    "opening",
    "sentences",
    "site_comparisons",
    "slurm_support",
    "what_if",
]
