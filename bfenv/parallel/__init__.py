"""Many simulations at once: sweeps, evaluations, worker processes."""

from bfenv.parallel.evaluation import evaluate
from bfenv.parallel.sweep import simulate_many

__all__ = ["evaluate", "simulate_many"]
