"""How far a policy is from the best: a certified lower bound, the best schedules found.

Both know every true runtime and every job to come. No schedule that runs jobs to completion is
below the bound; the off-line schedule shows what can be reached.
"""

from bfenv.analysis.bounds.certificate import Certificate, certify
from bfenv.analysis.bounds.costs import COSTS, Costs, job_costs
from bfenv.analysis.bounds.gap import (
    Gap,
    GapNumbers,
    check_gap,
    find_gap,
    load_gap,
    read_numbers,
    save_gap,
)
from bfenv.analysis.bounds.offline import offline_schedule
from bfenv.analysis.bounds.prices import lower_bound

__all__ = [
    "COSTS",
    "Certificate",
    "Costs",
    "Gap",
    "GapNumbers",
    "certify",
    "check_gap",
    "find_gap",
    "job_costs",
    "load_gap",
    "lower_bound",
    "offline_schedule",
    "read_numbers",
    "save_gap",
]
