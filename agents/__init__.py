"""Agents, which act in the environment: policies, random actions, trained models.

Start with `save_model` and `load_agent` (keep a trained model), and `PolicyAgent` (any policy as an
agent). `ALL` maps names to the built-in agents. `bfenv.evaluation.evaluate_agent` scores one.
"""

from bfenv.agents.agent_names import ALL, OpenAgent, open_agent
from bfenv.agents.card import Card, read_card, write_card
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.agents.random import RandomAgent
from bfenv.agents.saved_model import ModelAgent, load_agent, save_model
from bfenv.agents.seen_jobs import Span, span_of

__all__ = [
    "ALL",
    "Card",
    "ModelAgent",
    "OpenAgent",
    "PolicyAgent",
    "RandomAgent",
    "Span",
    "load_agent",
    "open_agent",
    "read_card",
    "save_model",
    "span_of",
    "write_card",
]
