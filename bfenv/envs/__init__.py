"""Backfill-v0: the machine and its queue as Gymnasium environments.

`BackfillEnv` is the single environment, `BackfillVectorEnv` steps many at once; for
stable-baselines3 there is `bfenv.envs.sb3.BackfillVecEnv`, which needs that library. `EnvHandle`
looks inside one environment, `handles_of` finds the handles of any environment or vector of them.
`sampled_copy` is for planners.
"""

from bfenv.envs.backfill import BackfillEnv
from bfenv.envs.features import CLUSTER, PROFILE, QUEUE, USERS, Feature
from bfenv.envs.handle import EnvHandle, handles_of
from bfenv.envs.reward import EndedJobs, Reward, Totals
from bfenv.envs.sampled_copy import sampled_copy
from bfenv.envs.settings import EnvSettings, UnknownSettingError
from bfenv.envs.vector import BackfillVectorEnv

__all__ = [
    "CLUSTER",
    "PROFILE",
    "QUEUE",
    "USERS",
    "BackfillEnv",
    "BackfillVectorEnv",
    "EndedJobs",
    "EnvHandle",
    "EnvSettings",
    "Feature",
    "Reward",
    "Totals",
    "UnknownSettingError",
    "handles_of",
    "sampled_copy",
]
