"""What acts in the environment: any policy as an agent, random actions, models, found policies.

`ALL` holds the agents with a name, by that name.
"""

from bfenv.agents.agent_names import ALL, OpenAgent, open_agent
from bfenv.agents.evaluation import EvaluationRow, evaluate_agent
from bfenv.agents.model_card import ModelCard, read_card
from bfenv.agents.policy_agent import PolicyAgent
from bfenv.agents.random import RandomAgent
from bfenv.agents.saved_model import ModelAgent, load_agent, save_model
from bfenv.agents.seen_jobs import Span, span_of

__all__ = [
    "ALL",
    "EvaluationRow",
    "ModelAgent",
    "ModelCard",
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
]
