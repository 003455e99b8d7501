"""Policies that plan: they run other policies forward on sampled futures, and follow the best."""

from bfenv.agents.planning.cost import RolloutCost, simulate_with_cost
from bfenv.agents.planning.rollout import rollout

__all__ = ["RolloutCost", "rollout", "simulate_with_cost"]
