"""Why jobs of a live queue wait: for processors, or for something that no forecast knows.

Source: the manual page squeue(1) of Slurm 22.05 to 25.11, "Job reason codes". Slurm adds reasons
with each version, so those that mean "waits for processors" are listed here, and all others do not.
"""

import re

# A job with one of these starts as soon as processors are free. The last line lasts a moment.
WAITS_FOR_PROCESSORS = frozenset(
    """
    none priority resources
    prolog cleaning scheddefer waitforscheduling
    """.split()
)
# What `squeue` prints in place of Resources if some nodes are down: a description
DESCRIBED = re.compile(r"nodes[ _]required[ _]for[ _]job[ _]are[ _]", re.IGNORECASE)
MAINTENANCE = re.compile(r"reqnodenotavail.*reserved[ _]for[ _]maintenance", re.IGNORECASE)
# Slurm names the nodes that it misses: "ReqNodeNotAvail, UnavailableNodes:n[1-4]"
UNAVAILABLE = re.compile(r"unavailable(?:[ _]?nodes)?:\s*([^\s()]+)", re.IGNORECASE)
ARRAY_LIMIT = "JobArrayTaskLimit"
HELD = "JobHeld"  # the priority is 0, whatever the reason says
SUSPENDED = "SUSPENDED"  # has a place on its nodes, but others may use its processors
LOST_NODES = "nodes that are lost"
UNKNOWN_NODES = "nodes that sinfo does not list"


def reason_name(text: str) -> str:
    """Return the name of a reason, without what Slurm adds: "ReqNodeNotAvail" for
    "(ReqNodeNotAvail, UnavailableNodes:n[1-4])". A description stays whole, with spaces in it.
    """
    name = re.split(r"[,:(]", text.strip().strip("()").lstrip(), maxsplit=1)[0].strip()
    return name.replace("_", " ") if name[:1].islower() else name


def is_for_processors(text: str) -> bool:
    """Tell whether a reason says that a job waits for processors and for nothing else."""
    name = reason_name(text).lower()
    return name in WAITS_FOR_PROCESSORS or not name or DESCRIBED.match(text) is not None


def is_maintenance(text: str) -> bool:
    """Tell whether a job waits because it would run into a maintenance window."""
    return MAINTENANCE.search(text) is not None


def unavailable_nodes(text: str) -> str:
    """Return the list of nodes that a reason misses, as Slurm writes it; "" if it names none.

    Slurm does not take such a reason back when the nodes answer again.
    """
    match = UNAVAILABLE.search(text)
    return match[1].rstrip(",") if match else ""
