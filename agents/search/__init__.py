"""Policies found by search over parameters: scorers, their evaluation, and their files."""

from bfenv.agents.search.scored_easy import METRICS
from bfenv.agents.search.scorer_file import load_scorer, save_scorer
from bfenv.agents.search.scorers import dimension, evaluate_many, scorer, scores, weights

__all__ = [
    "METRICS",
    "dimension",
    "evaluate_many",
    "load_scorer",
    "save_scorer",
    "scorer",
    "scores",
    "weights",
]
