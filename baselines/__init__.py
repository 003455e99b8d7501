"""The papers' policies, and the registry that finds every policy by its name."""

from bfenv.baselines.registry import ALL, families, find_policy, policies, policy, simulate

__all__ = ["ALL", "families", "find_policy", "policies", "policy", "simulate"]
