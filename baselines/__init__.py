"""The classical policies by name, and `agent`, which makes an agent of any of them."""

from types import MappingProxyType

from baselines.agent import agent as agent
from baselines.easy import EASY
from baselines.fcfs import FCFS
from baselines.los import (
    LOS,
    LOS_BASIC,
    LOS_MAX_SLOWDOWN,
    LOS_MAXJOBS,
    LOS_SELECTED_FIRST,
    los,
)
from baselines.selective import SELECTIVE, selective
from baselines.slack import RELAXED, SLACK, relaxed, slack

ALL = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            FCFS,
            EASY,
            LOS,
            LOS_BASIC,
            LOS_SELECTED_FIRST,
            LOS_MAXJOBS,
            LOS_MAX_SLOWDOWN,
            SELECTIVE,
            SLACK,
            RELAXED,
        )
    }
)
FAMILIES = MappingProxyType(
    {family.__name__.replace("_", "-"): family for family in (los, selective, slack, relaxed)}
)
