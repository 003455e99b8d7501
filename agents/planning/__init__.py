"""Policies that plan: they run other policies forward on sampled futures, and follow the best."""

from bfenv.agents.planning.rollout import RolloutCost, rollout, simulate_with_cost

__all__ = ["RolloutCost", "rollout", "simulate_with_cost"]
