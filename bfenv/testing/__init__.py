"""Find faults in your scheduler.

`check_policy` raises PolicyError if a policy has faults, `report_on` returns them; `KINDS` lists
the kinds of faults.
"""

from bfenv.testing.monitor import Fault
from bfenv.testing.report import KINDS, Report, check_policy, report_on

__all__ = [
    "KINDS",
    "Fault",
    "Report",
    "check_policy",
    "report_on",
]
