"""bfenv: backfilling schedulers of HPC clusters as engine, environment and fair comparison."""

from importlib.metadata import version

import gymnasium

from bfenv.bench.metrics import metrics
from bfenv.bench.sweep import simulate_many
from bfenv.core.errors import BfenvError, PolicyError, UnknownName, WorkloadError
from bfenv.core.jobs import Jobs, Trace, make_trace
from bfenv.core.policy import Policy, policies, policy
from bfenv.core.schedule import Schedule
from bfenv.core.simulator import simulate
from bfenv.workloads.load import load_workload
from bfenv.workloads.swf import read_swf, write_swf

__version__ = version("bfenv")
__all__ = [
    "BfenvError",
    "Jobs",
    "Policy",
    "PolicyError",
    "Schedule",
    "Trace",
    "UnknownName",
    "WorkloadError",
    "load_workload",
    "make_trace",
    "metrics",
    "policies",
    "policy",
    "read_swf",
    "simulate",
    "simulate_many",
    "write_swf",
]

gymnasium.register(
    id="Backfill-v0",
    entry_point="bfenv.envs.backfill:BackfillEnv",
    vector_entry_point="bfenv.envs.vector:BackfillVectorEnv",
)
