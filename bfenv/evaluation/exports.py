"""The public names of `bfenv.evaluation`, which its `__init__` imports when one is first used."""

from bfenv.evaluation.episodes import best_policies, evaluate_agent, starves
from bfenv.evaluation.evaluator import Case, evaluate, plan_runs, variant_cases, workload_cases
from bfenv.evaluation.row import SCHEMA, Row

__all__ = [
    "SCHEMA",
    "Case",
    "Row",
    "best_policies",
    "evaluate",
    "evaluate_agent",
    "plan_runs",
    "starves",
    "variant_cases",
    "workload_cases",
]
