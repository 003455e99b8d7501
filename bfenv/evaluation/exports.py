"""The public names of `bfenv.evaluation`, which its `__init__` imports when one is first used."""

from bfenv.evaluation.evaluator import Case, evaluate, plan_runs, variant_cases, workload_cases
from bfenv.evaluation.row import SCHEMA, Row

__all__ = ["SCHEMA", "Case", "Row", "evaluate", "plan_runs", "variant_cases", "workload_cases"]
