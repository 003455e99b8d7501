"""What acts in the environment: policies as agents, random ones, and those found by search."""

from types import MappingProxyType

from bfenv.agents.policy_agent import PolicyAgent
from bfenv.agents.random import RandomAgent

ALL = MappingProxyType({"random": RandomAgent})

__all__ = ["ALL", "PolicyAgent", "RandomAgent"]
