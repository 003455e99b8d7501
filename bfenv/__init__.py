"""bfenv simulates, trains and compares backfilling schedulers of HPC clusters.

The names below are imported from their packages when you first use them, so that each part of bfenv
loads only what it needs. `import bfenv` registers the environments of IDS, such as "Backfill-v0".
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfenv.core.checkout import find_rooms_beside
from bfenv.core.interrupt import end_at_interrupt

with end_at_interrupt():
    import gymnasium

if TYPE_CHECKING:
    from bfenv.agents import PolicyAgent
    from bfenv.analysis import metrics
    from bfenv.baselines import find_policy, policies, policy, simulate
    from bfenv.core.errors import BfenvError, PolicyError, UnknownNameError, WorkloadError
    from bfenv.core.jobs import Jobs, Trace, make_trace
    from bfenv.core.policy import Policy
    from bfenv.core.schedule import Schedule
    from bfenv.envs import BackfillEnv, BackfillVectorEnv
    from bfenv.parallel import simulate_many
    from bfenv.testing import check_policy
    from bfenv.workloads import load_workload, read_swf, write_swf

find_rooms_beside(Path(__file__).resolve().parent)

_ROOMS = {
    "bfenv.agents": ("PolicyAgent",),
    "bfenv.analysis": ("metrics",),
    "bfenv.baselines": ("find_policy", "policies", "policy", "simulate"),
    "bfenv.core.errors": ("BfenvError", "PolicyError", "UnknownNameError", "WorkloadError"),
    "bfenv.core.jobs": ("Jobs", "Trace", "make_trace"),
    "bfenv.core.policy": ("Policy",),
    "bfenv.core.schedule": ("Schedule",),
    "bfenv.envs": ("BackfillEnv", "BackfillVectorEnv"),
    "bfenv.parallel": ("simulate_many",),
    "bfenv.testing": ("check_policy",),
    "bfenv.workloads": ("load_workload", "read_swf", "write_swf"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "BackfillEnv",
    "BackfillVectorEnv",
    "BfenvError",
    "Jobs",
    "Policy",
    "PolicyAgent",
    "PolicyError",
    "Schedule",
    "Trace",
    "UnknownNameError",
    "WorkloadError",
    "check_policy",
    "find_policy",
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


if TYPE_CHECKING:
    __version__: str
else:  # type checkers know the names above, and that there are no others

    def __getattr__(name: str) -> Any:
        """Import a public name from its room, or a room, when it is first used."""
        if name in _ROOM_OF:
            value = getattr(import_module(_ROOM_OF[name]), name)
        elif name == "__version__":
            value = import_module("importlib.metadata").version("bfenv")
        elif any(room.split(".")[1] == name for room in _ROOMS):
            return import_module(f"bfenv.{name}")
        else:
            raise AttributeError(f"module 'bfenv' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# What each environment changes of the defaults. A log must have been fetched, and its splits are
# parts of its time; see docs/environment.md for what a score in each means.
IDS: dict[str, dict[str, Any]] = {
    "Backfill-v0": {},
    "Backfill-small-v0": {"window": 16, "episode_jobs": 128, "warmup_jobs": 64},
    "Backfill-KTH-v0": {"workload": "KTH-SP2-1996-2.1-cln"},
    "Backfill-CTC-v0": {"workload": "CTC-SP2-1996-3.1-cln"},
    "Backfill-SDSC-SP2-v0": {"workload": "SDSC-SP2-1998-4.2-cln"},
    "Backfill-SDSC-BLUE-v0": {"workload": "SDSC-BLUE-2000-4.2-cln"},
    "Backfill-HPC2N-v0": {"workload": "HPC2N-2002-2.2-cln"},
}
for _id, _settings in IDS.items():
    gymnasium.register(
        id=_id,
        entry_point="bfenv.envs.backfill:BackfillEnv",
        vector_entry_point="bfenv.envs.vector:BackfillVectorEnv",
        kwargs=_settings,
    )
