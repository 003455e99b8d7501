"""Agents that learn, and the one that does not: the floor that every other must rise above."""

from types import MappingProxyType

from agents.random import RandomAgent

ALL = MappingProxyType({"random": RandomAgent})
