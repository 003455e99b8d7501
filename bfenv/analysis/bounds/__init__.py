"""How far a policy is from the best: a certified lower bound, the best schedules found.

Both know every true runtime and every job to come. No schedule that runs jobs to completion is
below the bound; the off-line schedule shows what can be reached.
"""

from bfenv.analysis.bounds.certificate import Certificate, certify
from bfenv.analysis.bounds.costs import COSTS, Costs, job_costs
from bfenv.analysis.bounds.offline import offline_schedule
from bfenv.analysis.bounds.prices import lower_bound
from bfenv.analysis.bounds.room import (
    Room,
    RoomNumbers,
    check_room,
    find_room,
    load_room,
    read_numbers,
    save_room,
)

__all__ = [
    "COSTS",
    "Certificate",
    "Costs",
    "Room",
    "RoomNumbers",
    "certify",
    "check_room",
    "find_room",
    "job_costs",
    "load_room",
    "lower_bound",
    "offline_schedule",
    "read_numbers",
    "save_room",
]
