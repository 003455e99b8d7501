"""Backfill-v0: the machine and its queue as Gymnasium environments."""

from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.vector import BackfillVectorEnv

__all__ = ["BackfillEnv", "BackfillVectorEnv"]
