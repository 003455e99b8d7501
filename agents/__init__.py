"""Agents, which act in the environment: policies, random actions, trained models.

Start with `evaluate_agent` (score an agent), `save_model` and `load_agent` (keep a trained model),
and `PolicyAgent` (any policy as an agent). `ALL` maps names to the built-in agents.
"""

from bfenv.agents.agent_names import ALL, OpenAgent, open_agent
from bfenv.agents.card import Card, read_card, write_card
from bfenv.agents.evaluation import EvaluationRow, evaluate_agent
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.agents.random import RandomAgent
from bfenv.agents.saved_model import ModelAgent, load_agent, save_model
from bfenv.agents.seen_jobs import Span, span_of

__all__ = [
    "ALL",
    "Card",
    "EvaluationRow",
    "ModelAgent",
    "OpenAgent",
    "PolicyAgent",
    "RandomAgent",
    "Span",
    "evaluate_agent",
    "load_agent",
    "open_agent",
    "read_card",
    "save_model",
    "span_of",
    "write_card",
]
