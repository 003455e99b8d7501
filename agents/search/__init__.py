"""Policies found by search: the search itself, scorers, their evaluation, and their files."""

from bfenv.agents.search.scored_easy import METRICS
from bfenv.agents.search.scorer_file import load_scorer, save_scorer
from bfenv.agents.search.scorers import dimension, evaluate_many, scorer, scores, weights
from bfenv.agents.search.search_run import run_search, run_seeds
from bfenv.agents.search.search_settings import SearchSettings

__all__ = [
    "METRICS",
    "SearchSettings",
    "dimension",
    "evaluate_many",
    "load_scorer",
    "run_search",
    "run_seeds",
    "save_scorer",
    "scorer",
    "scores",
    "weights",
]
