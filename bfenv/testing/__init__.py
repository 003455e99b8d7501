"""Find what is wrong with a scheduler of your own.

`check_policy` raises PolicyError if a policy has faults, `report_on` returns them; `KINDS` lists
the kinds of faults. `conformance` has cases that any EASY or conservative backfilling should pass.
"""

from bfenv.testing.conformance import Case, Verdict, load_cases, run_command, run_policy
from bfenv.testing.monitor import Fault
from bfenv.testing.report import KINDS, Report, check_policy, report_on

__all__ = [
    "KINDS", "Case", "Fault", "Report", "Verdict", "check_policy", "load_cases", "report_on",
    "run_command", "run_policy",
]  # fmt: skip
