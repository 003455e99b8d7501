"""The simulated machine: jobs, cluster, policies, and the event loop.

The names below are what you need to write and run a scheduler. To compile one, take the decorator
`kernel` from `bfenv.core.kernel`. This package imports no other package of bfenv.
"""

from bfenv.core.cluster import (
    Cluster,
    expected_ends,
    finished,
    free,
    may_start,
    now,
    one_event_at_a_time,
    running,
    start,
    started,
    try_start,
    waiting,
    wake_at,
)
from bfenv.core.errors import (
    BfenvError,
    IllegalStartError,
    PolicyError,
    StarvationError,
    UnknownNameError,
    WorkloadError,
)
from bfenv.core.events import Truth, advance
from bfenv.core.jobs import FOREVER, Cleaning, Jobs, Outage, Trace, make_trace
from bfenv.core.policy import Policy, make_policy
from bfenv.core.profile import (
    Profile,
    anchor_point,
    fits,
    new_profile,
    place,
    rebuild,
    release,
    reserve,
    shadow,
)
from bfenv.core.schedule import Schedule, bounded_slowdown
from bfenv.core.simulator import simulate

__all__ = [
    "FOREVER",
    "BfenvError",
    "Cleaning",
    "Cluster",
    "IllegalStartError",
    "Jobs",
    "Outage",
    "Policy",
    "PolicyError",
    "Profile",
    "Schedule",
    "StarvationError",
    "Trace",
    "Truth",
    "UnknownNameError",
    "WorkloadError",
    "advance",
    "anchor_point",
    "bounded_slowdown",
    "expected_ends",
    "finished",
    "fits",
    "free",
    "make_policy",
    "make_trace",
    "may_start",
    "new_profile",
    "now",
    "one_event_at_a_time",
    "place",
    "rebuild",
    "release",
    "reserve",
    "running",
    "shadow",
    "simulate",
    "start",
    "started",
    "try_start",
    "waiting",
    "wake_at",
]
