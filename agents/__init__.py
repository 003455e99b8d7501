"""Agents that learn, and the one that does not: the floor that every other must rise above."""

from types import MappingProxyType

from agents import scorer
from agents.random import RandomAgent

ALL = MappingProxyType({"random": RandomAgent})
FAMILIES = MappingProxyType({"scorer": scorer.scorer, "load-scorer": scorer.load_scorer})
