"""Numbers and pictures of a schedule."""

from bfenv.analysis.schedule_metrics import metrics

__all__ = ["metrics"]
