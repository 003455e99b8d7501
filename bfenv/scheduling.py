"""All that you need to write a policy: questions about the machine, starts, plans and compilation.

A policy is a function `decide(cluster, jobs)`, or `decide(cluster, jobs, memory)`:

* Ask about the machine: `now`, `free`, `waiting`, `running`, `expected_ends`, `started`,
  `finished`, `may_start`.
* Act on it: `start`, `try_start` for a trial of limited length, `wake_at` for a pass at a later
  time.
* Plan: `shadow` returns the shadow time and the extra nodes of a job that has to wait. A `Profile`
  holds the free processors over future time: make one with `new_profile`, fill it with `rebuild`,
  look for room with `anchor_point`, `fits` and `place`, and keep room with `reserve` and `release`.
* Compile: `kernel` compiles a function, and `advance` moves the clock in the loop of a compiled
  policy.
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
    shadow,
    start,
    started,
    try_start,
    waiting,
    wake_at,
)
from bfenv.core.events import Truth, advance
from bfenv.core.jobs import FOREVER, Jobs
from bfenv.core.kernel import kernel
from bfenv.core.profile import (
    Profile,
    anchor_point,
    fits,
    new_profile,
    place,
    rebuild,
    release,
    reserve,
)

__all__ = [
    "FOREVER",
    "Cluster",
    "Jobs",
    "Profile",
    "Truth",
    "advance",
    "anchor_point",
    "expected_ends",
    "finished",
    "fits",
    "free",
    "kernel",
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
    "start",
    "started",
    "try_start",
    "waiting",
    "wake_at",
]
