"""The classical policies by name, and `agent`, which makes an agent of any of them."""

from types import MappingProxyType

from baselines.agent import agent as agent
from baselines.easy import EASY
from baselines.fcfs import FCFS

ALL = MappingProxyType({policy.name: policy for policy in (FCFS, EASY)})
FAMILIES = MappingProxyType({})
