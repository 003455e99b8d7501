"""What acts in the environment: any policy as an agent, random actions, policies found by search.

`ALL` holds the agents with a name, by that name.
"""

from types import MappingProxyType

from bfenv.agents.evaluation import EvaluationRow, evaluate_agent
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.agents.random import RandomAgent

ALL = MappingProxyType({"random": RandomAgent})

__all__ = ["ALL", "EvaluationRow", "PolicyAgent", "RandomAgent", "evaluate_agent"]
