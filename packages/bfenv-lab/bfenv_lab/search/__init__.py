"""Policies found by search: the search itself, and scorers for optimisers of your own."""

from bfenv_lab.search.evolution import FEATURES, linear_order, network_order
from bfenv_lab.search.search_run import run_search
from bfenv_lab.search.search_settings import SearchSettings

__all__ = ["FEATURES", "SearchSettings", "linear_order", "network_order", "run_search"]
