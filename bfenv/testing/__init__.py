"""What is wrong with a scheduler of your own: `check_policy`."""

from bfenv.testing.report import KINDS, Report, check_policy, report_on

__all__ = ["KINDS", "Report", "check_policy", "report_on"]
