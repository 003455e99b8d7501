"""The classical policies by name, and `agent`, which makes an agent of any of them."""

from types import MappingProxyType

from baselines import conservative_replan, los, ordered
from baselines.agent import agent as agent
from baselines.conservative import (
    CONSERVATIVE,
    CONSERVATIVE_RANDOM,
    CONSERVATIVE_RANDOM_SJF,
    CONSERVATIVE_SJF,
    conservative,
)
from baselines.easy import EASY
from baselines.fcfs import FCFS
from baselines.multiqueue import MULTIQUEUE, multiqueue
from baselines.random_search import CONS_RS, cons_rs
from baselines.selective import SELECTIVE, selective
from baselines.slack import RELAXED, SLACK, relaxed, slack
from baselines.speculative import EASY_SPECULATIVE, easy_speculative

ALL = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            FCFS,
            EASY,
            *ordered.POLICIES,
            CONSERVATIVE,
            CONSERVATIVE_SJF,
            CONSERVATIVE_RANDOM,
            CONSERVATIVE_RANDOM_SJF,
            conservative_replan.CONSERVATIVE_REPLAN,
            conservative_replan.CONSERVATIVE_REPLAN_SJF,
            conservative_replan.CONSERVATIVE_REPLAN_RANDOM,
            conservative_replan.CONSERVATIVE_REPLAN_RANDOM_SJF,
            conservative_replan.CONSERVATIVE_REPLAN_AGED_SJF,
            conservative_replan.CONSERVATIVE_REPLAN_AGED_RANDOM,
            CONS_RS,
            MULTIQUEUE,
            EASY_SPECULATIVE,
            los.LOS,
            los.LOS_BASIC,
            los.LOS_SELECTED_FIRST,
            los.LOS_MAXJOBS,
            los.LOS_MAX_SLOWDOWN,
            SELECTIVE,
            SLACK,
            RELAXED,
        )
    }
)
FAMILIES = MappingProxyType(
    {
        family.__name__.replace("_", "-"): family
        for family in (
            ordered.queue,
            ordered.easy,
            conservative,
            cons_rs,
            multiqueue,
            easy_speculative,
            los.los,
            selective,
            slack,
            relaxed,
        )
    }
)
